import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, readFile, rename } from "node:fs/promises";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { cacheFolder } from "../../provider/engine";

const run = promisify(execFile);

/** The folder with the go.mod that pins the tools and all they are built from. */
const MODULE = resolve("test/support/go-tools");

/**
 * A command that tests need and that comes as a Go module: from the user's cache folder; built, in some ten seconds, where
 * it isn't there yet.
 *
 * @param module whose version the go.mod pins.
 */
export async function goTool(module: string, name: string): Promise<string> {
  const pins = await readFile(join(MODULE, "go.mod"), "utf8");
  const version = new RegExp(`${module} v(\\S+)`).exec(pins)?.[1];
  const folder = join(cacheFolder(), "test", `${name}-${version}-${process.platform}-${process.arch}`);
  const command = join(folder, process.platform === "win32" ? `${name}.exe` : name);
  if (existsSync(command)) return command;
  await mkdir(folder, { recursive: true });
  const unfinished = `${command}.${process.pid}`;
  const flags = ["-mod=readonly", "-trimpath", "-buildvcs=false", "-ldflags=-s -w"];
  await run("go", ["build", ...flags, "-o", unfinished, `${module}/cmd/${name}`], {
    cwd: MODULE,
    env: { ...process.env, CGO_ENABLED: "0", GOFLAGS: "", GOWORK: "off" },
  });
  await rename(unfinished, command);
  return command;
}

import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { cp, mkdir, readFile, rename } from "node:fs/promises";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { cacheFolder } from "../../provider/engine";
import { EmptyFolder } from "./packed-package";

const run = promisify(execFile);

/** The folder with the go.mod that pins actionlint and all it is built from. */
const MODULE = resolve("test/support/actionlint");
const PACKAGE = "github.com/rhysd/actionlint";

/**
 * What actionlint says of the workflows of a repository, a line each; empty when nothing. The folder need not be a
 * repository: a copy of it is made one, since only there the repository's own actions are looked at.
 */
export async function actionlint(folder: string): Promise<string[]> {
  const command = await built();
  await using copy = await EmptyFolder.create();
  await cp(folder, copy.path, {
    recursive: true,
    filter: (path) => !path.includes("node_modules"),
  });
  await run("git", ["init", "--quiet"], { cwd: copy.path });
  // What else is on this machine, such as shellcheck, decides nothing.
  const args = ["-no-color", "-oneline", "-shellcheck=", "-pyflakes="];
  const { stdout } = await run(command, args, { cwd: copy.path }).catch(
    (error: { code?: unknown; stdout: string }) => {
      if (error.code === 1) return error;
      throw error;
    },
  );
  return stdout.split("\n").filter((line) => line !== "");
}

/** From the user's cache folder; built from its Go modules, in some ten seconds, where it isn't there yet. */
async function built(): Promise<string> {
  const pins = await readFile(join(MODULE, "go.mod"), "utf8");
  const version = new RegExp(`${PACKAGE} v(\\S+)`).exec(pins)?.[1];
  const folder = join(cacheFolder(), "test", `actionlint-${version}-${process.platform}-${process.arch}`);
  const command = join(folder, process.platform === "win32" ? "actionlint.exe" : "actionlint");
  if (existsSync(command)) return command;
  await mkdir(folder, { recursive: true });
  const unfinished = `${command}.${process.pid}`;
  const flags = ["-mod=readonly", "-trimpath", "-buildvcs=false", "-ldflags=-s -w"];
  await run("go", ["build", ...flags, "-o", unfinished, `${PACKAGE}/cmd/actionlint`], {
    cwd: MODULE,
    env: { ...process.env, CGO_ENABLED: "0", GOFLAGS: "", GOWORK: "off" },
  });
  await rename(unfinished, command);
  return command;
}

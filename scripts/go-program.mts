import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, readdir, readFile, rename } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { getCacheDirectory } from "pulumi-email-security/engine";

const run = promisify(execFile);

/** A program to build from Go modules. */
export interface GoProgram {
  /** The name of the command, without `.exe`. */
  readonly name: string;
  /** The directory whose go.mod and go.sum pin its dependencies. */
  readonly directory: string;
  /** The package that contains `main`. Default: the package of the directory. */
  readonly package?: string;
  /** Variables that the linker sets, by their qualified names. */
  readonly variables?: Readonly<Record<string, string>>;
}

/**
 * Returns a Go program from the user's cache directory. Builds it if it is missing or its sources have changed.
 *
 * @returns the absolute path of the command, which is alone in its directory.
 */
export async function buildGoProgram(program: GoProgram): Promise<string> {
  const { name, directory, variables = {} } = program;
  const cacheKey = `${name}-${await hashSources(program)}-${process.platform}-${process.arch}`;
  const target = join(getCacheDirectory(), "test", cacheKey);
  const command = join(target, process.platform === "win32" ? `${name}.exe` : name);
  if (existsSync(command)) return command;
  await mkdir(target, { recursive: true });
  const temporaryFile = join(getCacheDirectory(), "test", `${cacheKey}.${process.pid}`);
  const linkerFlags = Object.entries(variables).map(([variable, value]) => ` -X ${variable}=${value}`);
  const flags = ["-mod=readonly", "-trimpath", "-buildvcs=false", `-ldflags=-s -w${linkerFlags.join("")}`];
  await run("go", ["build", ...flags, "-o", temporaryFile, program.package ?? "."], {
    cwd: directory,
    env: { ...process.env, CGO_ENABLED: "0", GOFLAGS: "", GOWORK: "off" },
    maxBuffer: 64 * 2 ** 20,
  });
  await rename(temporaryFile, command);
  return command;
}

/** Hashes all inputs of the build except the Go toolchain. */
async function hashSources(program: GoProgram): Promise<string> {
  const { directory, variables } = program;
  const digest = createHash("sha256").update(JSON.stringify([program.package, variables]));
  const sources = (await readdir(directory)).filter((file) => /^go\.(mod|sum)$|\.go$/.test(file));
  for (const file of sources.sort()) digest.update(`\0${file}\0`).update(await readFile(join(directory, file)));
  return digest.digest("hex").slice(0, 12);
}

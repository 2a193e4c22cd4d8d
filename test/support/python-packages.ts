import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { getCacheDirectory } from "../../provider/engine";
import { createOnce } from "./create-directory-once";

const run = promisify(execFile);

/**
 * Returns a Python environment with packages from the user's cache directory; creates it if it doesn't exist.
 *
 * @param name prefix of the environment's directory in the cache
 * @param requirements the file that pins every package of the environment
 * @returns the directory with its commands, to add to PATH.
 */
export async function pythonPackages(name: string, requirements: string): Promise<string> {
  const { stdout: version } = await run("python3", ["-c", "import sys; print(sys.version, sys.prefix)"]);
  const digest = createHash("sha256")
    .update(version)
    .update(await readFile(requirements));
  const directory = join(getCacheDirectory(), "test", `${name}-${digest.digest("hex").slice(0, 12)}`);
  const commands = (environment: string) => join(environment, process.platform === "win32" ? "Scripts" : "bin");
  await createOnce(directory, async (unfinished) => {
    await run("python3", ["-m", "venv", unfinished]);
    const python = join(commands(unfinished), "python");
    await run(python, ["-m", "pip", "install", "--quiet", "--no-deps", "--requirement", requirements]);
  });
  return commands(directory);
}

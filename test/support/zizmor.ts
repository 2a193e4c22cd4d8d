import { execFile, spawnSync } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { installPythonPackages } from "./python-packages";

const run = promisify(execFile);

/** The reason why zizmor can't run on this machine; undefined if it can. */
export const missingZizmor: string | undefined =
  spawnSync("python3", ["-c", "import venv, ensurepip"]).status === 0 ? undefined : "there is no Python with venv";

/**
 * Returns zizmor's findings on the security of a directory's workflows, including the lowest severity; empty if there
 * are none. Makes no network requests.
 */
export async function runZizmor(directory: string): Promise<readonly unknown[]> {
  const commands = await installPythonPackages("python-tools", "test/support/python-tools/requirements.txt");
  const args = ["--offline", "--quiet", "--no-exit-codes", "--persona", "auditor", "--format", "json", directory];
  const { stdout } = await run(join(commands, "zizmor"), args);
  return JSON.parse(stdout) as readonly unknown[];
}

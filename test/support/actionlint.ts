import { execFile } from "node:child_process";
import { cp } from "node:fs/promises";
import { promisify } from "node:util";
import { goTool } from "./go-tool";
import { EmptyDirectory } from "./packed-package";

const run = promisify(execFile);

/**
 * What actionlint says of the workflows of a repository, a line each; empty when nothing. The folder need not be a
 * repository: a copy of it is made one, since only there the repository's own actions are looked at.
 */
export async function actionlint(directory: string): Promise<string[]> {
  const command = await goTool("github.com/rhysd/actionlint", "actionlint");
  await using copy = await EmptyDirectory.create();
  await cp(directory, copy.path, {
    recursive: true,
    filter: (path) => !path.includes("node_modules"),
  });
  await run("git", ["init", "--quiet"], { cwd: copy.path });
  // What else is on this machine, such as shellcheck, decides nothing.
  const args = ["-no-color", "-oneline", "-shellcheck=", "-pyflakes="];
  const { stdout } = await run(command, args, { cwd: copy.path }).catch((error: { code?: unknown; stdout: string }) => {
    if (error.code === 1) return error;
    throw error;
  });
  return stdout.split("\n").filter((line) => line !== "");
}

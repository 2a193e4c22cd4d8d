import { execFile } from "node:child_process";
import { cp } from "node:fs/promises";
import { promisify } from "node:util";
import { buildGoTool } from "./go-tool";
import { createTestDirectory } from "./test-directory";

const run = promisify(execFile);

/**
 * Returns actionlint's findings for a repository's workflows, one per line; empty if no names are known. The directory
 * doesn't have to be a repository: actionlint runs on a copy that is made one, since it checks the repository's own
 * actions only in a repository.
 */
export async function runActionlint(directory: string): Promise<string[]> {
  const command = await buildGoTool("github.com/rhysd/actionlint", "actionlint");
  using copy = createTestDirectory();
  await cp(directory, copy.path, {
    recursive: true,
    filter: (path) => !path.includes("node_modules"),
  });
  await run("git", ["init", "--quiet"], { cwd: copy.path });
  // The results must not depend on other programs of this machine, such as shellcheck.
  const args = ["-no-color", "-oneline", "-shellcheck=", "-pyflakes="];
  const { stdout } = await run(command, args, { cwd: copy.path }).catch((error: { code?: unknown; stdout: string }) => {
    if (error.code === 1) return error;
    throw error;
  });
  return stdout.split("\n").filter((line) => line !== "");
}

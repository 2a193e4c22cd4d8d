import { execFile } from "node:child_process";
import { mkdirSync } from "node:fs";
import { join, relative, sep } from "node:path";
import { promisify } from "node:util";
import { ConfigurationError } from "../../client";
import { quote, sanitizeLine } from "../../model/text";
import { findRepository } from "../../settings-files/repository";
import { minimalEnv } from "../../system/child-environment";
import { createScratchDirectory } from "../../system/scratch-directory";
import type { PackedFiles } from "../journal/rollout-record";
import { useTemporaryDirectory } from "../model/temporary-directory";
import { packFiles } from "./file-bundle";

// Like `rollback/git-revert-advice.ts`, this only reads, so git gets a smaller environment than it needs for commits.
const execFileAsync = promisify(execFile);

/**
 * Reads the YAML files of the working directory's repository at a git revision.
 *
 * @throws {ConfigurationError} if this isn't a repository, or it has no such revision.
 */
export async function readRevisionFiles(revision: string): Promise<PackedFiles> {
  const workDirectory = process.cwd();
  const repository = findRepository(workDirectory);
  if (repository === undefined) {
    throw new ConfigurationError(
      `${quote(workDirectory, 300)} isn't in a git repository, so it has no revision ${quote(revision)}.`,
    );
  }
  using scratch = useTemporaryDirectory(() => createScratchDirectory("revision"));
  try {
    const gitEnvironment = {
      ...minimalEnv(process.env, "git"),
      GIT_INDEX_FILE: join(scratch.path, "index"),
    };
    const tree = join(scratch.path, "tree");
    mkdirSync(join(tree, ".git"), { recursive: true });
    const runGit = async (...args: string[]): Promise<string> =>
      (
        await execFileAsync("git", ["-C", repository, ...args], {
          env: gitEnvironment,
          maxBuffer: 64 * 1024 * 1024,
        })
      ).stdout;
    const commit = (await runGit("rev-parse", "--verify", "--end-of-options", `${revision}^{commit}`)).trim();
    await runGit("read-tree", commit);
    await runGit("checkout-index", "--all", `--prefix=${tree}${sep}`);
    const paths = (await runGit("ls-files", "-z")).split("\0").filter((path) => /\.ya?ml$/.test(path));
    return packFiles(
      paths.map((path) => join(tree, path)),
      new Map(),
      join(tree, relative(repository, workDirectory)),
    );
  } catch (cause) {
    const { stderr, message } = cause as { stderr?: string; message: string };
    throw new ConfigurationError(
      `The revision ${quote(revision)} can't be read: ${sanitizeLine((stderr || message).trim().split("\n")[0] ?? "")}`,
      { cause },
    );
  }
}

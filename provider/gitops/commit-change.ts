import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { getErrorMessage } from "../model/email-security-error";
import { excerpt, quote } from "../model/text";
import { writeFiles } from "../settings-files/atomic-write";
import { type ChangedFile, getResultingTexts } from "../settings-files/edit-files";
import { findFileRepository, getRepositoryPath } from "../settings-files/repository";
import { createGitPrograms, GitError, type Programs } from "./git";

/** The texts of a change for git's history and for reviewers. */
export interface ChangeMessage {
  /** One line: `Deny evil.example until 2026-12-23 (INC-1042)`. */
  readonly title: string;
  /** Further details: zero or more lines. */
  readonly body: string;
  /** The branch name after `email-security/`; invalid characters are removed. */
  readonly branch: string;
}

export interface Commit {
  readonly repository: string;
  /** The new branch, which is now checked out. */
  readonly branch: string;
  /** The previous branch; undefined for a detached HEAD. */
  readonly previousBranch: string | undefined;
  readonly hash: string;
  /** Other files that a hook added to the commit. */
  readonly hookFiles: readonly string[];
  /** Files of the change that a hook modified without staging, so that they differ from the commit. */
  readonly unstagedFiles: readonly string[];
}

/**
 * Writes the files and commits only them on a new branch, which stays checked out. Other changed or staged files are not included. Hooks
 * run and commits are signed as usual. On failure or interruption, branch and files are restored.
 *
 * @throws {GitError} (`ERR_GIT`) if the files are in no repository or have uncommitted changes, if a merge or rebase is in progress, or if
 * git fails.
 */
export async function commitChange(files: readonly ChangedFile[], message: ChangeMessage): Promise<Commit> {
  const repository = findCommonRepository(files);
  const programs = createGitPrograms(repository);
  const paths = files.map(({ file }) => getRepositoryPath(repository, file));
  await assertNoUnfinishedOperation(programs, repository);
  await assertClean(programs, paths);
  const originalHead = await getHead(programs);
  const branch = await findFreeBranch(programs, message.branch);
  const changesBefore = await listChanges(programs);
  const stagedBefore = await listChangedNames(programs, ["diff-index", "--cached", originalHead.hash]);
  return await deferSignals(async (isInterrupted) => {
    const runGit = async (args: readonly string[], failureText: string, input?: string): Promise<string> => {
      const { code, stdout, reason } = await programs.git(args, input);
      if (code !== 0) throw new GitStepError(failureText, reason);
      if (isInterrupted()) throw new GitStepError("It was interrupted", "");
      return stdout;
    };
    let isWritten = false;
    try {
      await runGit(["switch", "--quiet", "--no-track", "--create", branch], `The branch ${branch} can't be created`);
      writeFiles(getResultingTexts(files));
      isWritten = true;
      const createdPaths = paths.filter((_path, index) => files[index]?.action === "create");
      if (createdPaths.length > 0) {
        await runGit(
          ["add", "--intent-to-add", "--", ...toLiteralPathspecs(createdPaths)],
          "git can't add the new files",
        );
      }
      const messageText = message.body === "" ? message.title : `${message.title}\n\n${message.body}`;
      const args = [
        "commit",
        "--quiet",
        "--only",
        "--cleanup=whitespace",
        "--file=-",
        "--",
        ...toLiteralPathspecs(paths),
      ];
      await runGit(args, "git could not commit", `${messageText}\n`);
      const hash = (await runGit(["rev-parse", "--short", "HEAD"], "git doesn't report the commit")).trim();
      // A partial commit gives hooks a temporary index, so the real index lacks the files they staged.
      const committed = await listChangedNames(programs, ["diff-tree", "-r", originalHead.hash, "HEAD"]);
      const outdated = toLiteralPathspecs(committed.filter((path) => !stagedBefore.includes(path)));
      if (outdated.length > 0)
        await runGit(["reset", "--quiet", "HEAD", "--", ...outdated], "git can't update its index");
      const hookFiles = committed.filter((path) => !paths.includes(path));
      const unstagedFiles = await listChangedNames(programs, ["diff", "--", ...toLiteralPathspecs(paths)]);
      return { repository, branch, previousBranch: originalHead.branch, hash, hookFiles, unstagedFiles };
    } catch (error) {
      const originals = isWritten ? files : [];
      const failures = await restoreWorkingTree(programs, { before: originalHead, branch, paths, originals });
      const [failureText, reason] =
        error instanceof GitStepError ? [error.message, error.reason] : [getShortErrorMessage(error), ""];
      const otherChanges = (await listChanges(programs)).filter((change) => !changesBefore.includes(change));
      const hookChanges = otherChanges.map((change) => excerpt(change.slice(3), 200)).join(", ");
      const state =
        failures.length === 0
          ? `files and branch are unchanged${hookChanges === "" ? "" : `, except what a hook changed (${hookChanges})`}`
          : `not everything could be undone (${failures.join("; ")}): \`git status\` shows the rest, on the branch ${branch}`;
      throw new GitError(`${failureText}; ${state}${reason === "" ? "." : `:\n${reason}`}`, { cause: error });
    }
  });
}

/** Lists uncommitted and untracked files, one per line as in `git status`. */
async function listChanges({ git }: Programs): Promise<string[]> {
  const { stdout } = await git(["status", "--porcelain=v1", "-z", "--no-renames"]);
  return stdout.split("\0").filter((line) => line !== "");
}

/** Returns the file names that a git comparison lists. */
async function listChangedNames(
  { git }: Programs,
  [command, ...args]: readonly [string, ...string[]],
): Promise<string[]> {
  const { stdout } = await git([command, "--name-only", "--no-renames", "-z", ...args]);
  return stdout.split("\0").filter((name) => name !== "");
}

/** Prevents git from reading names as patterns: a name may start with a colon or contain an asterisk. */
function toLiteralPathspecs(paths: readonly string[]): string[] {
  return paths.map((path) => `:(top,literal)${path}`);
}

function findCommonRepository(files: readonly ChangedFile[]): string {
  const repositories = new Set(files.map(({ file }) => findFileRepository(file) ?? ""));
  const [repository = "", secondRepository] = repositories;
  if (secondRepository !== undefined)
    throw new GitError("The files are in several git repositories; commit them by hand.");
  if (repository !== "") return repository;
  const [{ file } = { file: "" }] = files;
  throw new GitError(
    `${quote(file, 300)} isn't in a git repository, so nothing can be committed. Omit --commit and --pr to only write the file.`,
  );
}

/** The state files of unfinished git operations, with their names and the commands that end them. */
const UNFINISHED_OPERATIONS = {
  "rebase-merge": ["rebase", "git rebase --continue` or `git rebase --abort"],
  "rebase-apply": ["rebase", "git rebase --continue` or `git rebase --abort"],
  MERGE_HEAD: ["merge", "git merge --continue` or `git merge --abort"],
  CHERRY_PICK_HEAD: ["cherry-pick", "git cherry-pick --continue` or `git cherry-pick --abort"],
  REVERT_HEAD: ["revert", "git revert --continue` or `git revert --abort"],
  BISECT_LOG: ["bisection", "git bisect reset"],
} as const;

async function assertNoUnfinishedOperation({ git }: Programs, repository: string): Promise<void> {
  for (const [name, [operation, endCommands]] of Object.entries(UNFINISHED_OPERATIONS)) {
    const { code, stdout } = await git(["rev-parse", "--git-path", name]);
    if (code !== 0 || !existsSync(resolve(repository, stdout.trim()))) continue;
    throw new GitError(
      `A ${operation} is in progress in this repository. Nothing was written. Finish it first: \`${endCommands}\`.`,
    );
  }
}

async function assertClean({ git }: Programs, paths: readonly string[]): Promise<void> {
  const { code, stdout, reason } = await git([
    "status",
    "--porcelain=v1",
    "-z",
    "--ignored",
    "--",
    ...toLiteralPathspecs(paths),
  ]);
  if (code !== 0)
    throw new GitError(`git can't determine whether there are uncommitted changes. Nothing was written:\n${reason}`);
  const [first] = stdout.split("\0");
  if (first === undefined || first === "") return;
  const [statusCode, name] = [first.slice(0, 2), excerpt(first.slice(3), 200)];
  throw new GitError(
    /[?!]/.test(statusCode)
      ? `${name} is not in git yet. Nothing was written. Add and commit it first.`
      : `${name} has uncommitted changes. Nothing was written. Commit or stash them first.`,
  );
}

interface Head {
  readonly branch: string | undefined;
  readonly hash: string;
}

async function getHead({ git }: Programs): Promise<Head> {
  const hash = await git(["rev-parse", "--verify", "HEAD"]);
  if (hash.code !== 0)
    throw new GitError("This repository has no commit yet. Nothing was written. Create the first commit by hand.");
  return { branch: await getCurrentBranch({ git }), hash: hash.stdout.trim() };
}

/** Returns the checked-out branch; undefined for a detached HEAD. */
export async function getCurrentBranch({ git }: Pick<Programs, "git">): Promise<string | undefined> {
  // `--short` would print `heads/main` if a tag has the same name.
  const { code, stdout } = await git(["symbolic-ref", "--quiet", "HEAD"]);
  return code === 0 ? stdout.trim().replace(/^refs\/heads\//, "") : undefined;
}

/** The prefix of all branches that {@link commitChange} creates. */
export const BRANCH_PREFIX = "email-security/";

const MAX_BRANCH_LENGTH = 60;

/** Returns a name that no branch or tag has, locally or at a known remote. */
export async function findFreeBranch({ git }: Programs, requestedName: string): Promise<string> {
  const name = requestedName
    .toLowerCase()
    .replace(/[^a-z0-9.@-]+/g, "-")
    .replace(/@/g, "-at-")
    .replace(/\.{2,}|-{2,}/g, (item) => item.slice(0, 1))
    .slice(0, MAX_BRANCH_LENGTH)
    .replace(/^[.-]+|[.-]+$/g, "")
    .replace(/\.lock$/, "-lock");
  const { stdout } = await git(["for-each-ref", "--format=%(refname)", "refs/heads", "refs/tags", "refs/remotes"]);
  const takenNames = new Set(
    stdout.split("\n").map((ref) => ref.replace(/^refs\/(?:heads|tags|remotes\/[^/]+)\//, "")),
  );
  for (let count = 1; ; count += 1) {
    const branch = `${BRANCH_PREFIX}${name || "change"}${count === 1 ? "" : `-${count}`}`;
    if (!takenNames.has(branch)) return branch;
  }
}

class GitStepError extends Error {
  readonly reason: string;

  constructor(failureText: string, reason: string) {
    super(failureText);
    this.reason = reason;
  }
}

function getShortErrorMessage(error: unknown): string {
  return getErrorMessage(error).replace(/\.$/, "");
}

/** Restores branch and files as far as possible, and keeps other changes. Returns what could not be restored. */
async function restoreWorkingTree(
  { git }: Programs,
  {
    before,
    branch,
    paths,
    originals,
  }: {
    readonly before: Head;
    readonly branch: string;
    readonly paths: readonly string[];
    readonly originals: readonly ChangedFile[];
  },
): Promise<string[]> {
  const failures: string[] = [];
  try {
    writeFiles(
      new Map(
        originals.map(({ file, before: originalText, action }) => [
          file,
          action === "create" ? undefined : originalText,
        ]),
      ),
    );
  } catch (error) {
    failures.push(getShortErrorMessage(error));
  }
  const branchLookup = await git(["rev-parse", "--quiet", "--verify", `refs/heads/${branch}`]);
  const switchTarget = before.branch === undefined ? ["--detach", before.hash] : [before.branch];
  const commands =
    branchLookup.code === 0
      ? [
          // Removes files that a hook staged from the index.
          ["reset", "--quiet", before.hash, "--", ...toLiteralPathspecs(paths)],
          ["switch", "--quiet", ...switchTarget],
          ["branch", "--quiet", "--delete", "--force", "--", branch],
        ]
      : [];
  for (const command of commands) {
    const { code, reason } = await git(command);
    // A hook that fails after the checkout also fails the command.
    if (command[0] === "switch" && (await getCurrentBranch({ git })) === before.branch) continue;
    if (code !== 0) failures.push(`git ${command[0]}: ${reason.split("\n", 1)[0] ?? ""}`);
  }
  return failures;
}

/** Runs a task to its end in spite of Ctrl-C and other signals. The task can check whether one arrived. */
async function deferSignals<T>(callback: (isInterrupted: () => boolean) => Promise<T>): Promise<T> {
  let isInterrupted = false;
  const markInterrupted = (): void => {
    isInterrupted = true;
  };
  const signals = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
  for (const signal of signals) process.on(signal, markInterrupted);
  try {
    return await callback(() => isInterrupted);
  } finally {
    for (const signal of signals) process.off(signal, markInterrupted);
  }
}

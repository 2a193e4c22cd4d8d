import { BRANCH_PREFIX, getCurrentBranch } from "../../gitops/commit-change";
import { createGitPrograms } from "../../gitops/git";
import { describePush, listPushRemotes } from "../../gitops/pull-request";
import { excerpt, sanitizeLine } from "../../model/text";
import { findFileRepository, getRepositoryPath } from "../../settings-files/repository";

/**
 * Describes settings files that are not yet committed or pushed, when a change has nothing left to edit. An earlier run may have written
 * without a commit, or committed without a push.
 *
 * @param files the files that already contain the change.
 * @param expectsPush whether the user also asked for a push.
 * @returns one sentence for each problem; empty if everything is committed and, with `expectsPush`, pushed.
 */
export async function describeUncommittedChanges(files: readonly string[], expectsPush: boolean): Promise<string[]> {
  const [firstFile = "."] = files;
  const repository = findFileRepository(firstFile);
  if (repository === undefined) return [];
  const programs = createGitPrograms(repository);
  const { git } = programs;
  const paths = files.map((file) => getRepositoryPath(repository, file));
  // This command does not commit files of another repository.
  const pathspecs = paths.filter((path) => !path.startsWith("../")).map((path) => `:(top,literal)${path}`);
  const { stdout } = await git(["status", "--porcelain=v1", "-z", "--ignored", "--no-renames", "--", ...pathspecs]);
  const uncommitted = stdout
    .split("\0")
    .filter((line) => line !== "")
    .map((line) => `${excerpt(line.slice(3), 200)} has uncommitted changes; commit it by hand.`);
  if (!expectsPush) return uncommitted;
  const branch = await getCurrentBranch(programs);
  if (branch === undefined || !branch.startsWith(BRANCH_PREFIX)) return uncommitted;
  const unpushedCount = (await git(["rev-list", "--count", "HEAD", "--not", "--remotes"])).stdout.trim();
  if (unpushedCount === "0") return uncommitted;
  const remotes = await listPushRemotes(programs, branch);
  const reason = remotes.length === 0 ? ", because this repository has no remote" : " in its current state";
  const pushAdvice = await describePush(programs, repository, branch, remotes);
  return [...uncommitted, `The branch ${sanitizeLine(branch)} has not been pushed${reason}. ${pushAdvice}`];
}

import { quoteShellWord } from "../model/shell-word";
import { sanitizeLine } from "../model/text";
import { BRANCH_PREFIX, type ChangeMessage, type Commit, findFreeBranch } from "./commit-change";
import { createGitPrograms, formatGitCommand, GitError, type Programs } from "./git";
import { getNewPullRequestUrl, parseRemoteUrl, type RemoteRepository } from "./remote-repository";

export interface PullRequest {
  readonly remote: string;
  readonly url?: string;
  /** The page where a person can open it, if no program could. */
  readonly manualUrl?: string;
  /** The page of the repository, guessed from its address, if the host is unknown. */
  readonly page?: string;
  /** The error of a program that could not open it. */
  readonly reason?: string;
}

/**
 * Pushes a commit's branch and opens a pull or merge request with `gh` or `glab`, whichever fits the host. If that fails, the result
 * contains the page where a person can open it. Never forces, and pushes only this branch.
 *
 * @throws {GitError} (`ERR_GIT`) if there is no remote or the push fails; the commit stays on its branch.
 */
export async function openPullRequest(
  { repository, branch, previousBranch }: Commit,
  message: ChangeMessage,
): Promise<PullRequest> {
  const programs = createGitPrograms(repository);
  const commitNote = `The commit is on the branch ${branch}.`;
  const remotes = await listPushRemotes(programs, previousBranch);
  const [remote] = remotes;
  if (remote === undefined || remotes.length > 1) {
    const problem = remote === undefined ? "no remote" : "several remotes, none of them named origin";
    const instructions = await describePush(programs, repository, branch, remotes);
    throw new GitError(`${commitNote} It was not pushed: this repository has ${problem}. ${instructions}`);
  }
  const ref = `refs/heads/${branch}`;
  const pushResult = await programs.git(["push", "--quiet", "--set-upstream", "--", remote, `${ref}:${ref}`]);
  if (pushResult.code !== 0) {
    // The remote has another branch of this name that this clone doesn't know.
    if (/^! \[rejected\]/m.test(pushResult.reason))
      await programs.git(["fetch", "--quiet", "--no-tags", "--", remote, `+${ref}:${getTrackingRef(remote, branch)}`]);
    const instructions = await describePush(programs, repository, branch, remotes);
    throw new GitError(
      `${commitNote} It could not be pushed, for the reason below. ${instructions}\n${pushResult.reason}`,
    );
  }
  const { stdout } = await programs.git(["remote", "get-url", "--push", "--", remote]);
  const remoteRepository = parseRemoteUrl(stdout.trim());
  if (remoteRepository === undefined) return { remote };
  return { remote, ...(await createPullRequest(programs, remoteRepository, branch, message)) };
}

/** Opens a pull or merge request for a branch at the remote. If no program can, the result contains the page for a person. */
export async function createPullRequest(
  programs: Programs,
  repository: RemoteRepository,
  branch: string,
  message: Pick<ChangeMessage, "title" | "body">,
): Promise<Omit<PullRequest, "remote">> {
  const result = await runHostTool(programs, repository, branch, message);
  const manualUrl = getNewPullRequestUrl(repository, branch);
  if (result?.code === 0) {
    const openedPage = /https?:\/\/\S+/.exec(result.stdout)?.[0];
    return { url: openedPage ?? manualUrl ?? repository.address };
  }
  return {
    ...(manualUrl === undefined ? { page: repository.address } : { manualUrl }),
    ...(result === undefined ? {} : { reason: result.reason }),
  };
}

/**
 * Returns the remote to push to: that of the branch, else `origin`, else the only one. Returns several if the choice is ambiguous; empty if
 * there is no remote.
 */
export async function listPushRemotes({ git }: Programs, branch: string | undefined): Promise<string[]> {
  const { stdout } = await git(["remote"]);
  const remotes = stdout.split("\n").filter((name) => name !== "");
  const key = branch === undefined ? undefined : `branch.${branch}.remote`;
  const branchRemote = key === undefined ? undefined : (await git(["config", "--get", "--", key])).stdout.trim();
  const preferred = remotes.find((name) => name === branchRemote) ?? remotes.find((name) => name === "origin");
  return preferred === undefined ? remotes : [preferred];
}

function getTrackingRef(remote: string, branch: string): string {
  return `refs/remotes/${remote}/${branch}`;
}

/** Describes how to push a branch without an upstream, with commands that can be copied. */
export async function describePush(
  programs: Programs,
  repository: string,
  branch: string,
  remotes: readonly string[],
): Promise<string> {
  const git = formatGitCommand(repository);
  const quoteName = (name: string): string => quoteShellWord(sanitizeLine(name));
  const formatPushCommand = (remote: string, name = branch): string =>
    `\`${git} push --set-upstream ${quoteName(remote)} ${quoteName(name)}\``;
  const [remote] = remotes;
  if (remote === undefined)
    return `Add one with \`${git} remote add origin URL\`, then run ${formatPushCommand("origin")}, and open the branch for review.`;
  if (remotes.length > 1) {
    const commands = remotes.map((item) => formatPushCommand(item)).join(" or ");
    return `Choose one, run ${commands}, and open the branch for review.`;
  }
  const remoteRef = getTrackingRef(remote, branch);
  const remoteLookup = await programs.git(["rev-parse", "--quiet", "--verify", remoteRef]);
  const ancestorCheck = await programs.git(["merge-base", "--is-ancestor", remoteRef, `refs/heads/${branch}`]);
  if (remoteLookup.code !== 0 || ancestorCheck.code === 0)
    return `To push it, run ${formatPushCommand(remote)}, and open it for review.`;
  const freeName = await findFreeBranch(programs, branch.slice(BRANCH_PREFIX.length));
  return `${sanitizeLine(remote)} has another branch of this name. Rename yours with \`${git} branch --move ${quoteName(branch)} ${quoteName(freeName)}\`, run ${formatPushCommand(remote, freeName)}, and open it for review.`;
}

async function runHostTool(
  { hostTool }: Programs,
  { host }: RemoteRepository,
  branch: string,
  { title, body }: Pick<ChangeMessage, "title" | "body">,
) {
  // The `=` form prevents values from being read as options.
  if (host === "github") {
    const args = ["pr", "create", `--head=${branch}`, `--title=${title}`, "--body-file=-"];
    return await hostTool("gh", args, body);
  }
  if (host !== "gitlab") return undefined;
  const args = [
    "mr",
    "create",
    `--source-branch=${branch}`,
    `--title=${title}`,
    `--description=${body || title}`,
    "--yes",
  ];
  return await hostTool("glab", args);
}

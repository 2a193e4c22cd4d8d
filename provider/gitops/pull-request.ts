import { shellWord } from "../settings/shell-word";
import { printable } from "../settings/text";
import { BRANCHES, type ChangeMessage, type Commit, freeBranch } from "./commit-change";
import { GitError, gitIn, type Programs, programsIn } from "./git";
import { pullRequestPage, type RemotePlace, remotePlace } from "./remote-place";

/** The result of submitting a branch for review. */
export interface PullRequest {
  /** The remote that the branch was pushed to. */
  readonly remote: string;
  /** The pull or merge request that was opened. */
  readonly opened?: string;
  /** The page where a person can open it, if no program could. */
  readonly toOpen?: string;
  /** The page of the repository, guessed from its address, if the host is unknown. */
  readonly page?: string;
  /** The error of a program that could not open it. */
  readonly why?: string;
}

/**
 * Pushes a commit's branch and opens a pull or merge request with `gh` or `glab`, whichever fits the host. If that fails, the result
 * contains the page where a person can open it. Never forces, and pushes only this branch.
 *
 * @throws {GitError} (`ERR_GIT`) if there is no remote or the push fails; the commit stays on its branch.
 */
export async function openPullRequest(
  { repository, branch, before }: Commit,
  message: ChangeMessage,
): Promise<PullRequest> {
  const programs = programsIn(repository);
  const stays = `The commit is on the branch ${branch}.`;
  const remotes = await listPushRemotes(programs, before);
  const [remote] = remotes;
  if (remote === undefined || remotes.length > 1) {
    const why = remote === undefined ? "no remote" : "several remotes, and none is called origin";
    const steps = await describePush(programs, repository, branch, remotes);
    throw new GitError(`${stays} It was not pushed: this repository has ${why}. ${steps}`);
  }
  const ref = `refs/heads/${branch}`;
  const pushed = await programs.git(["push", "--quiet", "--set-upstream", "--", remote, `${ref}:${ref}`]);
  if (pushed.code !== 0) {
    // The remote has another branch of this name that this clone doesn't know.
    if (/^! \[rejected\]/m.test(pushed.why))
      await programs.git([
        "fetch",
        "--quiet",
        "--no-tags",
        "--",
        remote,
        `+${ref}:${trackingRef(remote, branch)}`,
      ]);
    const steps = await describePush(programs, repository, branch, remotes);
    throw new GitError(`${stays} It could not be pushed, for the reason below. ${steps}\n${pushed.why}`);
  }
  const { stdout } = await programs.git(["remote", "get-url", "--push", "--", remote]);
  const place = remotePlace(stdout.trim());
  if (place === undefined) return { remote };
  const opened = await openBy(programs, place, branch, message);
  if (opened?.code === 0) {
    const page = /https?:\/\/\S+/.exec(opened.stdout)?.[0];
    return { remote, opened: page ?? pullRequestPage(place, branch) ?? place.address };
  }
  const toOpen = pullRequestPage(place, branch);
  return {
    remote,
    ...(toOpen === undefined ? { page: place.address } : { toOpen }),
    ...(opened === undefined ? {} : { why: opened.why }),
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
  const own = key === undefined ? undefined : (await git(["config", "--get", "--", key])).stdout.trim();
  const preferred = remotes.find((name) => name === own) ?? remotes.find((name) => name === "origin");
  return preferred === undefined ? remotes : [preferred];
}

function trackingRef(remote: string, branch: string): string {
  return `refs/remotes/${remote}/${branch}`;
}

/**
 * Describes how to push a branch without an upstream, with commands that can be copied.
 *
 * @param remotes the result of {@link listPushRemotes}.
 */
export async function describePush(
  programs: Programs,
  repository: string,
  branch: string,
  remotes: readonly string[],
): Promise<string> {
  const git = gitIn(repository);
  const word = (name: string): string => shellWord(printable(name));
  const push = (remote: string, name = branch): string =>
    `\`${git} push --set-upstream ${word(remote)} ${word(name)}\``;
  const [remote] = remotes;
  if (remote === undefined)
    return `Add one by \`${git} remote add origin URL\`, then run ${push("origin")}, and open the branch for review.`;
  if (remotes.length > 1) {
    const commands = remotes.map((one) => push(one)).join(" or ");
    return `Choose one, run ${commands}, and open the branch for review.`;
  }
  const theirs = trackingRef(remote, branch);
  const known = await programs.git(["rev-parse", "--quiet", "--verify", theirs]);
  const isBehind = await programs.git(["merge-base", "--is-ancestor", theirs, `refs/heads/${branch}`]);
  if (known.code !== 0 || isBehind.code === 0)
    return `To push it, run ${push(remote)}, and open it for review.`;
  const free = await freeBranch(programs, branch.slice(BRANCHES.length));
  return `${printable(remote)} has another branch of this name. Rename yours by \`${git} branch --move ${word(branch)} ${word(free)}\`, run ${push(remote, free)}, and open it for review.`;
}

async function openBy(
  { other }: Programs,
  { host }: RemotePlace,
  branch: string,
  { title, body }: ChangeMessage,
) {
  // The `=` form prevents values from being read as options.
  if (host === "github") {
    const args = ["pr", "create", `--head=${branch}`, `--title=${title}`, "--body-file=-"];
    return await other("gh", args, body);
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
  return await other("glab", args);
}

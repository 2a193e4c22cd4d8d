import type { ChangeMessage, Commit } from "./commit-change";
import { GitError, type Programs, programsIn } from "./git";
import { pullRequestPage, type RemotePlace, remotePlace } from "./remote-place";

/** What became of a branch that was to be reviewed. */
export interface PullRequest {
  /** The remote that it was pushed to. */
  readonly remote: string;
  /** The pull or merge request that was opened. */
  readonly opened?: string;
  /** Where a person opens it, where no program could. */
  readonly toOpen?: string;
  /** The page of its repository, as far as its address tells, where it is not known whose host that is. */
  readonly page?: string;
  /** Why no program could, of one that tried. */
  readonly why?: string;
}

/**
 * Pushes a commit's branch, and opens a pull or merge request for it: by `gh` or `glab`, where the one for the remote's host is
 * there, else a person opens it on the page that is answered. Nothing is forced, and nothing but this branch is pushed.
 *
 * @throws {GitError} (`ERR_GIT`) when there is no remote, or it can't be pushed; the commit stays on its branch.
 */
export async function openPullRequest(
  { repository, branch, before }: Commit,
  message: ChangeMessage,
): Promise<PullRequest> {
  const programs = programsIn(repository);
  const stays = `The commit is on the branch ${branch}.`;
  const remote = await remoteOf(programs, before, stays);
  const ref = `refs/heads/${branch}`;
  const pushed = await programs.git(["push", "--quiet", "--set-upstream", "--", remote, `${ref}:${ref}`]);
  if (pushed.code !== 0) {
    throw new GitError(
      `${stays} It could not be pushed; push it once that is mended, by \`git push\`:\n${pushed.why}`,
    );
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

/** The remote of the branch that was worked on, else `origin`, else the only one. */
async function remoteOf({ git }: Programs, before: string | undefined, stays: string): Promise<string> {
  const { stdout } = await git(["remote"]);
  const remotes = stdout.split("\n").filter((name) => name !== "");
  const key = before === undefined ? undefined : `branch.${before}.remote`;
  const own = key === undefined ? undefined : (await git(["config", "--get", "--", key])).stdout.trim();
  const only = remotes.length === 1 ? remotes[0] : undefined;
  const remote = remotes.find((name) => name === own) ?? remotes.find((name) => name === "origin") ?? only;
  if (remote !== undefined) return remote;
  throw new GitError(
    `${stays} It was not pushed: this repository has ${remotes.length === 0 ? "no remote" : "several remotes, and none is called origin"}.`,
  );
}

async function openBy(
  { other }: Programs,
  { host }: RemotePlace,
  branch: string,
  { title, body }: ChangeMessage,
) {
  // Each value stands behind its option's `=`, so that none is an option itself.
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

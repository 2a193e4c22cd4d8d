import { sanitizeLine } from "../model/text";
import type { Programs } from "./git";
import { createPullRequest, type PullRequest } from "./pull-request";
import { getNewPullRequestUrl, parseRemoteUrl, type RemoteRepository } from "./remote-repository";
import { type BranchUpdate, getSourceBranch, type ProposedFile, type SourceBranches } from "./source-branches";

/** The change of a source that is proposed for review. */
export interface SourceProposal extends ProposedFile {
  /** The new text of the file. */
  readonly text: string;
  /** The title of the pull request, and of the commit. */
  readonly title: string;
  /** The description of the pull request, in Markdown. */
  readonly description: string;
}

/** The state of a proposed change at the remote and its host. */
export interface ProposalResult {
  readonly source: string;
  readonly branch: string;
  readonly remote: string;
  readonly base: string;
  readonly update: BranchUpdate;
  /** Absent if nothing is proposed, or nothing was pushed. */
  readonly pullRequest?: ProposedPullRequest;
}

/**
 * The pull or merge request of a source. It is `unneeded` if the base branch has everything that it proposes. If no program could open or
 * update it, the other fields say what a person has to do.
 */
export interface ProposedPullRequest extends Omit<PullRequest, "remote"> {
  readonly action?: "opened" | "updated" | "current" | "unneeded";
}

interface OpenPullRequest {
  readonly number: string;
  readonly url: string;
  readonly description: string;
}

/**
 * Proposes the change of a source: pushes its branch, and opens its pull or merge request or updates the description. Changes nothing that
 * is proposed already. If the base branch has the same text, an open request stays, with a note.
 *
 * @throws {GitError} (`ERR_GIT`) if the branch can't be pushed.
 */
export async function proposeSourceChange(branches: SourceBranches, proposal: SourceProposal): Promise<ProposalResult> {
  const { source, text, title, description } = proposal;
  const { remote, base } = branches;
  const update = await branches.push(proposal, text, title);
  const result = { source, branch: getSourceBranch(proposal), remote, base, update };
  if (update.state === "conflict" || (update.state === "unchanged" && !branches.has(proposal))) return result;
  const body = update.state === "unchanged" ? describeUnneeded(base) : description;
  const pullRequest = await submitPullRequest(branches, result, { title, body });
  return pullRequest === undefined ? result : { ...result, pullRequest };
}

async function submitPullRequest(
  { programs, remote }: SourceBranches,
  { branch, update }: Pick<ProposalResult, "branch" | "update">,
  message: { readonly title: string; readonly body: string },
): Promise<ProposedPullRequest | undefined> {
  const { stdout } = await programs.git(["remote", "get-url", "--push", "--", remote]);
  const repository = parseRemoteUrl(stdout.trim());
  const isUnneeded = update.state === "unchanged";
  if (repository === undefined) return isUnneeded ? undefined : {};
  const existing = await findPullRequest(programs, repository, branch);
  if (typeof existing === "string") {
    const manualUrl = getNewPullRequestUrl(repository, branch);
    if (isUnneeded) return undefined;
    return { reason: existing, ...(manualUrl === undefined ? { page: repository.address } : { manualUrl }) };
  }
  if (existing === undefined) {
    if (isUnneeded) return undefined;
    const { url: openedUrl, ...manual } = await createPullRequest(programs, repository, branch, message);
    return openedUrl === undefined ? manual : { action: "opened", url: openedUrl };
  }
  const { url, description } = existing;
  if (normalizeLines(description) === normalizeLines(message.body))
    return { action: isUnneeded ? "unneeded" : "current", url };
  const edited = await editDescription(programs, repository, existing.number, message.body);
  if (edited?.code !== 0) return { url, ...(edited === undefined ? {} : { reason: edited.reason }) };
  return { action: isUnneeded ? "unneeded" : "updated", url };
}

/** Returns the open request of a branch of this repository; undefined if there is none, or a reason if it can't be looked up. */
async function findPullRequest(
  { hostTool }: Programs,
  { host }: RemoteRepository,
  branch: string,
): Promise<OpenPullRequest | undefined | string> {
  const result =
    host === "github"
      ? await hostTool("gh", [
          "pr",
          "list",
          `--head=${branch}`,
          "--state=open",
          "--limit=100",
          "--json=number,url,body,isCrossRepository",
        ])
      : host === "gitlab"
        ? await hostTool("glab", ["mr", "list", `--source-branch=${branch}`, "--per-page=100", "--output=json"])
        : undefined;
  // Without a program, the next step says where a person opens it.
  if (result === undefined) return undefined;
  if (result.code !== 0) return result.reason;
  try {
    return parsePullRequests(JSON.parse(result.stdout));
  } catch {
    return `The list of open requests isn't JSON: ${sanitizeLine(result.stdout.slice(0, 100))}`;
  }
}

/** Parses the answer of `gh` or `glab`. Leaves out requests from forks, whose branches may have the same name. */
function parsePullRequests(answer: unknown): OpenPullRequest | undefined {
  const items = (Array.isArray(answer) ? answer : []) as readonly Readonly<Record<string, unknown>>[];
  const own = items.find(
    (item) => item["isCrossRepository"] !== true && item["source_project_id"] === item["target_project_id"],
  );
  if (own === undefined) return undefined;
  return {
    number: String(own["number"] ?? own["iid"]),
    url: String(own["url"] ?? own["web_url"]),
    description: String(own["body"] ?? own["description"] ?? ""),
  };
}

async function editDescription({ hostTool }: Programs, { host }: RemoteRepository, number: string, body: string) {
  return host === "github"
    ? await hostTool("gh", ["pr", "edit", number, "--body-file=-"], body)
    : await hostTool("glab", ["mr", "update", number, `--description=${body}`, "--yes"]);
}

/** Hosts store descriptions with other line ends. */
function normalizeLines(text: string): string {
  return text.replaceAll("\r\n", "\n").trim();
}

function describeUnneeded(base: string): string {
  return `There are no changes left compared with the branch ${sanitizeLine(base)}, so this can be closed.\n`;
}

/** Describes what happened, and what a person still has to do, one sentence each. */
export function describeProposal({ branch, remote, base, update, pullRequest }: ProposalResult): string[] {
  const lines = describeUpdate(update, branch, remote, base);
  if (pullRequest === undefined) return lines;
  const { action, url = "", reason, manualUrl, page } = pullRequest;
  const address = sanitizeLine(url);
  if (action === "opened") return [...lines, `Opened ${address}`];
  if (action === "updated") return [...lines, `Updated the description of ${address}`];
  if (action === "current") return [...lines, `It is open for review: ${address}`];
  if (action === "unneeded")
    return [
      ...lines,
      `There are no changes left in ${address}, because ${sanitizeLine(base)} has the same entries. Close it.`,
    ];
  if (url !== "") return [...lines, `The description of ${address} could not be updated: ${reason ?? ""}`];
  if (reason !== undefined) lines.push(`It could not be opened for review from here: ${reason}`);
  if (manualUrl !== undefined) return [...lines, `Open it for review: ${manualUrl}`];
  return [
    ...lines,
    page === undefined
      ? "Open it for review on the page of your repository."
      : `Open the branch ${branch} for review on the page of your repository: ${sanitizeLine(page)}`,
  ];
}

function describeUpdate(update: BranchUpdate, branch: string, remote: string, base: string): string[] {
  switch (update.state) {
    case "unchanged":
      return [];
    case "current":
      return [`The branch ${branch} at ${sanitizeLine(remote)} already has this change.`];
    case "pushed":
      return [`Pushed ${branch} to ${sanitizeLine(remote)}.`];
    case "added":
      return [
        `Pushed ${branch} to ${sanitizeLine(remote)}, after ${formatCommits(update.others)} of other people on this branch.`,
      ];
    case "conflict":
      return [
        `Nothing was pushed, because ${formatCommits(update.others)} of other people on ${branch} changed the same lines. Merge or close its pull request, or delete the branch; the next sync starts from ${sanitizeLine(base)}.`,
      ];
  }
}

function formatCommits(count: number): string {
  return count === 1 ? "1 commit" : `${count} commits`;
}

/** Returns whether everything was done; false if a person still has to do something. */
export function isProposalComplete({ update, pullRequest }: ProposalResult): boolean {
  return update.state !== "conflict" && (pullRequest === undefined || pullRequest.action !== undefined);
}

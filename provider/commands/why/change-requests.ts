import { getPullRequestUrl, type RemoteRepository, type RepositoryHost } from "../../gitops/remote-repository";
import type { ChangeRequest } from "../../gitops/why-schema";

/** A host's format for naming a request in the message of a merge or squash. */
interface RequestPattern {
  readonly host: RepositoryHost;
  readonly pattern: RegExp;
  /** Whether the pattern matches the first line. Default: any line; the last match is the host's. */
  readonly isSubject?: true;
  readonly isMergeOnly?: true;
}

/** The last group is the request's number. The group before it is the project, if the host names it. */
const REQUEST_PATTERNS: readonly RequestPattern[] = [
  { host: "github", pattern: /^Merge pull request #(\d{1,9}) from /, isSubject: true, isMergeOnly: true },
  { host: "github", pattern: /\(#(\d{1,9})\)$/, isSubject: true },
  { host: "gitlab", pattern: /^See merge request ([\w./-]*)!(\d{1,9})$/gm, isMergeOnly: true },
  { host: "bitbucket", pattern: /\(pull request #(\d{1,9})\)$/, isSubject: true },
  { host: "bitbucket", pattern: /^Pull request #(\d{1,9}): /, isSubject: true },
  { host: "azure", pattern: /^Merged PR (\d{1,9}): /, isSubject: true },
];

/**
 * Returns the pull requests or merge requests that a commit message names. A request in the remote host's format comes first. All others
 * are only claimed, because any author can write them.
 *
 * @param remote the repository's remote. Undefined: not known, so all requests are only claimed.
 * @param isMerge whether the commit has several parents.
 */
export function parseChangeRequests(
  message: string,
  remote: RemoteRepository | undefined,
  isMerge: boolean,
): readonly ChangeRequest[] {
  const subject = (message.split("\n", 1)[0] ?? "").trimEnd();
  const requests = REQUEST_PATTERNS.flatMap((requestPattern): ChangeRequest[] => {
    // On other hosts, `(#12)` is an issue.
    const isIssue = requestPattern.pattern.source.startsWith("\\(#");
    if (isIssue && remote?.host !== undefined && remote.host !== "github") return [];
    const matches = requestPattern.isSubject
      ? [requestPattern.pattern.exec(subject)].filter((array) => array !== null)
      : [...message.replaceAll("\r\n", "\n").matchAll(requestPattern.pattern)];
    return matches.map((match, index): ChangeRequest => {
      const number = match.at(-1) ?? "";
      const project = match.length > 2 ? (match[1] ?? "") : "";
      const isOwnProject = project === "" || isRemoteProject(remote, project);
      const name = requestPattern.host === "gitlab" ? `${isOwnProject ? "" : project}!${number}` : `#${number}`;
      // The host appends its own line below the author's text.
      const isFromHost = requestPattern.host === remote?.host && isOwnProject && index === matches.length - 1;
      if (!isFromHost || (requestPattern.isMergeOnly && !isMerge)) return { name, isClaimed: true };
      const url = getPullRequestUrl(remote, number);
      return { name, ...(url === undefined ? {} : { url }) };
    });
  });
  const [confirmed, claimed] = [true, false].map((isConfirmed) =>
    requests.filter((request) => !request.isClaimed === isConfirmed),
  );
  return [...(confirmed ?? []), ...(claimed ?? [])];
}

function isRemoteProject(remote: RemoteRepository | undefined, project: string): boolean {
  if (remote === undefined) return false;
  return new URL(remote.address).pathname.slice(1).toLowerCase() === project.toLowerCase();
}

import { type Host, type RemotePlace, requestPage } from "../../gitops/remote-place";
import type { ChangeRequest } from "../../gitops/why-schema";

/** How a host names a request in the message of what it merges or squashes. */
interface RequestPattern {
  /** The host that writes it. */
  readonly host: Host;
  readonly pattern: RegExp;
  /** Whether it stands in the first line. Default: in any line of its own, the last one of which is the host's. */
  readonly isSubject?: true;
  /** Whether only a commit with several parents has it. */
  readonly isOfMerge?: true;
}

/** The request's number is the last group, and the project the one before it, if the host names it. */
const REQUEST_PATTERNS: readonly RequestPattern[] = [
  { host: "github", pattern: /^Merge pull request #(\d{1,9}) from /, isSubject: true, isOfMerge: true },
  { host: "github", pattern: /\(#(\d{1,9})\)$/, isSubject: true },
  { host: "gitlab", pattern: /^See merge request ([\w./-]*)!(\d{1,9})$/gm, isOfMerge: true },
  { host: "bitbucket", pattern: /\(pull request #(\d{1,9})\)$/, isSubject: true },
  { host: "bitbucket", pattern: /^Pull request #(\d{1,9}): /, isSubject: true },
  { host: "azure", pattern: /^Merged PR (\d{1,9}): /, isSubject: true },
];

/**
 * The pull requests or merge requests that a commit's message tells of. The one in the form of the remote's host comes first; every
 * other one is only claimed, since whoever writes a commit can write that too.
 *
 * @param remote where the repository's remote is. Undefined: not known, so that all is only claimed.
 * @param isMerge whether the commit has several parents.
 */
export function requestsIn(
  message: string,
  remote: RemotePlace | undefined,
  isMerge: boolean,
): readonly ChangeRequest[] {
  const subject = (message.split("\n", 1)[0] ?? "").trimEnd();
  const requests = REQUEST_PATTERNS.flatMap((requestPattern): ChangeRequest[] => {
    // Elsewhere, `(#12)` is an issue.
    const isIssue = requestPattern.pattern.source.startsWith("\\(#");
    if (isIssue && remote?.host !== undefined && remote.host !== "github") return [];
    const matches = requestPattern.isSubject
      ? [requestPattern.pattern.exec(subject)].filter((one) => one !== null)
      : [...message.replaceAll("\r\n", "\n").matchAll(requestPattern.pattern)];
    return matches.map((match, index): ChangeRequest => {
      const number = match.at(-1) ?? "";
      const project = match.length > 2 ? (match[1] ?? "") : "";
      const isOwnProject = project === "" || isRemoteProject(remote, project);
      const name =
        requestPattern.host === "gitlab" ? `${isOwnProject ? "" : project}!${number}` : `#${number}`;
      // The host's own line is below what an author has typed.
      const isFromHost = requestPattern.host === remote?.host && isOwnProject && index === matches.length - 1;
      if (!isFromHost || (requestPattern.isOfMerge && !isMerge)) return { name, isClaimed: true };
      const url = requestPage(remote, number);
      return { name, ...(url === undefined ? {} : { url }) };
    });
  });
  const [confirmed, claimed] = [true, false].map((isConfirmed) =>
    requests.filter((one) => !one.isClaimed === isConfirmed),
  );
  return [...(confirmed ?? []), ...(claimed ?? [])];
}

function isRemoteProject(remote: RemotePlace | undefined, project: string): boolean {
  if (remote === undefined) return false;
  return new URL(remote.address).pathname.slice(1).toLowerCase() === project.toLowerCase();
}

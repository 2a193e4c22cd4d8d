/** The pull request or merge request that a commit tells of. */
export interface ChangeRequest {
  /** `#12`, or `!34` as GitLab has it. */
  readonly name: string;
  readonly url?: string;
}

/**
 * The pull request or merge request that brought a commit, as its message tells: of a merge (`Merge pull request #12 from …`, `See merge
 * request group/project!34`, `Merged in … (pull request #12)`, `Merged PR 12: …`), or of what was squashed (`… (#12)`).
 *
 * @param remote the address of the repository's remote; nothing of it but host and path is used.
 */
export function requestOf(message: string, remote: string | undefined): ChangeRequest | undefined {
  const subject = message.split("\n", 1)[0] ?? "";
  const at = remote === undefined ? undefined : siteOf(remote);
  const [, project, number] = /^See merge request ([\w./-]*)!(\d{1,9})$/m.exec(message) ?? [];
  if (number !== undefined) {
    // A path of somebody else's is not made a link.
    const isOwn = at !== undefined && (project === "" || project?.toLowerCase() === at.path.toLowerCase());
    return {
      name: `!${number}`,
      ...(isOwn ? { url: `https://${at.host}/${at.path}/-/merge_requests/${number}` } : {}),
    };
  }
  const [, merged] = /^Merge pull request #(\d{1,9}) from /.exec(subject) ?? [];
  const [, bitbucket] = /\(pull request #(\d{1,9})\)$/.exec(subject) ?? [];
  const [, azure] = /^Merged PR (\d{1,9}): /.exec(subject) ?? [];
  const [, squashed] = /\(#(\d{1,9})\)$/.exec(subject) ?? [];
  const id = merged ?? bitbucket ?? azure ?? squashed;
  if (id === undefined) return undefined;
  // There, `(#12)` is an issue.
  if (squashed === id && at !== undefined && /gitlab/i.test(at.host)) return undefined;
  const name = `#${id}`;
  if (at === undefined || azure !== undefined) return { name };
  if (bitbucket !== undefined || at.host === "bitbucket.org")
    return { name, url: `https://${at.host}/${at.path}/pull-requests/${id}` };
  const isGitHub = /(?:^|[.-])github[.-]/i.test(`.${at.host}.`);
  return { name, ...(isGitHub ? { url: `https://${at.host}/${at.path}/pull/${id}` } : {}) };
}

/** Host and path of a remote's address, where it is one on the web: nobody's name and password. */
function siteOf(remote: string): { readonly host: string; readonly path: string } | undefined {
  const [, scpHost, scpPath] = /^(?:[^@/:\s]+@)?([\w.-]+):(?!\/)([\w./~-]+)$/.exec(remote) ?? [];
  const url = scpHost === undefined ? URL.parse(remote) : undefined;
  const isWeb = url !== null && url !== undefined && /^(?:https?|ssh|git):$/.test(url.protocol);
  const host = scpHost ?? (isWeb ? url.hostname : "");
  const path = (scpPath ?? (isWeb ? url.pathname : ""))
    .replace(/^\/+|\/+$|\.git\/?$/g, "")
    .replace(/\/+$/, "");
  return /^[\w.-]+$/.test(host) && /^[\w.~/-]+$/.test(path) ? { host, path } : undefined;
}

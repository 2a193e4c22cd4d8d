export type RepositoryHost = "github" | "gitlab" | "bitbucket" | "azure";

/** The location of a remote repository, without credentials. */
export interface RemoteRepository {
  /** Undefined if the name doesn't show it. */
  readonly host?: RepositoryHost;
  /** Its page: `https://github.com/acme/email-security`; a guess from the address if the host is unknown. */
  readonly address: string;
}

/**
 * Parses the URL of a git remote in any form that git accepts; undefined if it has no page, for example a directory.
 *
 * @param url the output of `git remote get-url`: `git@github.com:acme/settings.git`, `https://user:token@…`, `ssh://…`.
 */
export function parseRemoteUrl(url: string): RemoteRepository | undefined {
  const parts = splitRemoteUrl(url);
  if (parts === undefined) return undefined;
  const { name, path, origin } = parts;
  const azureRepository = getAzurePath(name, path);
  if (azureRepository !== undefined) return { host: "azure", address: `https://dev.azure.com/${azureRepository}` };
  const host = HOSTS.find((candidate) => new RegExp(`(?:^|[.-])${candidate}(?:[.-]|$)`).test(name));
  if (path.length < 2) return undefined;
  const address = `${origin}/${path.map((item) => encodeURIComponent(item).replaceAll("%7E", "~")).join("/")}`;
  return host === undefined ? { address } : { host, address };
}

const HOSTS = ["github", "gitlab", "bitbucket"] as const;

/** Returns the page for opening a pull or merge request of a branch; undefined for an unknown host. */
export function getNewPullRequestUrl({ host, address }: RemoteRepository, branch: string): string | undefined {
  const name = encodeURIComponent(branch);
  switch (host) {
    case "github":
      return `${address}/compare/${branch.split("/").map(encodeURIComponent).join("/")}?expand=1`;
    case "gitlab":
      return `${address}/-/merge_requests/new?merge_request%5Bsource_branch%5D=${name}`;
    case "bitbucket":
      return `${address}/pull-requests/new?source=${name}`;
    case "azure":
      return `${address}/pullrequestcreate?sourceRef=${name}`;
    default:
      return undefined;
  }
}

/** Returns the page of a pull or merge request; undefined if the host is unknown, or is self-hosted with other addresses. */
export function getPullRequestUrl({ host, address }: RemoteRepository, number: string): string | undefined {
  switch (host) {
    case "github":
      return `${address}/pull/${number}`;
    case "gitlab":
      return `${address}/-/merge_requests/${number}`;
    case "bitbucket":
      return /^https?:\/\/bitbucket\.org\//.test(address) ? `${address}/pull-requests/${number}` : undefined;
    case "azure":
      return `${address}/pullrequest/${number}`;
    default:
      return undefined;
  }
}

function splitRemoteUrl(
  url: string,
): { readonly name: string; readonly path: readonly string[]; readonly origin: string } | undefined {
  if (/[\s\p{Cc}]/u.test(url)) return undefined;
  // The scp form git@github.com:acme/settings.git isn't a URL. A one-letter host would be a Windows drive.
  const [, scpHost, scpPath] = /^(?:[^@/]+@)?([\w.-]{2,}):(?!\/\/)(.+)$/.exec(url) ?? [];
  const parsed = scpHost === undefined ? URL.parse(url) : URL.parse(`ssh://${scpHost}/${scpPath}`);
  if (parsed === null || !/^(?:https?|ssh|git|git\+ssh|ssh\+git):$/.test(parsed.protocol)) return undefined;
  const path = parsed.pathname
    .split("/")
    .filter((part) => part !== "")
    .map(decodeSegment);
  const last = path.length - 1;
  const name = parsed.hostname
    .toLowerCase()
    .replace(/^ssh\.(?=github\.com$)|^altssh\.(?=gitlab\.com$|bitbucket\.org$)/, "");
  const isWeb = /^https?:$/.test(parsed.protocol);
  return {
    name,
    // The port belongs to the protocol of the remote, so it is kept only for HTTP.
    origin: isWeb ? `${parsed.protocol}//${parsed.host.toLowerCase()}` : `https://${name}`,
    path: path.with(last, (path[last] ?? "").replace(/\.git$/, "")),
  };
}

function decodeSegment(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Azure DevOps uses other paths for SSH, and has two hosts. */
function getAzurePath(name: string, path: readonly string[]): string | undefined {
  const [organization] = /^([\w-]+)\.visualstudio\.com$/.exec(name)?.slice(1) ?? [];
  const isSsh = name === "ssh.dev.azure.com" || name === "vs-ssh.visualstudio.com";
  let parts: readonly (string | undefined)[] | undefined;
  if (isSsh && path[0] === "v3" && path.length === 4) parts = path.slice(1);
  else if (name === "dev.azure.com" && path[2] === "_git" && path.length === 4) parts = [path[0], path[1], path[3]];
  else if (organization !== undefined && !isSsh) {
    const remainder = path[0] === "DefaultCollection" ? path.slice(1) : path;
    if (remainder[1] === "_git" && remainder.length === 3) parts = [organization, remainder[0], remainder[2]];
  }
  if (parts === undefined) return undefined;
  const [owner, project, repository] = parts.map((part) => encodeURIComponent(part ?? ""));
  return `${owner}/${project}/_git/${repository}`;
}

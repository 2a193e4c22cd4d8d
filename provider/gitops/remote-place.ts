/** Who runs a host of repositories, as far as that is told by its name. */
export type Host = "github" | "gitlab" | "bitbucket" | "azure";

/** Where a remote's repository is. Nothing of what opens it is in here. */
export interface RemotePlace {
  /** Undefined where its name does not tell it. */
  readonly host?: Host;
  /** Its page: `https://github.com/acme/email-security`; where the host is not known, as far as its address tells. */
  readonly address: string;
}

/**
 * Reads where a remote of git is, in any of the forms that git takes; undefined where there is no page for it, as of a folder.
 *
 * @param url as `git remote get-url` tells it: `git@github.com:acme/settings.git`, `https://user:token@…`, `ssh://…`.
 */
export function remotePlace(url: string): RemotePlace | undefined {
  const read = readUrl(url);
  if (read === undefined) return undefined;
  const { name, path, origin } = read;
  const azure = azurePath(name, path);
  if (azure !== undefined) return { host: "azure", address: `https://dev.azure.com/${azure}` };
  const host = HOSTS.find((one) => new RegExp(`(?:^|[.-])${one}(?:[.-]|$)`).test(name));
  if (path.length < 2) return undefined;
  const address = `${origin}/${path.map((one) => encodeURIComponent(one).replaceAll("%7E", "~")).join("/")}`;
  return host === undefined ? { address } : { host, address };
}

const HOSTS = ["github", "gitlab", "bitbucket"] as const;

/** The page on which a person opens a pull or merge request of a branch; undefined where the host is not known. */
export function pullRequestPage({ host, address }: RemotePlace, branch: string): string | undefined {
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

/** The page of a pull or merge request; undefined where the host is not known, or has other addresses than its public one. */
export function requestPage({ host, address }: RemotePlace, number: string): string | undefined {
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

function readUrl(
  url: string,
): { readonly name: string; readonly path: readonly string[]; readonly origin: string } | undefined {
  if (/[\s\p{Cc}]/u.test(url)) return undefined;
  // git@github.com:acme/settings.git, which is no URL; of a Windows folder, c:\settings, the host is one letter.
  const [, scpHost, scpPath] = /^(?:[^@/]+@)?([\w.-]{2,}):(?!\/\/)(.+)$/.exec(url) ?? [];
  const parsed = scpHost === undefined ? URL.parse(url) : URL.parse(`ssh://${scpHost}/${scpPath}`);
  if (parsed === null || !/^(?:https?|ssh|git|git\+ssh|ssh\+git):$/.test(parsed.protocol)) return undefined;
  const path = parsed.pathname
    .split("/")
    .filter((one) => one !== "")
    .map(decoded);
  const last = path.length - 1;
  const name = parsed.hostname
    .toLowerCase()
    .replace(/^ssh\.(?=github\.com$)|^altssh\.(?=gitlab\.com$|bitbucket\.org$)/, "");
  const isWeb = /^https?:$/.test(parsed.protocol);
  return {
    name,
    // A port is that of what it is asked by.
    origin: isWeb ? `${parsed.protocol}//${parsed.host.toLowerCase()}` : `https://${name}`,
    path: path.with(last, (path[last] ?? "").replace(/\.git$/, "")),
  };
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Azure DevOps has other paths over ssh, and two hosts. */
function azurePath(name: string, path: readonly string[]): string | undefined {
  const [organization] = /^([\w-]+)\.visualstudio\.com$/.exec(name)?.slice(1) ?? [];
  const isSsh = name === "ssh.dev.azure.com" || name === "vs-ssh.visualstudio.com";
  let parts: readonly (string | undefined)[] | undefined;
  if (isSsh && path[0] === "v3" && path.length === 4) parts = path.slice(1);
  else if (name === "dev.azure.com" && path[2] === "_git" && path.length === 4)
    parts = [path[0], path[1], path[3]];
  else if (organization !== undefined && !isSsh) {
    const rest = path[0] === "DefaultCollection" ? path.slice(1) : path;
    if (rest[1] === "_git" && rest.length === 3) parts = [organization, rest[0], rest[2]];
  }
  if (parts === undefined) return undefined;
  const [owner, project, repository] = parts.map((one) => encodeURIComponent(one ?? ""));
  return `${owner}/${project}/_git/${repository}`;
}

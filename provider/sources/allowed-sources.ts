import { isLoopback } from "../client/base-url";
import { allowsInsecureHttp } from "../model/environment-variables";
import { quote } from "../model/text";
import { SourceError } from "./source-content";

/** The environment variable with the addresses that each source may read. The operator who starts a run sets it. */
export const ALLOWED_SOURCES_VARIABLE = "EMAIL_SECURITY_SOURCES";

type Environment = Readonly<Record<string, string | undefined>>;

/** Returns the address below which a source may read; undefined if the run doesn't allow it. */
function getAllowedAddress(name: string, environment: Environment): string | undefined {
  for (const pair of environment[ALLOWED_SOURCES_VARIABLE]?.split(/[\s,]+/) ?? []) {
    const separator = pair.indexOf("=");
    if (separator > 0 && pair.slice(0, separator) === name) return pair.slice(separator + 1);
  }
  return undefined;
}

/**
 * Rejects an address that a source may not read. A pull request must not send a source's credentials to another address.
 *
 * @throws {SourceError} with a message that says how to allow the address.
 */
export function assertAllowedSource(name: string, address: string, environment: Environment): void {
  const allowed = URL.parse(getAllowedAddress(name, environment) ?? "");
  const url = URL.parse(address);
  if (url === null) throw new SourceError(`The source ${name} has the address ${quote(address)}, which isn't valid.`);
  const isHttp = url.protocol === "http:";
  if (isHttp && !isLoopback(url.hostname) && !allowsInsecureHttp(environment)) {
    throw new SourceError(`The source ${name} has the address ${quote(address)}, which isn't encrypted. Use https.`);
  }
  if (allowed !== null && isBelow(url, allowed)) return;
  throw new SourceError(
    `This run isn't allowed to read ${quote(`${url.protocol}//${url.host}${url.pathname}`)} for the source ${name}. If the address is correct, allow it where the run is started: ${ALLOWED_SOURCES_VARIABLE}=${name}=${url.protocol}//${url.host}/`,
  );
}

/** The addresses of the groups of each directory with an API. */
const GROUPS_ADDRESSES = {
  "microsoft-graph": "https://graph.microsoft.com/v1.0/groups",
  "google-directory": "https://admin.googleapis.com/admin/directory/v1/groups",
} as const;

/**
 * Returns the address of a directory's groups, at the server that the run allows, such as that of a national cloud.
 *
 * @throws {SourceError} if the run doesn't allow one. No credentials are requested then.
 */
export function getGroupsAddress(
  kind: keyof typeof GROUPS_ADDRESSES,
  { name, environment }: { readonly name: string; readonly environment: Environment },
): string {
  const { origin, pathname } = new URL(GROUPS_ADDRESSES[kind]);
  const allowed = URL.parse(getAllowedAddress(name, environment) ?? "");
  const address = `${allowed !== null && /^https?:$/.test(allowed.protocol) ? allowed.origin : origin}${pathname}`;
  assertAllowedSource(name, address, environment);
  return address;
}

function isBelow(url: URL, allowed: URL): boolean {
  if (url.protocol !== allowed.protocol || url.host !== allowed.host) return false;
  // A server may decode these before it looks for `..`.
  if (allowed.pathname !== "/" && /%2f|%5c/i.test(url.pathname)) return false;
  const prefix = allowed.pathname.replace(/\/*$/, "/");
  return `${url.pathname}/`.startsWith(prefix);
}

import { isIP } from "node:net";
import { quote } from "../model/text";
import { ConfigurationError } from "./errors";

/** The service's endpoint path, or the beginning of one, after an optional gateway path. */
const ENDPOINT_PATH = /^(.*?)(\/(?:api|v\d+)(?:\/.*)?)$/i;

/**
 * Returns a hint for an address that ends in an endpoint path; otherwise undefined. Use it for failures only, since a gateway
 * may legitimately have such a path.
 *
 * @param baseUrl the result of {@link normalizeBaseUrl}.
 */
export function getEndpointPathHint(baseUrl: string): string | undefined {
  const { origin, pathname } = new URL(baseUrl);
  const [, prefix = "", endpoint] = ENDPOINT_PATH.exec(pathname) ?? [];
  if (endpoint === undefined) return undefined;
  return `The address (baseUrl) ends in ${quote(endpoint)}, but the client adds /api/v1/… to it: remove that path, and try ${quote(`${origin}${prefix}`)}.`;
}

/**
 * Returns the service's address without a trailing slash.
 *
 * @throws {ConfigurationError} if it is invalid, or would send the key in cleartext.
 */
export function normalizeBaseUrl(baseUrl: string, allowInsecureHttp: boolean): string {
  const url = URL.parse(baseUrl);
  const advice = "Set it to an address such as https://mail-security.example.";
  if (url === null)
    throw new ConfigurationError(
      // Doesn't show the value, which may be a misplaced key.
      `The service's address (baseUrl) isn't a valid URL. ${advice}`,
    );
  if (url.username !== "" || url.password !== "") {
    throw new ConfigurationError(`The service's address (baseUrl) contains a user name or a password. ${advice}`);
  }
  if (url.search !== "" || url.hash !== "") {
    const address = `${url.origin}${url.pathname.replace(/\/+$/, "")}`;
    const hint = getEndpointPathHint(address) ?? advice;
    throw new ConfigurationError(
      `The service's address (baseUrl) has a query or a fragment after ${quote(`${url.origin}${url.pathname}`)}. ${hint}`,
    );
  }
  if (url.protocol !== "https:" && url.protocol !== "http:") {
    throw new ConfigurationError(`The service's address (baseUrl) doesn't start with https:// or http://. ${advice}`);
  }
  if (url.protocol === "http:" && !isLoopback(url.hostname) && !allowInsecureHttp) {
    throw new ConfigurationError(
      `The service's address (baseUrl) is ${quote(baseUrl)}: plain http would send the API key unencrypted. Use https. If you really need http, set allowInsecureHttp (EMAIL_SECURITY_ALLOW_INSECURE_HTTP=true for resources).`,
    );
  }
  return `${url.origin}${url.pathname.replace(/\/+$/, "")}`;
}

/** Returns whether a host is the loopback interface. */
export function isLoopback(hostname: string): boolean {
  const host = hostname.replace(/^\[(.+)\]$/, "$1");
  return host === "localhost" || host === "::1" || (isIP(host) === 4 && host.startsWith("127."));
}

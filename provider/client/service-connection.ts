import { isIP } from "node:net";
import type { buildConnector, Dispatcher } from "undici";
import { quote } from "../settings/text";
import { ConfigurationError } from "./errors";

/**
 * TLS is always verified, whatever NODE_TLS_REJECT_UNAUTHORIZED says, so that the key never goes to an unverified peer.
 */
const VERIFY_TLS = { rejectUnauthorized: true } as const;

const PROXY_VARIABLES = ["HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy"] as const;

/**
 * Returns a dispatcher that follows the proxy variables of the environment.
 *
 * @throws {ConfigurationError} if one of them isn't a valid address.
 */
export function createDispatcher(
  baseUrl: string,
  { Agent, EnvHttpProxyAgent, Pool }: typeof import("undici"),
): Dispatcher {
  // Plain http is accepted for loopback only because the traffic stays on this machine; a proxy would see it.
  if (isLoopback(new URL(baseUrl).hostname)) return new Agent({ connect: VERIFY_TLS });
  try {
    return new EnvHttpProxyAgent({
      connect: VERIFY_TLS,
      requestTls: VERIFY_TLS,
      proxyTls: VERIFY_TLS,
      clientFactory: (proxy, options) => new Pool(proxy, wrapProxyConnect(proxy, options as ProxyClientOptions)),
    });
  } catch {
    throw buildProxyConfigurationError();
  }
}

/**
 * Does the same as {@link createDispatcher} but loads only the required parts of undici.
 *
 * @throws {ConfigurationError} if a proxy variable isn't a valid address.
 */
export async function loadDispatcher(baseUrl: string): Promise<Dispatcher> {
  const isDirect = isLoopback(new URL(baseUrl).hostname) || !PROXY_VARIABLES.some((name) => process.env[name]);
  if (!isDirect) return createDispatcher(baseUrl, await import("undici"));
  const Agent = await loadAgent();
  return new Agent({ connect: VERIFY_TLS });
}

/**
 * All of undici (fetch, WebSocket, caches, mocks) has five times as many modules and takes more than twice as long to load, in
 * every process that makes a request. If a release moves its agent, undici is loaded as a whole.
 */
async function loadAgent(): Promise<typeof import("undici").Agent> {
  try {
    return (await import("undici/lib/dispatcher/agent.js")).default;
  } catch {
    return (await import("undici")).Agent;
  }
}

/** The connection to the environment's proxy failed, for the reason in `cause`. Nothing was sent to the service. */
export class ProxyConnectionError extends Error {
  /** The proxy address without user and password. */
  readonly proxy: string;

  constructor(proxy: URL, cause: Error) {
    super(cause.message, { cause });
    this.proxy = proxy.origin;
  }
}

/** Returns the status with which the proxy refused a tunnel to the service; undefined for other errors. */
export function getTunnelRefusalStatus(error: unknown): number | undefined {
  // undici has neither a class nor a code for it.
  const [, status] = /^Proxy response \((\d+)\)/.exec(error instanceof Error ? error.message : "") ?? [];
  return status === undefined ? undefined : Number(status);
}

interface ProxyClientOptions {
  readonly connect: buildConnector.connector;
}

/**
 * Marks connection errors of the proxy, so that its invalid certificate or refused connection isn't attributed to the
 * service.
 */
function wrapProxyConnect(proxy: URL, { connect }: ProxyClientOptions): ProxyClientOptions {
  return {
    connect: (options, done) =>
      connect(options, (...[error, socket]) =>
        error === null ? done(null, socket) : done(new ProxyConnectionError(proxy, error), null),
      ),
  };
}

/**
 * Validates the environment's proxies before any request.
 *
 * @throws {ConfigurationError} if one of them isn't a valid address.
 */
export function assertValidProxies(baseUrl: string, environment: NodeJS.ProcessEnv): void {
  if (isLoopback(new URL(baseUrl).hostname)) return;
  for (const name of PROXY_VARIABLES) {
    const proxy = environment[name];
    if (proxy && URL.parse(proxy) === null) throw buildProxyConfigurationError();
  }
}

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

function buildProxyConfigurationError(): ConfigurationError {
  // The cause would reveal the proxy's address, including its password.
  return new ConfigurationError("HTTPS_PROXY or HTTP_PROXY in the environment isn't a valid proxy address.");
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

import type { buildConnector, Dispatcher } from "undici";
import { lookupOnce } from "./address-lookup";
import { isLoopback } from "./base-url";
import { ConfigurationError } from "./errors";

/**
 * TLS is always verified, whatever NODE_TLS_REJECT_UNAUTHORIZED says, so that the key never goes to an unverified peer.
 */
const VERIFY_TLS = { rejectUnauthorized: true } as const;

/** Connections to the service itself. Those of a proxy to the service are made by the proxy. */
const CONNECT = { ...VERIFY_TLS, lookup: lookupOnce };

/**
 * HTTP/2 sends all requests over one connection. undici's default window of 512 KiB holds only some pages of a list, so that a connection
 * waits a round trip for each of them.
 */
const H2_OPTIONS = { connectionWindowSize: 16 * 1024 * 1024 };

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
  if (isLoopback(new URL(baseUrl).hostname)) return new Agent({ connect: CONNECT, h2Options: H2_OPTIONS });
  try {
    return new EnvHttpProxyAgent({
      connect: CONNECT,
      h2Options: H2_OPTIONS,
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
  return new Agent({ connect: CONNECT, h2Options: H2_OPTIONS });
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
export function getTunnelErrorStatus(error: unknown): number | undefined {
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

function buildProxyConfigurationError(): ConfigurationError {
  // The cause would reveal the proxy's address, including its password.
  return new ConfigurationError("HTTPS_PROXY or HTTP_PROXY in the environment isn't a valid proxy address.");
}

import type { Dispatcher } from "undici";

/** How a request without a key went. */
export interface Contact {
  /** The proxy that it went by, without user and password. */
  readonly proxy?: string;
  /** Where an answer came. */
  readonly answer?: ProbeResponse;
  /** Where none came. */
  readonly error?: Error;
}

interface ProbeResponse {
  readonly status: number;
  readonly contentType: string;
  /** What the `Date` of the answer says, in milliseconds since 1970; undefined when it says nothing. */
  readonly serverTime: number | undefined;
  /** When it came, by this machine's clock. */
  readonly at: number;
}

const TIMEOUT_MS = 10_000;

/**
 * Asks the service for a page of the allow/deny list without a key, to see who answers and by which way. A refusal is what
 * is expected. Never rejects.
 */
export async function makeContact(
  address: string,
  environment: NodeJS.ProcessEnv,
  now: () => number,
): Promise<Contact> {
  const { Agent, EnvHttpProxyAgent, Pool, request } = await import("undici");
  let proxy: string | undefined;
  const createAgent = (): Dispatcher =>
    isLoopback(new URL(address).hostname)
      ? new Agent()
      : new EnvHttpProxyAgent({
          httpProxy: environment["http_proxy"] ?? environment["HTTP_PROXY"] ?? "",
          httpsProxy: environment["https_proxy"] ?? environment["HTTPS_PROXY"] ?? "",
          noProxy: environment["no_proxy"] ?? environment["NO_PROXY"] ?? "",
          clientFactory: (origin, options) => {
            const { connect, ...rest } = options as {
              connect: (options: unknown, callback: unknown) => void;
            };
            // Only a connection tells whether the proxy is used for this address.
            const connectAndRecord = (target: unknown, callback: unknown): void => {
              proxy = origin.origin;
              connect(target, callback);
            };
            return new Pool(origin, { ...rest, connect: connectAndRecord as never });
          },
        });
  let dispatcher: Dispatcher | undefined;
  try {
    dispatcher = createAgent();
    const response = await request(
      `${address}/api/v1/settings/allow_deny_entries?list=deny&page=1&page_size=1`,
      {
        dispatcher,
        signal: AbortSignal.timeout(TIMEOUT_MS),
        headers: { accept: "application/json" },
      },
    );
    const receivedAt = now();
    response.body.on("error", () => {}).destroy();
    const { date, "content-type": contentType } = response.headers;
    const serverTime = Date.parse(String(date));
    return {
      ...(proxy === undefined ? {} : { proxy }),
      answer: {
        status: response.statusCode,
        contentType: String(contentType ?? ""),
        serverTime: Number.isNaN(serverTime) ? undefined : serverTime,
        at: receivedAt,
      },
    };
  } catch (error) {
    return {
      ...(proxy === undefined ? {} : { proxy }),
      error: error instanceof Error ? error : new Error(String(error)),
    };
  } finally {
    await dispatcher?.destroy();
  }
}

/** Loopback is reached without the environment's proxies, as by the client. */
function isLoopback(hostname: string): boolean {
  return hostname === "localhost" || hostname === "[::1]" || /^127\.\d+\.\d+\.\d+$/.test(hostname);
}

import type { Dispatcher } from "undici";
import { isLoopback } from "../../client/base-url";

/** The result of a request without a key. */
export interface ServiceProbe {
  /** The proxy that the request used, without credentials. */
  readonly proxy?: string;
  /** Undefined if the service did not respond. */
  readonly response?: ProbeResponse;
  /** The error, if there was no response. */
  readonly error?: Error;
}

interface ProbeResponse {
  readonly status: number;
  readonly contentType: string;
  /** Whether further requests can use the same connection. */
  readonly keepsConnection: boolean;
  /** The `Date` header of the response, in milliseconds since 1970. Undefined if it is missing or invalid. */
  readonly serverTime: number | undefined;
  /** The time the response arrived by this machine's clock, in milliseconds since 1970. */
  readonly receivedAt: number;
}

const TIMEOUT_MS = 10_000;

/**
 * Requests a page of the allow/deny list without a key, to see which server responds and through which proxy. It
 * expects a refusal. Never rejects.
 */
export async function sendProbe(
  address: string,
  environment: NodeJS.ProcessEnv,
  now: () => number,
): Promise<ServiceProbe> {
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
            // Only an actual connection shows whether this address uses the proxy.
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
    const response = await request(`${address}/api/v1/settings/allow_deny_entries?list=deny&page=1&page_size=1`, {
      dispatcher,
      signal: AbortSignal.timeout(TIMEOUT_MS),
      headers: { accept: "application/json" },
    });
    const receivedAt = now();
    response.body.on("error", () => {}).destroy();
    const { date, connection, "content-type": contentType } = response.headers;
    const serverTime = Date.parse(String(date));
    return {
      ...(proxy === undefined ? {} : { proxy }),
      response: {
        status: response.statusCode,
        contentType: String(contentType ?? ""),
        keepsConnection: !/\bclose\b/i.test(String(connection ?? "")),
        serverTime: Number.isNaN(serverTime) ? undefined : serverTime,
        receivedAt,
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

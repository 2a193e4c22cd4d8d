import { createHmac } from "node:crypto";
import { defaultDispatcher } from "../../client/address";
import type { Receiver } from "./receivers";

/** How a notice is sent. */
export interface DeliverOptions {
  /** Ends it, and what it waits for. */
  readonly signal: AbortSignal;
  /** How long the first wait before another attempt is, in milliseconds; each is twice as long. Default: 500. */
  readonly retryMs?: number;
  /** The limit of one attempt, in milliseconds. Default: 5,000. */
  readonly attemptMs?: number;
}

const ATTEMPTS = 5;

/** What another attempt may mend, silence as well: to be told twice, with one id, is better than not at all. */
const AGAIN = [
  "ECONNRESET",
  "ECONNREFUSED",
  "ENOTFOUND",
  "EAI_AGAIN",
  "ENETDOWN",
  "ENETUNREACH",
  "EHOSTDOWN",
  "EHOSTUNREACH",
  "EPIPE",
  "ETIMEDOUT",
  "UND_ERR_SOCKET",
  "UND_ERR_CONNECT_TIMEOUT",
  "UND_ERR_HEADERS_TIMEOUT",
];

/**
 * Sends a body, again where the receiver is not reached, is busy or fails. A webhook that has a secret is signed as
 * Standard Webhooks says: `webhook-id`, `webhook-timestamp`, `webhook-signature`. No redirect is followed.
 *
 * @param id the same for every attempt, so that a receiver knows what it has already.
 * @returns undefined when it was taken; else why not, a sentence that names no address.
 */
export async function deliver(
  { url, name, secret }: Receiver,
  id: string,
  body: string,
  { signal, retryMs = 500, attemptMs = 5_000 }: DeliverOptions,
): Promise<string | undefined> {
  const undici = await import("undici");
  const dispatcher = defaultDispatcher(url.href, undici).compose(
    undici.interceptors.retry({
      methods: ["POST"],
      maxRetries: ATTEMPTS - 1,
      minTimeout: retryMs,
      maxTimeout: 8 * retryMs,
      statusCodes: [408, 429, 500, 502, 503, 504],
      errorCodes: AGAIN,
    }),
  );
  try {
    const { statusCode, body: answer } = await undici.request(url, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        "user-agent": "pulumi-email-security",
        "webhook-id": id,
        ...signed(id, body, secret),
      },
      body,
      signal,
      headersTimeout: attemptMs,
      bodyTimeout: attemptMs,
      dispatcher,
    });
    await answer.dump({ limit: 65_536 });
    return statusCode >= 200 && statusCode < 300 ? undefined : `${name} answered ${statusCode}`;
  } catch (error) {
    if (signal.aborted) return `${name} took too long`;
    const { statusCode, code } = error as { readonly statusCode?: number; readonly code?: string };
    // Its words may hold the address, and with it the secret.
    return statusCode === undefined
      ? `${name} was not reached (${code ?? "no connection"})`
      : `${name} answered ${statusCode}`;
  } finally {
    await dispatcher.destroy().catch(() => {});
  }
}

function signed(id: string, body: string, secret: Uint8Array | undefined): Record<string, string> {
  const timestamp = String(Math.floor(Date.now() / 1_000));
  if (secret === undefined) return { "webhook-timestamp": timestamp };
  const signature = createHmac("sha256", secret).update(`${id}.${timestamp}.${body}`).digest("base64");
  return { "webhook-timestamp": timestamp, "webhook-signature": `v1,${signature}` };
}

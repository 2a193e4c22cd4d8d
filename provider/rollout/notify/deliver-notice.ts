import { createHmac } from "node:crypto";
import { buildServiceError } from "../../client/build-service-error";
import { getErrorCode, observeConnectionFailure } from "../../client/connection-failure";
import { loadDispatcher } from "../../client/dispatcher";
import { exchange } from "../../client/http-exchange";
import { isSuccessStatus } from "../../client/parse-response";
import { RequestScheduler } from "../../client/request-scheduler";
import { classifyResponse, type ResponseObservation } from "../../client/response-classification";
import { createAbortableTime, type Time } from "../../client/time";
import type { Receiver } from "./receivers";

export interface DeliverNoticeOptions {
  readonly signal: AbortSignal;
  /** The timeout of one attempt, in milliseconds. Default: 5,000. */
  readonly attemptTimeoutMs?: number;
  /** The clock and timers. Default: the process's own. */
  readonly time?: Time;
}

/** A receiver's restart takes longer than that of a service behind a load balancer. */
const RETRIES = { maxAttempts: 5, baseDelayMs: 500 };

/**
 * Sends a body, with retries by the client's policy. A webhook with a secret is signed by the Standard Webhooks specification:
 * `webhook-id`, `webhook-timestamp`, `webhook-signature`. Redirects are not followed.
 *
 * @param id the same for every attempt, so that a receiver can drop duplicates.
 * @returns undefined if the receiver accepted it, otherwise the reason: a sentence without the address.
 */
export async function deliverNotice(
  { url, name, secret }: Receiver,
  id: string,
  body: string,
  { signal, attemptTimeoutMs = 5_000, time = createAbortableTime(signal) }: DeliverNoticeOptions,
): Promise<string | undefined> {
  const dispatcher = await loadDispatcher(url.href);
  // The path is secret too.
  const request = { method: "POST", path: "" };
  const headers = {
    "content-type": "application/json",
    "user-agent": "pulumi-email-security",
    "webhook-id": id,
    ...buildSignatureHeaders(id, body, secret),
  };
  const options = {
    origin: url.origin,
    path: `${url.pathname}${url.search}`,
    method: "POST",
    headers,
    body,
  } as const;
  let problem = "";
  const toFailure = (observation: ResponseObservation, reason: string): Error => {
    problem = `${name} ${reason}`;
    // A duplicate notice with the same id is better than none.
    const classification = { ...classifyResponse(observation), outcomeUnknown: false };
    return buildServiceError(classification, problem, { request });
  };
  const attempt = async (): Promise<void> => {
    signal.throwIfAborted();
    const limits = { timeoutMs: attemptTimeoutMs, maxBytes: 65_536, signal };
    const response = await exchange(dispatcher, options, limits).catch((error: unknown) => {
      throw toFailure(
        observeConnectionFailure(error),
        `could not be reached (${getErrorCode(error) || "no response"})`,
      );
    });
    const { status } = response;
    if (!isSuccessStatus(status)) throw toFailure(response, `returned ${status}`);
  };
  try {
    const scheduler = new RequestScheduler({ time, retries: true, timeoutMs: attemptTimeoutMs, ...RETRIES });
    await scheduler.send({ request, requestText: name, kind: "write" }, attempt);
    return undefined;
  } catch {
    return signal.aborted ? `${name} took too long` : problem;
  } finally {
    await dispatcher.destroy().catch(() => {});
  }
}

function buildSignatureHeaders(id: string, body: string, secret: Uint8Array | undefined): Record<string, string> {
  const timestamp = String(Math.floor(Date.now() / 1_000));
  if (secret === undefined) return { "webhook-timestamp": timestamp };
  const signature = createHmac("sha256", secret).update(`${id}.${timestamp}.${body}`).digest("base64");
  return { "webhook-timestamp": timestamp, "webhook-signature": `v1,${signature}` };
}

import type { Dispatcher } from "undici";
import { expect, it } from "vitest";
import { type ServiceError, SettingsClient } from "../../../provider/client";
import {
  classifyResponse,
  FAILURE_SCOPES,
  getScopeByCode,
  type ResponseClass,
  type ResponseObservation,
} from "../../../provider/client/response-classification";
import { getFailureHandling, MAX_ATTEMPTS, MAX_RATE_LIMITED_ATTEMPTS } from "../../../provider/client/retry-policy";
import { EmailSecurityError } from "../../../provider/model/email-security-error";
import { BulkRunner } from "../../../provider/resources/lifecycle/best-effort-runner";
import { deliverNotice } from "../../../provider/rollout/notify/deliver-notice";
import { getReceivers } from "../../../provider/rollout/notify/receivers";
import { AddressHealth, isAddressWideFailure } from "../../../provider/rollout/probing/address-health";
import { resolveOutcome } from "../../../provider/tenant/resolve-outcome";
import { buildTarget } from "../../support/rollout-target";
import { VirtualTime } from "../../support/virtual-time";
import { startHook } from "../../support/webhook-receiver";

/** One response, or the connection's failure in place of one. */
interface TestResponse {
  /** The expected classification. */
  readonly is: ResponseObservation;
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /**
   * The error code with which the connection fails after the given part of the response; with `silence`, the response
   * never ends.
   */
  readonly broken?: string;
}

const JSON_TYPE = { "content-type": "application/json" };

const HTML_TYPE = { "content-type": "text/html" };
const SUCCESS = { status: 200, headers: JSON_TYPE };
const buildStatusResponse = (code: number, headers: TestResponse["headers"] = {}): TestResponse => ({
  is: { status: code, headers },
  status: code,
  headers: { ...JSON_TYPE, ...headers },
  body: '{"error":"it says so."}',
});
const buildFailureResponse = (code: string): TestResponse => ({ is: { failure: code }, broken: code });

const RESPONSES: Readonly<Record<string, TestResponse>> = {
  ...Object.fromEntries(
    [301, 307, 400, 401, 403, 404, 405, 408, 409, 410, 422, 429, 500, 501, 502, 503, 504, 507, 599].map((code) => [
      String(code),
      buildStatusResponse(code),
    ]),
  ),
  ...Object.fromEntries(
    [302, 404, 408, 429, 501, 503].map((code) => [
      `${code} with Retry-After`,
      buildStatusResponse(code, { "retry-after": "5" }),
    ]),
  ),
  "502 with HTML": { ...buildStatusResponse(502, HTML_TYPE), body: "<!doctype html>" },
  "503 that breaks off": { ...buildStatusResponse(503), body: "{", broken: "ECONNRESET" },
  "200 without a body": { is: { body: "empty" }, ...SUCCESS, body: "" },
  "200 with HTML": { is: { body: "html" }, ...SUCCESS, headers: HTML_TYPE, body: "<!doctype html>" },
  "200 with another type": {
    is: { body: "content type" },
    status: 200,
    body: "OK",
    headers: { "content-type": "text/plain" },
  },
  "200 in another encoding": {
    is: { body: "content type" },
    status: 200,
    body: "?",
    headers: { ...JSON_TYPE, "content-encoding": "br" },
  },
  "200 with broken JSON": { is: { body: "truncated" }, ...SUCCESS, body: '{"results": ' },
  "200 that breaks off": { is: { body: "truncated" }, ...SUCCESS, body: '{"re', broken: "ECONNRESET" },
  "200 of another shape": { is: { body: "shape" }, ...SUCCESS, body: '{"status":200,"data":[]}' },
  "200 in another envelope": {
    is: { body: "envelope" },
    ...SUCCESS,
    body: '{"status":"ok","results":{"items":[],"pagination":{"page":1,"per_page":1,"total":0,"total_pages":0}}}',
  },
  "200 that is too large": { is: { body: "too large" }, ...SUCCESS, body: " ".repeat(2_000) },
  silence: { is: { failure: "timeout" }, broken: "silence" },
  ...Object.fromEntries(
    [
      ...["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN", "EHOSTUNREACH", "ENETUNREACH", "UND_ERR_CONNECT_TIMEOUT"],
      ...["ECONNRESET", "EPIPE", "ETIMEDOUT", "UND_ERR_SOCKET", "EHOSTDOWN", "ENETDOWN"],
      ...["CERT_HAS_EXPIRED", "DEPTH_ZERO_SELF_SIGNED_CERT", "ERR_SSL_WRONG_VERSION_NUMBER"],
    ].map((code) => [code, buildFailureResponse(code)]),
  ),
  "a proxy's 407": {
    is: { failure: "proxy 4xx" },
    broken: "Proxy response (407) !== 200 when HTTP Tunneling",
  },
  "a proxy's 503": {
    is: { failure: "proxy 5xx" },
    broken: "Proxy response (503) !== 200 when HTTP Tunneling",
  },
};

/** Gives every request the same answer. */
function createFixedDispatcher({ status, headers = {}, body = "", broken }: TestResponse) {
  const sent: string[] = [];
  const dispatcher = {
    dispatch(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): boolean {
      sent.push(options.method);
      let isOver = false;
      const failResponse = (error: Error): void => {
        if (!isOver) handler.onResponseError?.(controller, error);
        isOver = true;
      };
      const controller = { abort: failResponse } as unknown as Dispatcher.DispatchController;
      handler.onRequestStart?.(controller, {});
      setImmediate(() => {
        if (status !== undefined) {
          handler.onResponseStart?.(controller, status, headers);
          handler.onResponseData?.(controller, Buffer.from(body));
        }
        if (broken === undefined && !isOver) handler.onResponseEnd?.(controller, {});
        else if (broken !== "silence") {
          const isCode = /^[A-Z_]+$/.test(broken ?? "");
          failResponse(Object.assign(new Error(isCode ? "it failed" : broken), isCode ? { code: broken } : {}));
        }
      });
      return true;
    },
    close: async () => {},
  } as unknown as Dispatcher;
  return { sent, dispatcher };
}

const CALLS = {
  GET: (client: SettingsClient) => client.allowDenyEntries.list({ list: "deny" }),
  PATCH: (client: SettingsClient) => client.allowDenyEntries.update("ade_1", { comment: "x" }),
  DELETE: (client: SettingsClient) => client.allowDenyEntries.delete("ade_1"),
  POST: (client: SettingsClient) =>
    client.allowDenyEntries.create({ list: "deny", entry_type: "domain", value: "evil.example" }),
};
type CallMethod = keyof typeof CALLS;
const METHODS = Object.keys(CALLS) as CallMethod[];

/** Returns the result of a call, and the pauses that its client asked of others. */
async function sendRequest(response: TestResponse, method: CallMethod, times = 1) {
  const { sent: requests, dispatcher } = createFixedDispatcher(response);
  const time = new VirtualTime();
  const pauses: number[] = [];
  const client = new SettingsClient({
    baseUrl: "https://mail-security.example",
    apiKey: "key",
    dispatcher,
    time,
    retries: times === 1,
    // Only a missing response may hit the timeout: on a busy machine, even a present one takes longer than 5 ms.
    timeoutMs: response.broken === "silence" ? 5 : 10_000,
    maxResponseBytes: 1_000,
    limiter: { acquire: async () => {}, reportThrottled: (ms) => void pauses.push(ms) },
  });
  let error: ServiceError | undefined;
  for (let call = 0; call < times; call += 1) {
    await CALLS[method](client).catch((thrown: ServiceError) => {
      error = thrown;
    });
  }
  await client.close();
  if (error === undefined) throw new Error("it succeeded");
  return { error, requests: requests.length, firstPauseMs: pauses[0] };
}

/**
 * Returns the client's decisions: the number of attempts, whether the outcome is unknown, whether other requests wait,
 * and whether it stops sending.
 */
async function observeClient(response: TestResponse) {
  const attempts: Record<string, string> = {};
  for (const method of METHODS) {
    const { error, requests } = await sendRequest(response, method);
    attempts[method] = `${requests} ${error.outcomeUnknown ? "unknown" : "known"}`;
  }
  const { error, firstPauseMs } = await sendRequest(response, "GET");
  const { error: last } = await sendRequest(response, "GET", 7);
  return { code: error.code, attempts, pauseMs: firstPauseMs, isBroken: last.code === "ERR_CIRCUIT_OPEN" };
}

/** Returns whether the list is read to verify an addition. */
async function detectOutcomeCheck(error: ServiceError): Promise<boolean> {
  let isRead = false;
  await resolveOutcome({
    write: () => Promise.reject(error),
    readOutcome: async () => {
      isRead = true;
      return "done";
    },
    canRetry: () => false,
  }).catch(() => {});
  return isRead;
}

/**
 * Returns whether other tenants of the address are probed, for the error itself and for its code alone, and whether the
 * address then counts as reachable.
 */
async function observeAddressHealth(error: EmailSecurityError) {
  const detectProbe = async (failure: EmailSecurityError): Promise<boolean> => {
    let isProbed = false;
    const recordProbe = async (): Promise<void> => {
      isProbed = true;
    };
    const health = new AddressHealth({ probe: recordProbe });
    health.recordOutcome(buildTarget("a"), failure);
    await health.assertReachable(buildTarget("b"));
    return isProbed;
  };
  const health = new AddressHealth({ probe: () => Promise.reject(error) });
  await health.run(buildTarget("a"), () => Promise.reject(error)).catch(() => {});
  return {
    isProbed: await detectProbe(error),
    isProbedByCode: await detectProbe(new EmailSecurityError(error.code, "as the engine tells it")),
    isDown: health.isDown(buildTarget("a")),
    isUnreachable: isAddressWideFailure(error),
  };
}

/** Returns the number of consecutive failures after which the rest of a list is not attempted. */
async function listDecides(error: ServiceError): Promise<number | undefined> {
  const all = new BulkRunner<number>({ concurrency: 1 });
  let attempts = 0;
  const failAttempt = (): Promise<void> => {
    attempts += 1;
    return Promise.reject(error);
  };
  await all.run(
    Array.from({ length: 12 }, (_, index) => index),
    failAttempt,
  );
  return attempts === 12 ? undefined : attempts;
}

/** Returns the number of attempts of a request. */
function getExpectedAttempts(responseClass: ResponseClass, method: string, most: number): number {
  if (getFailureHandling(responseClass, method) !== "retry") return 1;
  return responseClass.scope === "rate limit" ? MAX_RATE_LIMITED_ATTEMPTS : most;
}

it.each(Object.entries(RESPONSES))("handles each response as its class prescribes: %s", async (_name, response) => {
  const { is } = response;
  const responseClass = classifyResponse(is);
  const effects = FAILURE_SCOPES[responseClass.scope];
  const isEmpty = "body" in is && is.body === "empty";
  const attempts = METHODS.map((method) => {
    const own = isEmpty && method === "DELETE" ? classifyResponse({ body: "empty deletion" }) : responseClass;
    const outcome = method !== "GET" && own.outcomeUnknown ? "unknown" : "known";
    return [method, `${getExpectedAttempts(own, method, MAX_ATTEMPTS)} ${outcome}`];
  });
  expect(await observeClient(response)).toEqual({
    code: responseClass.code,
    attempts: Object.fromEntries(attempts),
    pauseMs: responseClass.retryAfterMs ?? (responseClass.scope === "rate limit" ? 250 : undefined),
    isBroken: effects.isBreakerFailure === true,
  });
  const { error } = await sendRequest(response, "GET");
  const { error: postError } = await sendRequest(response, "POST");
  expect(await detectOutcomeCheck(postError)).toBe(responseClass.outcomeUnknown);
  const scope = getScopeByCode(responseClass.code);
  const isShared = effects.isSharedByAddress === true;
  expect(await observeAddressHealth(error)).toEqual({
    isProbed: isShared,
    isProbedByCode: scope !== undefined && FAILURE_SCOPES[scope].isSharedByAddress === true,
    isDown: isShared,
    isUnreachable: isShared,
  });
  expect(await listDecides(postError)).toBe(effects.maxConsecutiveFailures);
});

it("retries notices as the response class prescribes", async () => {
  for (const code of [301, 400, 401, 403, 404, 408, 409, 422, 429, 500, 501, 502, 503, 504, 507, 0]) {
    await using hook = await startHook(Array(9).fill(code));
    const [receiver] = getReceivers(undefined, { EMAIL_SECURITY_NOTIFY_SLACK: hook.url });
    const options = { signal: new AbortController().signal, attemptTimeoutMs: 60_000, time: new VirtualTime() };
    const problem = receiver && (await deliverNotice(receiver, "1", "{}", options));
    const responseClass = classifyResponse(code === 0 ? { failure: "ECONNRESET" } : { status: code });
    expect([code, hook.received.length]).toEqual([
      code,
      getExpectedAttempts({ ...responseClass, outcomeUnknown: false }, "POST", 5),
    ]);
    expect(problem).toBe(code === 0 ? "slack could not be reached (UND_ERR_SOCKET)" : `slack returned ${code}`);
  }
});

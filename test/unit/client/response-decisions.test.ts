import type { Dispatcher } from "undici";
import { expect, it } from "vitest";
import { type ServiceError, SettingsClient } from "../../../provider/client";
import { AttemptAll } from "../../../provider/resources/lifecycle/attempt-all";
import { AddressHealth, isOfAddress } from "../../../provider/rollout/asking/address-health";
import { deliver } from "../../../provider/rollout/notify/deliver";
import { receiversOf } from "../../../provider/rollout/notify/receivers";
import { EmailSecurityError } from "../../../provider/settings/email-security-error";
import { withKnownOutcome } from "../../../provider/tenant/known-outcome";
import { startHook } from "../../support/hook";
import { target } from "../../support/rollout-target";
import { VirtualTime } from "../../support/virtual-time";

/** One response, or the connection's failure in place of one. */
interface Response {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** The code of the failure after this much of a response; `silence` is none at all. */
  readonly broken?: string;
}

const JSON_TYPE = { "content-type": "application/json" };

const RESPONSES: Readonly<Record<string, Response>> = {
  ...Object.fromEntries(
    [301, 307, 400, 401, 403, 404, 405, 408, 409, 410, 422, 429, 500, 501, 502, 503, 504, 507, 599].map(
      (status) => [String(status), { status, headers: JSON_TYPE, body: '{"error":"it says so."}' }],
    ),
  ),
  ...Object.fromEntries(
    [404, 408, 429, 501, 503].map((status) => [
      `${status} with Retry-After`,
      { status, headers: { ...JSON_TYPE, "retry-after": "5" }, body: "" },
    ]),
  ),
  "502 with HTML": { status: 502, headers: { "content-type": "text/html" }, body: "<!doctype html>" },
  "503 that breaks off": { status: 503, headers: JSON_TYPE, body: "{", broken: "ECONNRESET" },
  "200 without a body": { status: 200, headers: JSON_TYPE, body: "" },
  "200 with HTML": { status: 200, headers: { "content-type": "text/html" }, body: "<!doctype html>" },
  "200 with another type": { status: 200, headers: { "content-type": "text/plain" }, body: "OK" },
  "200 in another encoding": { status: 200, headers: { ...JSON_TYPE, "content-encoding": "br" }, body: "?" },
  "200 with broken JSON": { status: 200, headers: JSON_TYPE, body: '{"results": ' },
  "200 that breaks off": { status: 200, headers: JSON_TYPE, body: '{"re', broken: "ECONNRESET" },
  "200 of another shape": { status: 200, headers: JSON_TYPE, body: '{"status":200,"data":[]}' },
  "200 in another envelope": {
    status: 200,
    headers: JSON_TYPE,
    body: '{"status":"ok","results":{"items":[],"pagination":{"page":1,"per_page":1,"total":0,"total_pages":0}}}',
  },
  "200 that is too large": { status: 200, headers: JSON_TYPE, body: " ".repeat(2_000) },
  silence: { broken: "silence" },
  ...Object.fromEntries(
    [
      ...["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN", "EHOSTUNREACH", "ENETUNREACH", "UND_ERR_CONNECT_TIMEOUT"],
      ...["ECONNRESET", "EPIPE", "ETIMEDOUT", "UND_ERR_SOCKET", "EHOSTDOWN", "ENETDOWN"],
      ...["CERT_HAS_EXPIRED", "DEPTH_ZERO_SELF_SIGNED_CERT", "ERR_SSL_WRONG_VERSION_NUMBER"],
    ].map((code) => [code, { broken: code }]),
  ),
  "a proxy's 407": { broken: "Proxy response (407) !== 200 when HTTP Tunneling" },
  "a proxy's 503": { broken: "Proxy response (503) !== 200 when HTTP Tunneling" },
};

/** Answers every request the same. */
function answering({ status, headers = {}, body = "", broken }: Response) {
  const sent: string[] = [];
  const dispatcher = {
    dispatch(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): boolean {
      sent.push(options.method);
      let isOver = false;
      const failed = (error: Error): void => {
        if (!isOver) handler.onResponseError?.(controller, error);
        isOver = true;
      };
      const controller = { abort: failed } as unknown as Dispatcher.DispatchController;
      handler.onRequestStart?.(controller, {});
      setImmediate(() => {
        if (status !== undefined) {
          handler.onResponseStart?.(controller, status, headers);
          handler.onResponseData?.(controller, Buffer.from(body));
        }
        if (broken === undefined && !isOver) handler.onResponseEnd?.(controller, {});
        else if (broken !== "silence") {
          const isCode = /^[A-Z_]+$/.test(broken ?? "");
          failed(Object.assign(new Error(isCode ? "it failed" : broken), isCode ? { code: broken } : {}));
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
type Method = keyof typeof CALLS;

/** What one call comes to, and what its client asked others to wait for meanwhile. */
async function sent(response: Response, method: Method, times = 1) {
  const { sent: requests, dispatcher } = answering(response);
  const time = new VirtualTime();
  const pauses: number[] = [];
  const client = new SettingsClient({
    baseUrl: "https://mail-security.example",
    apiKey: "key",
    dispatcher,
    time,
    retries: times === 1,
    timeoutMs: 5,
    maxResponseBytes: 1_000,
    permits: { take: async () => {}, refused: (ms) => void pauses.push(ms) },
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

/** The client: how often it sends, whether the outcome is unknown, whether the others wait, whether it stops sending. */
async function clientDecides(response: Response): Promise<string> {
  const methods: string[] = [];
  for (const method of Object.keys(CALLS) as Method[]) {
    const { error, requests } = await sent(response, method);
    methods.push(`${method} ${requests}${error.outcomeUnknown ? "?" : ""}`);
  }
  const { error, firstPauseMs } = await sent(response, "GET");
  const { error: last } = await sent(response, "GET", 7);
  const pause = firstPauseMs === undefined ? "" : `, all wait ${firstPauseMs} ms`;
  return `${error.code}: ${methods.join(", ")}${pause}, circuit ${last.code === "ERR_CIRCUIT_OPEN" ? "open" : "closed"}`;
}

/** Whether the list is read to see what came of an addition. */
async function outcomeCheckDecides({ error }: { readonly error: ServiceError }): Promise<string> {
  let isRead = false;
  await withKnownOutcome({
    write: () => Promise.reject(error),
    look: async () => {
      isRead = true;
      return "done";
    },
    mayRepeat: () => false,
  }).catch(() => {});
  return isRead ? "looked up" : "told";
}

/** Whether others of the address are asked, by the error itself and by its code alone, and whether the address is known to answer. */
async function addressHealthDecides(error: EmailSecurityError): Promise<string> {
  const asked = async (failure: EmailSecurityError): Promise<boolean> => {
    let isAsked = false;
    const look = async (): Promise<void> => {
      isAsked = true;
    };
    const health = new AddressHealth({ look });
    health.learned(target("a"), failure);
    await health.ensureAnswers(target("b"));
    return isAsked;
  };
  const health = new AddressHealth({ look: () => Promise.reject(error) });
  await health.ask(target("a"), () => Promise.reject(error)).catch(() => {});
  const isKnown = health.isDown(target("a"))
    ? "down"
    : await health.ask(target("b"), async (one) => (one.isKnown ? "up" : "not known"));
  const byCode = await asked(new EmailSecurityError(error.code, "as the engine tells it"));
  const own = await asked(error);
  return `address ${isKnown}${own ? ", others asked" : ""}${own === byCode ? "" : byCode ? ", by code asked" : ", by code not"}${isOfAddress(error) ? "" : ", unusable"}`;
}

/** After how many failures in a row the rest of a list is left. */
async function listDecides(error: ServiceError): Promise<string> {
  const all = new AttemptAll<number>({ atATime: 1 });
  let attempts = 0;
  const work = (): Promise<void> => {
    attempts += 1;
    return Promise.reject(error);
  };
  await all.all(
    Array.from({ length: 12 }, (_, at) => at),
    work,
  );
  return attempts === 12 ? "the rest goes on" : `given up after ${attempts}`;
}

async function decisions(): Promise<string[]> {
  const lines: string[] = [];
  for (const [name, response] of Object.entries(RESPONSES)) {
    const { error } = await sent(response, "GET");
    const { error: ofPost } = await sent(response, "POST");
    const parts = [
      await clientDecides(response),
      await outcomeCheckDecides({ error: ofPost }),
      await addressHealthDecides(error),
      await listDecides(ofPost),
    ];
    lines.push(`${name} | ${parts.join(" | ")}`);
  }
  return lines;
}

it("holds what each consumer decides about a response", async () => {
  expect((await decisions()).join("\n")).toMatchInlineSnapshot(`
    "301 | ERR_REDIRECT: GET 1, PATCH 1, DELETE 1, POST 1, circuit open | told | address up, unusable | the rest goes on
    307 | ERR_REDIRECT: GET 1, PATCH 1, DELETE 1, POST 1, circuit open | told | address up, unusable | the rest goes on
    400 | ERR_BAD_REQUEST: GET 1, PATCH 1, DELETE 1, POST 1, circuit closed | told | address up, unusable | the rest goes on
    401 | ERR_AUTH: GET 1, PATCH 1, DELETE 1, POST 1, circuit closed | told | address up, unusable | given up after 1
    403 | ERR_AUTH: GET 1, PATCH 1, DELETE 1, POST 1, circuit closed | told | address up, unusable | given up after 1
    404 | ERR_NOT_FOUND: GET 1, PATCH 1, DELETE 1, POST 1, circuit closed | told | address up, unusable | the rest goes on
    405 | ERR_UNEXPECTED_STATUS: GET 1, PATCH 1, DELETE 1, POST 1, circuit closed | told | address up, unusable | the rest goes on
    408 | ERR_UNEXPECTED_STATUS: GET 4, PATCH 4?, DELETE 4?, POST 1?, circuit open | looked up | address down, others asked, by code not | given up after 10
    409 | ERR_CONFLICT: GET 1, PATCH 1, DELETE 1, POST 1, circuit closed | told | address up, unusable | the rest goes on
    410 | ERR_UNEXPECTED_STATUS: GET 1, PATCH 1, DELETE 1, POST 1, circuit closed | told | address up, unusable | the rest goes on
    422 | ERR_UNEXPECTED_STATUS: GET 1, PATCH 1, DELETE 1, POST 1, circuit closed | told | address up, unusable | the rest goes on
    429 | ERR_RATE_LIMITED: GET 8, PATCH 8, DELETE 8, POST 8, all wait 250 ms, circuit closed | told | address down, others asked | given up after 10
    500 | ERR_SERVER: GET 4, PATCH 4?, DELETE 4?, POST 1?, circuit open | looked up | address down, others asked | given up after 10
    501 | ERR_SERVER: GET 1, PATCH 1?, DELETE 1?, POST 1?, circuit open | looked up | address down, others asked | given up after 10
    502 | ERR_SERVER: GET 4, PATCH 4?, DELETE 4?, POST 1?, circuit open | looked up | address down, others asked | given up after 10
    503 | ERR_SERVER: GET 4, PATCH 4?, DELETE 4?, POST 1?, circuit open | looked up | address down, others asked | given up after 10
    504 | ERR_SERVER: GET 4, PATCH 4?, DELETE 4?, POST 1?, circuit open | looked up | address down, others asked | given up after 10
    507 | ERR_SERVER: GET 1, PATCH 1?, DELETE 1?, POST 1?, circuit open | looked up | address down, others asked | given up after 10
    599 | ERR_SERVER: GET 1, PATCH 1?, DELETE 1?, POST 1?, circuit open | looked up | address down, others asked | given up after 10
    404 with Retry-After | ERR_NOT_FOUND: GET 1, PATCH 1, DELETE 1, POST 1, circuit closed | told | address up, unusable | the rest goes on
    408 with Retry-After | ERR_UNEXPECTED_STATUS: GET 4, PATCH 4?, DELETE 4?, POST 1?, all wait 5000 ms, circuit open | looked up | address down, others asked, by code not | given up after 10
    429 with Retry-After | ERR_RATE_LIMITED: GET 8, PATCH 8, DELETE 8, POST 8, all wait 5000 ms, circuit closed | told | address down, others asked | given up after 10
    501 with Retry-After | ERR_SERVER: GET 1, PATCH 1?, DELETE 1?, POST 1?, all wait 5000 ms, circuit open | looked up | address down, others asked | given up after 10
    503 with Retry-After | ERR_SERVER: GET 4, PATCH 4?, DELETE 4?, POST 1?, all wait 5000 ms, circuit open | looked up | address down, others asked | given up after 10
    502 with HTML | ERR_SERVER: GET 4, PATCH 4?, DELETE 4?, POST 1?, circuit open | looked up | address down, others asked | given up after 10
    503 that breaks off | ERR_SERVER: GET 4, PATCH 4?, DELETE 4?, POST 1?, circuit open | looked up | address down, others asked | given up after 10
    200 without a body | ERR_EMPTY_BODY: GET 1, PATCH 1?, DELETE 4?, POST 1?, circuit open | looked up | address up, unusable | the rest goes on
    200 with HTML | ERR_HTML_RESPONSE: GET 1, PATCH 1?, DELETE 1?, POST 1?, circuit open | looked up | address up, unusable | the rest goes on
    200 with another type | ERR_CONTENT_TYPE: GET 1, PATCH 1?, DELETE 1?, POST 1?, circuit open | looked up | address up, unusable | the rest goes on
    200 in another encoding | ERR_CONTENT_TYPE: GET 1, PATCH 1?, DELETE 1?, POST 1?, circuit open | looked up | address up, unusable | the rest goes on
    200 with broken JSON | ERR_BROKEN_BODY: GET 4, PATCH 4?, DELETE 4?, POST 1?, circuit open | looked up | address down, others asked | given up after 10
    200 that breaks off | ERR_BROKEN_BODY: GET 4, PATCH 4?, DELETE 4?, POST 1?, circuit open | looked up | address down, others asked | given up after 10
    200 of another shape | ERR_INVALID_RESPONSE: GET 1, PATCH 1?, DELETE 1?, POST 1?, circuit open | looked up | address up, unusable | the rest goes on
    200 in another envelope | ERR_WRONG_ENVELOPE: GET 1, PATCH 1?, DELETE 1?, POST 1?, circuit open | looked up | address up, unusable | the rest goes on
    200 that is too large | ERR_RESPONSE_TOO_LARGE: GET 1, PATCH 1?, DELETE 1?, POST 1?, circuit open | looked up | address up, unusable | the rest goes on
    silence | ERR_TIMEOUT: GET 4, PATCH 4?, DELETE 4?, POST 1?, circuit open | looked up | address down, others asked | given up after 10
    ECONNREFUSED | ERR_NETWORK: GET 4, PATCH 4, DELETE 4, POST 4, circuit open | told | address down, others asked | given up after 10
    ENOTFOUND | ERR_NETWORK: GET 4, PATCH 4, DELETE 4, POST 4, circuit open | told | address down, others asked | given up after 10
    EAI_AGAIN | ERR_NETWORK: GET 4, PATCH 4, DELETE 4, POST 4, circuit open | told | address down, others asked | given up after 10
    EHOSTUNREACH | ERR_NETWORK: GET 4, PATCH 4, DELETE 4, POST 4, circuit open | told | address down, others asked | given up after 10
    ENETUNREACH | ERR_NETWORK: GET 4, PATCH 4, DELETE 4, POST 4, circuit open | told | address down, others asked | given up after 10
    UND_ERR_CONNECT_TIMEOUT | ERR_NETWORK: GET 4, PATCH 4, DELETE 4, POST 4, circuit open | told | address down, others asked | given up after 10
    ECONNRESET | ERR_NETWORK: GET 4, PATCH 4?, DELETE 4?, POST 1?, circuit open | looked up | address down, others asked | given up after 10
    EPIPE | ERR_NETWORK: GET 4, PATCH 4?, DELETE 4?, POST 1?, circuit open | looked up | address down, others asked | given up after 10
    ETIMEDOUT | ERR_NETWORK: GET 4, PATCH 4?, DELETE 4?, POST 1?, circuit open | looked up | address down, others asked | given up after 10
    UND_ERR_SOCKET | ERR_NETWORK: GET 4, PATCH 4?, DELETE 4?, POST 1?, circuit open | looked up | address down, others asked | given up after 10
    EHOSTDOWN | ERR_NETWORK: GET 4, PATCH 4?, DELETE 4?, POST 1?, circuit open | looked up | address down, others asked | given up after 10
    ENETDOWN | ERR_NETWORK: GET 4, PATCH 4?, DELETE 4?, POST 1?, circuit open | looked up | address down, others asked | given up after 10
    CERT_HAS_EXPIRED | ERR_NETWORK: GET 1, PATCH 1, DELETE 1, POST 1, circuit open | told | address down, others asked | given up after 10
    DEPTH_ZERO_SELF_SIGNED_CERT | ERR_NETWORK: GET 1, PATCH 1, DELETE 1, POST 1, circuit open | told | address down, others asked | given up after 10
    ERR_SSL_WRONG_VERSION_NUMBER | ERR_NETWORK: GET 1, PATCH 1, DELETE 1, POST 1, circuit open | told | address down, others asked | given up after 10
    a proxy's 407 | ERR_NETWORK: GET 1, PATCH 1, DELETE 1, POST 1, circuit open | told | address down, others asked | given up after 10
    a proxy's 503 | ERR_NETWORK: GET 4, PATCH 4, DELETE 4, POST 4, circuit open | told | address down, others asked | given up after 10"
  `);
});

it("holds which responses to a notice are retried", async () => {
  const lines: string[] = [];
  for (const status of [301, 400, 401, 403, 404, 408, 409, 422, 429, 500, 501, 502, 503, 504, 507, 0]) {
    await using hook = await startHook(Array(9).fill(status));
    const [receiver] = receiversOf(undefined, { EMAIL_SECURITY_NOTIFY_SLACK: hook.url });
    const options = { signal: new AbortController().signal, attemptMs: 200, time: new VirtualTime() };
    const problem = receiver && (await deliver(receiver, "1", "{}", options));
    lines.push(`${status || "reset"}: ${hook.received.length}, ${problem}`);
  }
  expect(lines.join("\n")).toMatchInlineSnapshot(`
    "301: 1, slack answered 301
    400: 1, slack answered 400
    401: 1, slack answered 401
    403: 1, slack answered 403
    404: 1, slack answered 404
    408: 5, slack answered 408
    409: 1, slack answered 409
    422: 1, slack answered 422
    429: 8, slack answered 429
    500: 5, slack answered 500
    501: 1, slack answered 501
    502: 5, slack answered 502
    503: 5, slack answered 503
    504: 5, slack answered 504
    507: 1, slack answered 507
    reset: 5, slack was not reached (UND_ERR_SOCKET)"
  `);
});

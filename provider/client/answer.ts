import { z } from "zod";
import { RATE_LIMIT_STATUSES } from "../settings/assumptions";
import { excerpt, quote } from "../settings/text";
import type { ApiKey } from "./api-key";
import { type Envelope, envelopeMismatch, tooManyItems } from "./envelope";
import {
  AuthenticationError,
  BadRequestError,
  BrokenBodyError,
  ConflictError,
  ContentTypeError,
  EmptyBodyError,
  HtmlResponseError,
  InvalidResponseError,
  NotFoundError,
  RateLimitedError,
  RedirectError,
  type RequestFacts,
  ResponseTooLargeError,
  ServerError,
  type ServiceError,
  type ServiceErrorOptions,
  UnexpectedStatusError,
  WrongEnvelopeError,
} from "./errors";
import { parseJson, TooManyValuesError } from "./json";
import { describeWait, retryAfterMs } from "./retry-after";
import { DEADLINE_MS } from "./retry-policy";

/** An HTTP answer, as far as it came. */
export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;
}

/** What an answer is read with. */
export interface Reading<T> {
  readonly request: RequestFacts;
  /** The request as a message names it. */
  readonly what: string;
  readonly key: ApiKey;
  readonly envelope: Envelope;
  readonly answer: z.ZodType<T>;
  /** What may be wrong with the service's address, where something else than the service answers. Default: nothing. */
  readonly addressHint?: string | undefined;
}

/**
 * What an answer says: the content of a success, checked against the reference, or an error of the class that its
 * status or its shape calls for.
 *
 * @throws {ServiceError} one class a kind of failure.
 */
export function readAnswer<T>(answer: Answer, reading: Reading<T>): T {
  if (!isSuccess(answer.status)) throw refusal(answer, reading);
  // Some services answer a deletion with nothing: 204 says it all.
  const isBare = reading.request.method === "DELETE" && answer.status === 204;
  const parsed = isBare ? { results: {} } : parse(answer, reading);
  // A service may tell who made something by the key that made it.
  const body = reading.key.isIn(answer.text) ? (reading.key.removedFromBody(parsed) ?? parsed) : parsed;
  const wrong = (Class: typeof InvalidResponseError, code: string, how: string): InvalidResponseError => {
    const serviceMessage = wordsOf(body, reading.key);
    const told = serviceMessage === undefined ? "" : `; it says: ${serviceMessage}`;
    return new Class(code, `${reading.what} answered ${answer.status}, but ${how}${told}`, {
      request: reading.request,
      status: answer.status,
      serviceMessage,
      body: reading.key.removedFromBody(body),
      outcomeUnknown: isWrite(reading.request),
    });
  };
  const mismatch = envelopeMismatch(reading.envelope, body);
  if (mismatch !== undefined) throw wrong(WrongEnvelopeError, "ERR_WRONG_ENVELOPE", mismatch);
  const tooMany = tooManyItems(reading.envelope, body);
  if (tooMany !== undefined) throw wrong(ResponseTooLargeError, "ERR_RESPONSE_TOO_LARGE", tooMany);
  const checked = reading.answer.safeParse(body);
  if (checked.success) return checked.data;
  const how = `its body is not what the reference says: ${explain(checked.error)}`;
  throw wrong(InvalidResponseError, "ERR_INVALID_RESPONSE", how);
}

export function isSuccess(status: number): boolean {
  return status >= 200 && status <= 299;
}

export function isWrite(request: RequestFacts): boolean {
  return request.method !== "GET";
}

function parse(answer: Answer, reading: Reading<unknown>): unknown {
  const { text } = answer;
  const contentType = header(answer, "content-type") ?? "";
  const fail = (Class: typeof InvalidResponseError, code: string, how: string): InvalidResponseError =>
    new Class(code, `${reading.what} answered ${answer.status} with ${how}`, {
      request: reading.request,
      status: answer.status,
      outcomeUnknown: isWrite(reading.request),
      // A deletion answered with an empty 200 is made again: where it was done, that says so.
      isTransient:
        Class === BrokenBodyError || (Class === EmptyBodyError && reading.request.method === "DELETE"),
    });
  if (text.trim() === "") throw fail(EmptyBodyError, "ERR_EMPTY_BODY", "an empty body where JSON was due");
  // Only told of what fails: it takes longer than the whole rest.
  const shown = () => quote(reading.key.partsRemovedFrom(text), 80);
  if (/\bhtml\b/i.test(contentType) || /^\s*<(!doctype|html)\b/i.test(text)) {
    const advice =
      reading.addressHint ??
      "Is the address that of the service itself, and no sign-in page or proxy in between?";
    throw fail(HtmlResponseError, "ERR_HTML_RESPONSE", `an HTML page instead of JSON: ${shown()}. ${advice}`);
  }
  if (contentType !== "" && !/\bjson\b/i.test(contentType)) {
    const type = quote(reading.key.harmless(contentType), 60);
    throw fail(ContentTypeError, "ERR_CONTENT_TYPE", `content of type ${type} instead of JSON: ${shown()}`);
  }
  try {
    return parseJson(text);
  } catch (error) {
    if (error instanceof TooManyValuesError) {
      const how = `JSON of more than ${error.message}, which is not read: ${shown()}`;
      throw fail(ResponseTooLargeError, "ERR_RESPONSE_TOO_LARGE", how);
    }
    const encoding = header(answer, "content-encoding");
    if (encoding !== undefined) {
      const coding = quote(reading.key.removedFrom(encoding), 60);
      throw fail(
        ContentTypeError,
        "ERR_CONTENT_TYPE",
        `a body encoded as ${coding}, which was not asked for`,
      );
    }
    // The parser's message quotes the body; this says the same in a bounded way.
    throw fail(BrokenBodyError, "ERR_BROKEN_BODY", `JSON that can't be read or breaks off: ${shown()}`);
  }
}

function refusal(answer: Answer, reading: Reading<unknown>): ServiceError {
  const { status } = answer;
  const { what, key, request, addressHint } = reading;
  const body = parsedOrNothing(answer.text);
  const serviceMessage = wordsOf(body, key);
  const told = serviceMessage === undefined ? "" : `: ${serviceMessage}`;
  const stop = /[.!?]$/.test(told) ? "" : ".";
  const message = (advice: string): string => `${what} answered ${status}${told}${stop} ${advice}`;
  const options: ServiceErrorOptions = { request, status, serviceMessage, body: key.removedFromBody(body) };
  if (status >= 300 && status < 400) {
    const location = header(answer, "location");
    const target = location === undefined ? "" : ` to ${quote(key.harmless(location))}`;
    return new RedirectError(
      "ERR_REDIRECT",
      `${what} answered ${status}, a redirect${target}, which is refused because it would carry the API key elsewhere. ${addressHint ?? "Configure the address that answers itself."}`,
      options,
    );
  }
  if (RATE_LIMIT_STATUSES.includes(status)) {
    const waitMs = retryAfterMs(answer);
    const wait = describeWait(waitMs, DEADLINE_MS);
    return new RateLimitedError("ERR_RATE_LIMITED", message(`Too many requests; ${wait}, then run again.`), {
      ...options,
      retryAfterMs: waitMs,
      isTransient: true,
    });
  }
  const known = REFUSALS.get(status);
  if (known !== undefined) {
    const isAddress = status === 404 && addressHint !== undefined;
    const advice = isAddress ? `${known.advice} ${addressHint}` : known.advice;
    return new known.Class(known.code, message(advice), options);
  }
  if (status >= 500) {
    const waitMs = retryAfterMs(answer);
    const isLong = (waitMs ?? 0) > DEADLINE_MS;
    const wait = isLong ? ` First ${describeWait(waitMs, DEADLINE_MS)}.` : "";
    return new ServerError("ERR_SERVER", message(`The service failed; running again is safe.${wait}`), {
      ...options,
      outcomeUnknown: isWrite(request),
      isTransient: TRANSIENT_STATUSES.includes(status),
      retryAfterMs: waitMs,
    });
  }
  const advice = addressHint ?? "The service's reference does not name this status.";
  const isTransient = TRANSIENT_STATUSES.includes(status);
  return new UnexpectedStatusError("ERR_UNEXPECTED_STATUS", message(advice), {
    ...options,
    isTransient,
    outcomeUnknown: isTransient && isWrite(request),
    retryAfterMs: isTransient ? retryAfterMs(answer) : undefined,
  });
}

/** What a service, or a proxy before it, answers when the same request may succeed a moment later. */
const TRANSIENT_STATUSES: readonly number[] = [408, 500, 502, 503, 504];

interface Refusal {
  readonly Class: typeof ServiceError;
  readonly code: string;
  readonly advice: string;
}

const NO_ACCESS: Refusal = {
  Class: AuthenticationError,
  code: "ERR_AUTH",
  advice:
    "The service does not accept this API key here; check the key, and that it belongs to this address and tenant.",
};

const REFUSALS: ReadonlyMap<number, Refusal> = new Map([
  [
    400,
    {
      Class: BadRequestError,
      code: "ERR_BAD_REQUEST",
      advice: "The service found the request invalid; nothing was changed.",
    },
  ],
  [401, NO_ACCESS],
  [403, NO_ACCESS],
  [
    404,
    {
      Class: NotFoundError,
      code: "ERR_NOT_FOUND",
      advice: "Either it does not exist for this tenant, or this is not the service's address.",
    },
  ],
  [
    409,
    {
      Class: ConflictError,
      code: "ERR_CONFLICT",
      advice: "It exists already, or collides with another entry.",
    },
  ],
]);

const errorBody = z.object({ error: z.string().trim().min(1) });

/** The service's own words, fit to be shown, where a body holds any (reference, envelope "Error"). */
function wordsOf(body: unknown, key: ApiKey): string | undefined {
  const said = errorBody.safeParse(body);
  return said.success ? excerpt(key.partsRemovedFrom(said.data.error), 500) : undefined;
}

function parsedOrNothing(text: string): unknown {
  try {
    return parseJson(text);
  } catch {
    return undefined;
  }
}

function header(answer: Answer, name: string): string | undefined {
  const value = answer.headers[name];
  return Array.isArray(value) ? value[0] : value;
}

function explain(error: z.ZodError): string {
  return error.issues
    .slice(0, 3)
    .map(lastBranch)
    .map((issue) => `${issue.path.length === 0 ? "the body" : issue.path.join(".")}: ${issue.message}`)
    .join("; ");
}

/** Of an answer that may come in several shapes, what is wrong with the one that the reference shows: the last. */
function lastBranch(issue: z.core.$ZodIssue): z.core.$ZodIssue {
  const inner = issue.code === "invalid_union" ? issue.errors.at(-1)?.[0] : undefined;
  return inner === undefined ? issue : { ...inner, path: [...issue.path, ...inner.path] };
}

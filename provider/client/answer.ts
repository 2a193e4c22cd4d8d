import { z } from "zod";
import { excerpt, quote } from "../settings/text";
import type { ApiKey } from "./api-key";
import { type Envelope, envelopeMismatch, tooManyItems } from "./envelope";
import type { RequestFacts, ServiceError } from "./errors";
import { parseJson, TooManyValuesError } from "./json";
import { type BodyProblem, classify, type ResponseClass } from "./response-classification";
import { describeWait } from "./retry-after";
import { DEADLINE_MS } from "./retry-policy";
import { failureFrom } from "./service-failure";

/** An HTTP response, possibly incomplete. */
export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;
}

/** How to read a response. */
export interface Reading<T> {
  readonly request: RequestFacts;
  /** The request, as messages name it. */
  readonly what: string;
  readonly key: ApiKey;
  readonly envelope: Envelope;
  readonly answer: z.ZodType<T>;
  /** A hint about the service's address, for responses from something other than the service. Default: none. */
  readonly addressHint?: string | undefined;
}

/**
 * Returns the validated content of a success, or throws the error class that the status or the body calls for.
 *
 * @throws {ServiceError} one class per kind of failure.
 */
export function readAnswer<T>(answer: Answer, reading: Reading<T>): T {
  if (!isSuccess(answer.status)) throw refusal(answer, reading);
  // Some services answer a deletion with an empty 204.
  const isBare = reading.request.method === "DELETE" && answer.status === 204;
  const parsed = isBare ? { results: {} } : parse(answer, reading);
  // A service may report the key that created something.
  const body = reading.key.isIn(answer.text) ? (reading.key.removedFromBody(parsed) ?? parsed) : parsed;
  const wrong = (problem: BodyProblem, how: string): ServiceError => {
    const serviceMessage = wordsOf(body, reading.key);
    const told = serviceMessage === undefined ? "" : `; it says: ${serviceMessage}`;
    const message = `${reading.what} answered ${answer.status}, but ${how}${told}`;
    return failureFrom(classify({ body: problem }), message, {
      request: reading.request,
      status: answer.status,
      serviceMessage,
      body: reading.key.removedFromBody(body),
    });
  };
  const mismatch = envelopeMismatch(reading.envelope, body);
  if (mismatch !== undefined) throw wrong("envelope", mismatch);
  const tooMany = tooManyItems(reading.envelope, body);
  if (tooMany !== undefined) throw wrong("too large", tooMany);
  const checked = reading.answer.safeParse(body);
  if (checked.success) return checked.data;
  const how = `its body is not what the reference says: ${explain(checked.error)}`;
  throw wrong("shape", how);
}

export function isSuccess(status: number): boolean {
  return status >= 200 && status <= 299;
}

function parse(answer: Answer, reading: Reading<unknown>): unknown {
  const { text } = answer;
  const contentType = header(answer, "content-type") ?? "";
  const fail = (problem: BodyProblem, how: string): ServiceError =>
    failureFrom(classify({ body: problem }), `${reading.what} answered ${answer.status} with ${how}`, {
      request: reading.request,
      status: answer.status,
    });
  if (text.trim() === "") {
    // Repeating a deletion that took effect returns 404.
    const problem = reading.request.method === "DELETE" ? "empty deletion" : "empty";
    throw fail(problem, "an empty body where JSON was due");
  }
  // Computed for failures only, since it takes longer than everything else here.
  const shown = () => quote(reading.key.partsRemovedFrom(text), 80);
  if (/\bhtml\b/i.test(contentType) || /^\s*<(!doctype|html)\b/i.test(text)) {
    const advice =
      reading.addressHint ??
      "Is the address that of the service itself, and no sign-in page or proxy in between?";
    throw fail("html", `an HTML page instead of JSON: ${shown()}. ${advice}`);
  }
  if (contentType !== "" && !/\bjson\b/i.test(contentType)) {
    const type = quote(reading.key.harmless(contentType), 60);
    throw fail("content type", `content of type ${type} instead of JSON: ${shown()}`);
  }
  try {
    return parseJson(text);
  } catch (error) {
    if (error instanceof TooManyValuesError) {
      const how = `JSON of more than ${error.message}, which is not read: ${shown()}`;
      throw fail("too large", how);
    }
    const encoding = header(answer, "content-encoding");
    if (encoding !== undefined) {
      const coding = quote(reading.key.removedFrom(encoding), 60);
      throw fail("content type", `a body encoded as ${coding}, which was not asked for`);
    }
    // The parser's own message quotes the body without a limit.
    throw fail("truncated", `JSON that can't be read or breaks off: ${shown()}`);
  }
}

function refusal(answer: Answer, reading: Reading<unknown>): ServiceError {
  const { status, headers } = answer;
  const { what, key, request } = reading;
  const body = parsedOrNothing(answer.text);
  const serviceMessage = wordsOf(body, key);
  const told = serviceMessage === undefined ? "" : `: ${serviceMessage}`;
  const found = classify({ status, headers });
  const stop = found.code === "ERR_REDIRECT" ? "," : /[.!?]$/.test(told) ? told : `${told}.`;
  const message = `${what} answered ${status}${stop} ${adviceFor(found, answer, reading)}`;
  return failureFrom(found, message, {
    request,
    status,
    serviceMessage,
    body: key.removedFromBody(body),
  });
}

function adviceFor(
  { code, retryAfterMs: waitMs }: ResponseClass,
  answer: Answer,
  { key, addressHint }: Reading<unknown>,
): string {
  switch (code) {
    case "ERR_REDIRECT": {
      const location = header(answer, "location");
      const target = location === undefined ? "" : ` to ${quote(key.harmless(location))}`;
      return `a redirect${target}, which is refused because it would carry the API key elsewhere. ${addressHint ?? "Configure the address that answers itself."}`;
    }
    case "ERR_RATE_LIMITED":
      return `Too many requests; ${describeWait(waitMs, DEADLINE_MS)}, then run again.`;
    case "ERR_BAD_REQUEST":
      return "The service found the request invalid; nothing was changed.";
    case "ERR_AUTH":
      return "The service does not accept this API key here; check the key, and that it belongs to this address and tenant.";
    case "ERR_NOT_FOUND": {
      const advice = "Either it does not exist for this tenant, or this is not the service's address.";
      return addressHint === undefined ? advice : `${advice} ${addressHint}`;
    }
    case "ERR_CONFLICT":
      return "It exists already, or collides with another entry.";
    case "ERR_SERVER": {
      const wait = (waitMs ?? 0) > DEADLINE_MS ? ` First ${describeWait(waitMs, DEADLINE_MS)}.` : "";
      return `The service failed; running again is safe.${wait}`;
    }
    default:
      return addressHint ?? "The service's reference does not name this status.";
  }
}

const errorBody = z.object({ error: z.string().trim().min(1) });

/** Returns the service's own message, sanitized, if the body has one (reference, envelope "Error"). */
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

/** Returns the issue of the last branch of a union, which is the shape in the reference. */
function lastBranch(issue: z.core.$ZodIssue): z.core.$ZodIssue {
  const inner = issue.code === "invalid_union" ? issue.errors.at(-1)?.[0] : undefined;
  return inner === undefined ? issue : { ...inner, path: [...issue.path, ...inner.path] };
}

import { z } from "zod";
import { excerpt, quote } from "../model/text";
import type { ApiKey } from "./api-key";
import { parseJson, TooManyValuesError } from "./bounded-json";
import { buildServiceError } from "./build-service-error";
import { describeEnvelopeMismatch, describeItemExcess, type EnvelopeKind } from "./envelope";
import type { RequestInfo, ServiceError } from "./errors";
import { getHeader } from "./http-exchange";
import { type BodyProblem, classifyResponse, type ResponseClass } from "./response-classification";
import { formatWait } from "./retry-after";
import { RETRY_DEADLINE_MS } from "./retry-policy";

/** An HTTP response, possibly incomplete. */
export interface HttpResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;
}

/** How to read a response. */
export interface ResponseContext<T> {
  readonly request: RequestInfo;
  /** The request, as messages describe it. */
  readonly requestText: string;
  readonly key: ApiKey;
  readonly envelope: EnvelopeKind;
  readonly schema: z.ZodType<T>;
  /** A hint about the service's address, for responses from something other than the service. Default: none. */
  readonly addressHint?: string | undefined;
}

/**
 * Returns the validated content of a success, or throws the error class that the status or the body calls for.
 *
 * @throws {ServiceError} one class per kind of failure.
 */
export function parseResponse<T>(response: HttpResponse, context: ResponseContext<T>): T {
  if (!isSuccessStatus(response.status)) throw buildStatusError(response, context);
  // Some services return 204 without a body for a deletion, which is sufficient.
  const isEmptyDeletion = context.request.method === "DELETE" && response.status === 204;
  const parsed = isEmptyDeletion ? { results: {} } : parseBody(response, context);
  // A response may contain the key, for example as the creator of an entry.
  const body = context.key.isContainedIn(response.text) ? (context.key.redactBody(parsed) ?? parsed) : parsed;
  const buildBodyError = (problem: BodyProblem, description: string): ServiceError => {
    const serviceMessage = extractServiceMessage(body, context.key);
    const messageSuffix = serviceMessage === undefined ? "" : `; the service reports: ${serviceMessage}`;
    const message = `${context.requestText} returned ${response.status}, but ${description}${messageSuffix}`;
    return buildServiceError(classifyResponse({ body: problem }), message, {
      request: context.request,
      status: response.status,
      serviceMessage,
      body: context.key.redactBody(body),
    });
  };
  const envelopeProblem = describeEnvelopeMismatch(context.envelope, body);
  if (envelopeProblem !== undefined) throw buildBodyError("envelope", envelopeProblem);
  const itemExcess = describeItemExcess(context.envelope, body);
  if (itemExcess !== undefined) throw buildBodyError("too large", itemExcess);
  const validated = context.schema.safeParse(body);
  if (validated.success) return validated.data;
  const description = `its body doesn't match the reference: ${formatSchemaErrors(validated.error)}`;
  throw buildBodyError("shape", description);
}

export function isSuccessStatus(status: number): boolean {
  return status >= 200 && status <= 299;
}

function parseBody(response: HttpResponse, context: ResponseContext<unknown>): unknown {
  const { text } = response;
  const contentType = getHeader(response, "content-type") ?? "";
  const buildParseError = (problem: BodyProblem, description: string): ServiceError =>
    buildServiceError(
      classifyResponse({ body: problem }),
      `${context.requestText} returned ${response.status} with ${description}`,
      {
        request: context.request,
        status: response.status,
      },
    );
  if (text.trim() === "") {
    // If a deletion took effect, a second one returns 404, so its outcome can be verified.
    const problem = context.request.method === "DELETE" ? "empty deletion" : "empty";
    throw buildParseError(problem, "an empty body instead of JSON");
  }
  // Built only for failures, because redaction takes longer than everything else here.
  const quoteBody = () => quote(context.key.redactParts(text), 80);
  if (/\bhtml\b/i.test(contentType) || /^\s*<(!doctype|html)\b/i.test(text)) {
    const advice =
      context.addressHint ?? "Check that the address is the service's own, and not that of a sign-in page or a proxy.";
    throw buildParseError("html", `an HTML page instead of JSON: ${quoteBody()}. ${advice}`);
  }
  if (contentType !== "" && !/\bjson\b/i.test(contentType)) {
    const type = quote(context.key.sanitize(contentType), 60);
    throw buildParseError("content type", `content of type ${type} instead of JSON: ${quoteBody()}`);
  }
  try {
    return parseJson(text);
  } catch (error) {
    if (error instanceof TooManyValuesError) {
      const description = `JSON with more than ${error.message}, which is too much to read: ${quoteBody()}`;
      throw buildParseError("too large", description);
    }
    const encoding = getHeader(response, "content-encoding");
    if (encoding !== undefined) {
      const coding = quote(context.key.redact(encoding), 60);
      throw buildParseError("content type", `a body encoded as ${coding}, which the client did not request`);
    }
    // The parser's message quotes the body without a limit.
    throw buildParseError("truncated", `JSON that is invalid or truncated: ${quoteBody()}`);
  }
}

function buildStatusError(response: HttpResponse, context: ResponseContext<unknown>): ServiceError {
  const { status, headers } = response;
  const { requestText, key, request } = context;
  const body = tryParseJson(response.text);
  const serviceMessage = extractServiceMessage(body, key);
  const messageSuffix = serviceMessage === undefined ? "" : `: ${serviceMessage}`;
  const responseClass = classifyResponse({ status, headers });
  const punctuation =
    responseClass.code === "ERR_REDIRECT" ? "," : /[.!?]$/.test(messageSuffix) ? messageSuffix : `${messageSuffix}.`;
  const message = `${requestText} returned ${status}${punctuation} ${getResponseAdvice(responseClass, response, context)}`;
  return buildServiceError(responseClass, message, {
    request,
    status,
    serviceMessage,
    body: key.redactBody(body),
  });
}

function getResponseAdvice(
  { code, retryAfterMs: waitMs }: ResponseClass,
  response: HttpResponse,
  { key, addressHint }: ResponseContext<unknown>,
): string {
  switch (code) {
    case "ERR_REDIRECT": {
      const location = getHeader(response, "location");
      const target = location === undefined ? "" : ` to ${quote(key.sanitize(location))}`;
      return `a redirect${target}, which is not followed because it would send the API key elsewhere. ${addressHint ?? "Configure the address that responds without a redirect."}`;
    }
    case "ERR_RATE_LIMITED":
      return `Too many requests; ${formatWait(waitMs, RETRY_DEADLINE_MS)}, then run again.`;
    case "ERR_BAD_REQUEST":
      return "The service rejected the request as invalid; nothing was changed.";
    case "ERR_AUTH":
      return "The service does not accept this API key; check the key, and that it belongs to this address and tenant.";
    case "ERR_NOT_FOUND": {
      const advice = "Either it does not exist for this tenant, or the address isn't the service's.";
      return addressHint === undefined ? advice : `${advice} ${addressHint}`;
    }
    case "ERR_CONFLICT":
      return "It already exists, or conflicts with another entry.";
    case "ERR_SERVER": {
      const wait = (waitMs ?? 0) > RETRY_DEADLINE_MS ? ` First ${formatWait(waitMs, RETRY_DEADLINE_MS)}.` : "";
      return `The service failed. You can safely run again.${wait}`;
    }
    default:
      return addressHint ?? "The service's reference does not define this status.";
  }
}

const errorBodySchema = z.object({ error: z.string().trim().min(1) });

/** Returns the service's own message from a body, sanitized (reference, envelope "Error"); undefined if it has none. */
function extractServiceMessage(body: unknown, key: ApiKey): string | undefined {
  const parsed = errorBodySchema.safeParse(body);
  return parsed.success ? excerpt(key.redactParts(parsed.data.error), 500) : undefined;
}

function tryParseJson(text: string): unknown {
  try {
    return parseJson(text);
  } catch {
    return undefined;
  }
}

function formatSchemaErrors(error: z.ZodError): string {
  return error.issues
    .slice(0, 3)
    .map(getLastBranch)
    .map((issue) => `${issue.path.length === 0 ? "the body" : issue.path.join(".")}: ${issue.message}`)
    .join("; ");
}

/** For a response with several valid shapes, returns the issue of the last one, which the reference documents. */
function getLastBranch(issue: z.core.$ZodIssue): z.core.$ZodIssue {
  const inner = issue.code === "invalid_union" ? issue.errors.at(-1)?.[0] : undefined;
  return inner === undefined ? issue : { ...inner, path: [...issue.path, ...inner.path] };
}

import { setTimeout as sleep } from "node:timers/promises";
import type { Dispatcher } from "undici";
import { loadDispatcher } from "../client/dispatcher";
import { exchange, getHeader, type RawResponse } from "../client/http-exchange";
import { formatWait, parseRetryAfterMs } from "../client/retry-after";
import { computeBackoffMs } from "../client/retry-policy";
import { maskSecrets } from "../model/secrets";
import { quote } from "../model/text";
import { assertAllowedSource } from "./allowed-sources";
import { describeFailure, type SourceContext, SourceError } from "./source-content";
import { formatSourceVariable } from "./source-variables";

const TIMEOUT_MS = 60_000;
/** More than a feed of a million domains. */
const MAX_BYTES = 32 * 1024 * 1024;
const MAX_REDIRECTS = 3;
const MAX_ATTEMPTS = 4;
const BACKOFF = { baseMs: 500, maxMs: 10_000 };
/** A source that asks for a longer wait is read by a later run. */
const MAX_WAIT_MS = 60_000;

export interface SourceResponse {
  readonly text: string;
  readonly etag: string | undefined;
  readonly lastModified: string | undefined;
  /** Whether the end of the connection is the only end of the text, so that nothing shows whether it is complete. */
  readonly isUnbounded: boolean;
}

/**
 * Reads an address that the run allows for the source. Follows redirects only to addresses that the run allows too, because the request has
 * the source's credentials. Retries passing failures.
 *
 * @throws {SourceError} if the response is missing, incomplete, or a web page.
 */
export async function requestSource(
  url: string,
  context: SourceContext,
  headers: Readonly<Record<string, string>> = {},
): Promise<SourceResponse | "not-modified"> {
  assertAllowedSource(context.name, url, context.environment);
  const dispatcher = await loadDispatcher(url);
  try {
    return await followRedirects(dispatcher, url, context, { ...headers, ...readFeedCredentials(context) });
  } finally {
    await dispatcher.destroy();
  }
}

async function followRedirects(
  dispatcher: Dispatcher,
  url: string,
  context: SourceContext,
  headers: Readonly<Record<string, string>>,
): Promise<SourceResponse | "not-modified"> {
  let address = url;
  for (let redirects = 0; ; redirects++) {
    const response = await requestWithRetries(dispatcher, address, context, headers);
    const { status } = response;
    if (status === 304 && CONDITIONS.some((condition) => condition in headers)) return "not-modified";
    if (status === 200) {
      assertNoWebPage(response, context.name);
      const etag = getHeader(response, "etag");
      return {
        text: maskCredentials(context, response.text),
        etag: etag && maskCredentials(context, etag),
        lastModified: getHeader(response, "last-modified"),
        isUnbounded: isUnbounded(response, address),
      };
    }
    const location = getHeader(response, "location");
    const target = status >= 301 && status <= 308 && location !== undefined ? URL.parse(location, address) : null;
    if (target === null) throw fail(context, describeStatus(status, context.name));
    const targetText = `${target.origin}${target.pathname}`;
    if (redirects === MAX_REDIRECTS)
      throw fail(context, `It redirects more than ${MAX_REDIRECTS} times, last to ${quote(targetText)}.`);
    try {
      assertAllowedSource(context.name, target.href, context.environment);
    } catch (cause) {
      const reason = `It redirects to ${quote(targetText)}, which this run doesn't allow. A redirect to a login means that the credentials are missing or expired.`;
      throw fail(context, reason, { cause });
    }
    address = target.href;
  }
}

/** HTTP/2 has no header `connection`, and marks the end of each response. */
function isUnbounded(response: RawResponse, address: string): boolean {
  const isChunked = /\bchunked\b/i.test(getHeader(response, "transfer-encoding") ?? "");
  const isBounded = isChunked || getHeader(response, "content-length") !== undefined;
  return !isBounded && (address.startsWith("http:") || getHeader(response, "connection")?.toLowerCase() === "close");
}

const CONDITIONS = ["if-none-match", "if-modified-since"];

async function requestWithRetries(
  dispatcher: Dispatcher,
  url: string,
  context: SourceContext,
  headers: Readonly<Record<string, string>>,
): Promise<RawResponse> {
  const { origin, pathname, search } = new URL(url);
  for (let attempt = 1; ; attempt++) {
    let failure: string;
    let waitMs = 0;
    try {
      const response = await exchange(
        dispatcher,
        { origin, path: `${pathname}${search}`, method: "GET", headers },
        { timeoutMs: TIMEOUT_MS, maxBytes: MAX_BYTES, signal: context.signal },
      );
      const { status, truncationCause } = response;
      if (truncationCause === undefined && !isRetryableStatus(status)) return response;
      waitMs = parseRetryAfterMs(response) ?? 0;
      failure =
        truncationCause === undefined
          ? `It returned ${status}.${waitMs > MAX_WAIT_MS ? ` Before a retry, ${formatWait(waitMs, MAX_WAIT_MS)}.` : ""}`
          : `The response was truncated: ${describeFailure(truncationCause)}.`;
    } catch (error) {
      context.signal.throwIfAborted();
      failure = `It didn't respond: ${describeFailure(error)}.`;
    }
    if (attempt === MAX_ATTEMPTS || waitMs > MAX_WAIT_MS) throw fail(context, failure);
    const pauseMs = Math.max(waitMs, computeBackoffMs(attempt, Math.random(), BACKOFF));
    await sleep(pauseMs, undefined, { signal: context.signal });
  }
}

function isRetryableStatus(status: number): boolean {
  return [408, 429, 500, 502, 503, 504].includes(status);
}

/**
 * Returns the header with the credentials of a feed; empty if it has none.
 *
 * @throws {SourceError} if the variable of the header has another form.
 */
export function readFeedCredentials({
  name,
  environment,
}: Pick<SourceContext, "name" | "environment">): Record<string, string> {
  const token = environment[formatSourceVariable(name, "TOKEN")];
  if (token) return { authorization: `Bearer ${token}` };
  const variable = formatSourceVariable(name, "HEADER");
  const header = environment[variable];
  if (!header) return {};
  const [, field, value] = /^([!#$%&'*+.^_`|~\w-]+):[ \t]*([^\r\n]+)$/.exec(header.trim()) ?? [];
  if (field === undefined || value === undefined) {
    throw new SourceError(`${variable} isn't a header. Write its name, a colon and its value.`);
  }
  return { [field.toLowerCase()]: value };
}

/** The first tag of HTML or XML, such as the error page of a file store. A list may start with a mailbox or a domain in angle brackets. */
const MARKUP = /^\s*<(?:[!?]|[a-z][a-z0-9]*[\s/>])/i;

function assertNoWebPage(response: RawResponse, name: string): void {
  const type = getHeader(response, "content-type") ?? "";
  if (!/\bx?html\b/i.test(type) && !MARKUP.test(response.text)) return;
  throw new SourceError(
    `The source ${name} can't be read. It returned a web page instead of a list, maybe a login or an error page. Check its address and credentials.`,
  );
}

function describeStatus(status: number, name: string): string {
  if (status === 304)
    return "It returned 304 (not modified), although the request had no condition. Check its address.";
  if (status !== 401 && status !== 403) return `It returned ${status}. Check its address.`;
  return `It returned ${status}. Check the credentials: ${formatSourceVariable(name, "TOKEN")} or ${formatSourceVariable(name, "HEADER")}.`;
}

function fail(context: SourceContext, reason: string, options?: ErrorOptions): SourceError {
  return new SourceError(maskCredentials(context, `The source ${context.name} can't be read. ${reason}`), options);
}

/** Masks the credentials in text that a report may quote, because a source can repeat what it received. */
function maskCredentials({ name, environment }: SourceContext, text: string): string {
  const header = environment[formatSourceVariable(name, "HEADER")] ?? "";
  const secrets = [
    environment[formatSourceVariable(name, "TOKEN")] ?? "",
    header,
    header.replace(/^[^:]*:\s*/, "").trim(),
  ];
  // Shorter ones occur in values by chance.
  return maskSecrets(
    secrets.filter(({ length }) => length >= 6),
    text,
  );
}

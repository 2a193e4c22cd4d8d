/** The maximum wait from `Retry-After`, in milliseconds: 7 days, far beyond what a run waits. Longer waits are capped. */
export const MAX_RETRY_AFTER_MS = 7 * 24 * 3_600_000;

export type ResponseHeaders = Readonly<Record<string, string | string[] | undefined>>;

/** An HTTP date in the forms of RFC 9110, section 5.6.7, with other names of UTC, and of RFC 3339. */
const DATE_PATTERNS = [
  /[A-Z][a-z]+, [^,;]{10,30} (?:GMT|UTC|Z|[+-]\d{4})/g,
  /[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \d{4}/g,
  /\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(?:\.\d+)?(?:[Zz]|[+-]\d\d:\d\d)/g,
];
const ASCTIME_PATTERN = /^[A-Z][a-z]{2} [A-Z][a-z]{2} /;

/**
 * A number of seconds, also with a sign, a fraction, an exponent, quotes, or a unit of time. The sign is ignored, because a
 * wait can't be negative.
 */
const WAIT_PATTERN =
  /^"?[+-]?((?:\d+\.?\d*|\.\d+)(?:e\+?\d+)?)\s*(?:(ms|milliseconds?)|(m|mins?|minutes?)|(h|hrs?|hours?)|s|secs?|seconds?)?"?$/i;

/**
 * Parses `Retry-After` (RFC 9110, section 10.2.3) into milliseconds from now; undefined if it is unreadable. Parsing is
 * lenient, so the wait is never too short: the longest of several values counts. A date is compared with the service's own
 * clock if the response has one. A date in the past means no wait.
 */
export function parseRetryAfterMs({ headers }: { readonly headers: ResponseHeaders }): number | undefined {
  const now = parseFirstDateMs(headers["date"]) ?? Date.now();
  const delays = getHeaderValues(headers["retry-after"]).flatMap((text) => parseDelays(text, now));
  return delays.length === 0 ? undefined : Math.min(MAX_RETRY_AFTER_MS, Math.max(...delays));
}

/**
 * Formats a wait for messages: `wait 10 s`, or the end time of a long wait.
 *
 * @param longWaitMs from how many milliseconds on a wait is long.
 */
export function formatWait(waitMs: number | undefined, longWaitMs: number): string {
  if (!waitMs) return "wait";
  const wait = `wait ${Math.ceil(waitMs / 1_000)} s`;
  if (waitMs <= longWaitMs) return wait;
  const until = new Date(Date.now() + waitMs).toISOString().replace(/\.\d+Z$/, "Z");
  const boundText = waitMs >= MAX_RETRY_AFTER_MS ? "at least " : "";
  return `${wait} (${boundText}until ${until}), which is longer than a run waits`;
}

function parseDelays(header: string, now: number): number[] {
  const delays: number[] = [];
  let remaining = header;
  for (const pattern of DATE_PATTERNS) {
    remaining = remaining.replace(pattern, (text) => {
      const timeMs = parseDateMs(text);
      if (timeMs !== undefined) delays.push(Math.max(0, timeMs - now));
      return "";
    });
  }
  for (const part of remaining.split(/[,;]/)) {
    const [, count, milliseconds, minutes, hours] = WAIT_PATTERN.exec(part.trim()) ?? [];
    const unitMs = milliseconds ? 1 : minutes ? 60_000 : hours ? 3_600_000 : 1_000;
    if (count !== undefined) delays.push(Number(count) * unitMs);
  }
  return delays;
}

/** Date.parse takes a date without a zone for local time. */
function parseDateMs(text: string): number | undefined {
  const timeMs = Date.parse(ASCTIME_PATTERN.test(text) ? `${text} GMT` : text);
  return Number.isNaN(timeMs) ? undefined : timeMs;
}

/** Returns the service's clock from the `Date` header, in milliseconds since 1970; undefined if it is missing. */
export function parseServiceTimeMs(headers: ResponseHeaders): number | undefined {
  return parseFirstDateMs(headers["date"]);
}

function parseFirstDateMs(header: string | string[] | undefined): number | undefined {
  const [text = ""] = getHeaderValues(header);
  return parseDateMs(DATE_PATTERNS.flatMap((pattern) => text.match(pattern) ?? [])[0] ?? "");
}

function getHeaderValues(header: string | string[] | undefined): string[] {
  return header === undefined ? [] : Array.isArray(header) ? header : [header];
}

/** The maximum wait from `Retry-After`, in milliseconds: 7 days, far beyond what a run waits. Longer waits are capped. */
export const MAX_RETRY_AFTER_MS = 7 * 24 * 3_600_000;

export type Headers = Readonly<Record<string, string | string[] | undefined>>;

/** HTTP dates in the forms of RFC 9110, section 5.6.7, with other names for UTC, and RFC 3339 dates. */
const DATES = [
  /[A-Z][a-z]+, [^,;]{10,30} (?:GMT|UTC|Z|[+-]\d{4})/g,
  /[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \d{4}/g,
  /\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(?:\.\d+)?(?:[Zz]|[+-]\d\d:\d\d)/g,
];
const ASCTIME = /^[A-Z][a-z]{2} [A-Z][a-z]{2} /;

/**
 * Seconds, optionally with a sign, a fraction, an exponent, a unit or quotes. The sign is ignored, since a wait can't be
 * negative.
 */
const SECONDS = /^"?[+-]?((?:\d+\.?\d*|\.\d+)(?:e\+?\d+)?)\s*(?:s|secs?|seconds?)?"?$/i;

/**
 * Parses `Retry-After` (RFC 9110, section 10.2.3) into milliseconds from now; undefined if it is unreadable. Parsing is
 * lenient, so the wait is never too short: the longest of several values counts. A date is compared with the service's own
 * clock if the response has one. A date in the past means no wait.
 */
export function retryAfterMs({ headers }: { readonly headers: Headers }): number | undefined {
  const now = firstDate(headers["date"]) ?? Date.now();
  const waits = valuesOf(headers["retry-after"]).flatMap((text) => waitsIn(text, now));
  return waits.length === 0 ? undefined : Math.min(MAX_RETRY_AFTER_MS, Math.max(...waits));
}

/**
 * Formats a wait for messages: `wait 10 s`, or the end time of a long wait.
 *
 * @param longMs the minimum of a long wait, in milliseconds.
 */
export function describeWait(waitMs: number | undefined, longMs: number): string {
  if (!waitMs) return "wait";
  const wait = `wait ${Math.ceil(waitMs / 1_000)} s`;
  if (waitMs <= longMs) return wait;
  const until = new Date(Date.now() + waitMs).toISOString().replace(/\.\d+Z$/, "Z");
  const isBounded = waitMs >= MAX_RETRY_AFTER_MS ? "at least " : "";
  return `${wait} (${isBounded}until ${until}), which is longer than a run waits`;
}

function waitsIn(header: string, now: number): number[] {
  const waits: number[] = [];
  let rest = header;
  for (const pattern of DATES) {
    rest = rest.replace(pattern, (text) => {
      const at = dateOf(text);
      if (at !== undefined) waits.push(Math.max(0, at - now));
      return "";
    });
  }
  for (const part of rest.split(/[,;]/)) {
    const [, seconds] = SECONDS.exec(part.trim()) ?? [];
    if (seconds !== undefined) waits.push(Number(seconds) * 1_000);
  }
  return waits;
}

/** Date.parse treats a date without a zone as local time. */
function dateOf(text: string): number | undefined {
  const at = Date.parse(ASCTIME.test(text) ? `${text} GMT` : text);
  return Number.isNaN(at) ? undefined : at;
}

/** Returns the service's clock from the `Date` header, in milliseconds since 1970; undefined if it is missing. */
export function serviceTimeMs(headers: Headers): number | undefined {
  return firstDate(headers["date"]);
}

function firstDate(header: string | string[] | undefined): number | undefined {
  const [text = ""] = valuesOf(header);
  return dateOf(DATES.flatMap((pattern) => text.match(pattern) ?? [])[0] ?? "");
}

function valuesOf(header: string | string[] | undefined): string[] {
  return header === undefined ? [] : Array.isArray(header) ? header : [header];
}

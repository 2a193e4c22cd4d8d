/** A sentence that keeps external text separate from trusted text, so that each renderer can escape it. */
export type SafeText = readonly (string | UntrustedText)[];

export interface UntrustedText {
  readonly untrusted: string;
  /** Whether it is a sentence rather than a value. */
  readonly isSentence?: boolean;
}

export function untrusted(text: string): UntrustedText {
  return { untrusted: text };
}

/** Marks a sentence that contains external text, such as the message of a finding. */
export function untrustedSentence(text: string): UntrustedText {
  return { untrusted: text, isSentence: true };
}

/**
 * A template tag for trusted sentences with inserted values: `` safeText`${37} threats from
 * ${untrusted("evil.example")}` ``.
 */
export function safeText(
  strings: TemplateStringsArray,
  ...values: readonly (string | number | UntrustedText | SafeText)[]
): SafeText {
  const parts: (string | UntrustedText)[] = [];
  strings.forEach((literal, index) => {
    parts.push(literal);
    const value = values[index];
    if (typeof value === "number") parts.push(formatNumber(value));
    else if (isSafeText(value)) parts.push(...value);
    else if (value !== undefined) parts.push(value);
  });
  return parts.filter((word) => word !== "");
}

export function joinTexts(texts: readonly SafeText[], separator: string): SafeText {
  return texts.flatMap((text, index) => (index === 0 ? text : [separator, ...text]));
}

export function joinWithAnd(texts: readonly SafeText[]): SafeText {
  if (texts.length < 2) return texts.flat();
  return [...joinTexts(texts.slice(0, -1), ", "), " and ", ...(texts.at(-1) ?? [])];
}

/** Formats `5,000`, independent of the locale. */
export function formatNumber(count: number): string {
  return count.toLocaleString("en-US");
}

export function formatCount(count: number, singular: string, plural = `${singular}s`): string {
  return `${formatNumber(count)} ${count === 1 ? singular : plural}`;
}

/** Formats the day of a time from the service, `2026-11-19`; an invalid time stays as it is. */
export function formatDay(time: string): SafeText {
  const date = /^\d{4}-\d{2}-\d{2}(?=$|[T ])/.exec(time)?.[0];
  return date === undefined ? [untrusted(time)] : [date];
}

/** Formats a time to the minute in UTC: `2026-11-21 19:52 UTC`; an invalid time stays as it is. */
export function formatMinute(time: string): SafeText {
  const [, date, clock] = /^(\d{4}-\d{2}-\d{2})T(\d{2}:\d{2}).*Z$/.exec(time) ?? [];
  return date === undefined || clock === undefined ? [untrusted(time)] : [`${date} ${clock} UTC`];
}

/** Formats a time to the second in UTC; an invalid time stays as it is. */
export function formatTimestamp(time: string): SafeText {
  const [, date, clock] = /^(\d{4}-\d{2}-\d{2})T(\d{2}:\d{2}:\d{2})(?:\.\d+)?Z$/.exec(time) ?? [];
  return date === undefined || clock === undefined ? [untrusted(time)] : [`${date} ${clock} UTC`];
}

export function toSingleLine(text: string): string {
  return text.replace(/[\r\n]\s*/g, " ⏎ ");
}

function isSafeText(value: string | UntrustedText | SafeText | undefined): value is SafeText {
  return Array.isArray(value);
}

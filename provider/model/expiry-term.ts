import { quote } from "./text";

const DAYS: Readonly<Record<string, number>> = { d: 1, w: 7 };
export const DAY_MS = 24 * 60 * 60 * 1_000;
/** A longer term is most likely a typing error. */
const MAX_DAYS = 3_660;

/** The last day of a term, `2026-12-23` or `never`. If the term is invalid, the reason, as the end of a sentence. */
export type ExpiryTerm =
  | { readonly ok: true; readonly value: string }
  | { readonly ok: false; readonly reason: string };

/**
 * Parses a term as a person writes it: `30d`, `6w`, a day such as `2026-12-31`, or `never`. Settings files accept only days, so that their
 * meaning doesn't depend on when they are read.
 *
 * @param today the day (UTC) from which a number of days counts: `2026-11-23`.
 */
export function parseTerm(text: string, today: string): ExpiryTerm {
  if (text === "never") return { ok: true, value: text };
  const days = parseDays(text);
  if (days !== undefined) {
    if (days > MAX_DAYS) return { ok: false, reason: `${quote(text)} is more than ten years; write \`never\`` };
    return { ok: true, value: addDaysToDate(today, days) };
  }
  const time = /^\d{4}-\d{2}-\d{2}$/.test(text) ? Date.parse(`${text}T00:00:00Z`) : Number.NaN;
  if (Number.isNaN(time) || formatUtcDay(time) !== text) {
    return {
      ok: false,
      reason: `${quote(text)} isn't a valid term; write days such as 30d, weeks such as 6w, or a date such as 2026-12-31`,
    };
  }
  if (text < today) return { ok: false, reason: `${text} is in the past` };
  return { ok: true, value: text };
}

/** Returns the number of days in `90d` or `12w`. Undefined for any other text, and for more than ten years. */
export function parseTermDays(text: string): number | undefined {
  const days = parseDays(text);
  return days === undefined || days > MAX_DAYS ? undefined : days;
}

function parseDays(text: string): number | undefined {
  const [, count, unit = ""] = /^([1-9]\d{0,4})([dw])$/i.exec(text) ?? [];
  return count === undefined ? undefined : Number(count) * (DAYS[unit.toLowerCase()] ?? 1);
}

/** Adds days to a UTC day: `2026-11-21`. */
export function addDaysToDate(day: string, days: number): string {
  return formatUtcDay(Date.parse(`${day}T00:00:00Z`) + days * DAY_MS);
}

function formatUtcDay(time: number): string {
  return new Date(time).toISOString().slice(0, 10);
}

import { z } from "zod";
import { quote } from "../../settings/text";
import type { Tolerance } from "../model/target";

export const text = (wanted: string) => z.string({ error: ({ input }) => missingOr(input, wanted) });

export const path = text("the path of a file").min(1, "is empty; write the path of a file");

export const flag = z.boolean({ error: ({ input }) => missingOr(input, "true or false") });

export const mapping = (wanted = "a mapping of keys and values") => ({
  error: ({ code, input }: { readonly code?: string; readonly input?: unknown }) =>
    code === "invalid_type" || code === undefined ? missingOr(input, wanted) : undefined,
});

export const wholeNumber = (least: number, most = 1_000_000) =>
  z
    .number({ error: ({ input }) => missingOr(input, "a whole number") })
    .int({ error: ({ input }) => `must be a whole number, not ${quote(input)}` })
    .min(least, { error: ({ input }) => `is ${quote(input)}; it can't be less than ${least}` })
    .max(most, { error: ({ input }) => `is ${quote(input)}; it can't be more than ${most}` });

/** A text that no message repeats, because it may be a misplaced key. */
export const hidden = (wanted: string) =>
  z.string({ error: `must be ${wanted}, in quotes where YAML reads it as something else` });

export const command = (what: string) =>
  z
    .array(hidden("a text"), { error: `must be a list, of ${what}` })
    .min(1, `is an empty list; write ${what}`)
    .refine(([program]) => program !== "", `has no program; write ${what}`);

/** A percentage with at most two decimals, so that calculations are exact. */
const PERCENT = /^(?:100(?:\.0{1,2})?|\d{1,2}(?:\.\d{1,2})?)\s?%$/;

export const part = (least: number) => {
  const wanted = "a count or a percentage, as 3 or 10%";
  const few = "is too few; write at least 1, or more than 0%";
  const other = ({ input }: { readonly input?: unknown }) => missingOr(input, wanted);
  return z
    .union(
      [
        z
          .int({ error: other })
          .min(least, { error: ({ input }) => (input === 0 ? few : missingOr(input, wanted)) })
          .max(1_000_000, { error: ({ input }) => `is ${quote(input)}; it can't be more than 1000000` }),
        z
          .string()
          .regex(PERCENT, { error: other })
          .refine((one) => least === 0 || !PERCENT.test(one) || Number.parseFloat(one) > 0, few),
      ],
      { error: other },
    )
    .transform(
      (one): Tolerance => (typeof one === "number" ? { count: one } : { percent: Number.parseFloat(one) }),
    );
};

const UNITS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

const DURATION = /^(\d{1,9})(s|m|h|d)$/;

export const duration = (leastMs: number, most: string) =>
  text("a time, as 30s, 15m, 2h or 1d")
    .regex(DURATION, { error: ({ input }) => `is ${quote(input)}; write a time as 30s, 15m, 2h or 1d` })
    .refine((one) => !DURATION.test(one) || (msOf(one) >= leastMs && msOf(one) <= msOf(most)), {
      error: ({ input }) =>
        `is ${quote(input)}; write a time ${leastMs === 0 ? "" : "of 1s or more, "}of at most ${most}`,
    })
    .transform(msOf);

function msOf(text: string): number {
  const [, count, unit = ""] = DURATION.exec(text) ?? [];
  return Number(count) * (UNITS[unit] ?? Number.NaN);
}

export function missingOr(input: unknown, wanted: string): string {
  if (input === undefined) return `is missing; write ${wanted}`;
  return input === null
    ? `is empty; write ${wanted}, or take the line away`
    : `must be ${wanted}, not ${quote(input)}`;
}

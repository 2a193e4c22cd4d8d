import { z } from "zod";
import { quote } from "../../model/text";
import type { CountOrPercent } from "../model/target";

export const buildTextSchema = (expected: string) =>
  z.string({ error: ({ input }) => formatExpectation(input, expected) });

export const pathSchema = buildTextSchema("the path of a file").min(1, "is empty; write the path of a file");

export const booleanSchema = z.boolean({ error: ({ input }) => formatExpectation(input, "true or false") });

export const buildMappingError = (expected = "a mapping of keys and values") => ({
  error: ({ code, input }: { readonly code?: string; readonly input?: unknown }) =>
    code === "invalid_type" || code === undefined ? formatExpectation(input, expected) : undefined,
});

export const buildIntegerSchema = (min: number, max = 1_000_000) =>
  z
    .number({ error: ({ input }) => formatExpectation(input, "a whole number") })
    .int({ error: ({ input }) => `must be a whole number, not ${quote(input)}` })
    .min(min, { error: ({ input }) => `is ${quote(input)}; it can't be less than ${min}` })
    .max(max, { error: ({ input }) => `is ${quote(input)}; it can't be more than ${max}` });

/** A text that no message repeats, because it may be a misplaced key. */
export const buildRedactedTextSchema = (expected: string) =>
  z.string({ error: `must be ${expected}, in quotes if YAML reads it as another type` });

export const buildCommandSchema = (expected: string) =>
  z
    .array(buildRedactedTextSchema("a string"), { error: `must be a list of ${expected}` })
    .min(1, `is an empty list; write ${expected}`)
    .refine(([program]) => program !== "", `has no program; write ${expected}`);

/** A percentage with at most two decimals, so that calculations are exact. */
const PERCENT_PATTERN = /^(?:100(?:\.0{1,2})?|\d{1,2}(?:\.\d{1,2})?)\s?%$/;

export const buildToleranceSchema = (min: number) => {
  const expected = "a count or a percentage, such as 3 or 10%";
  const tooFewMessage = "is too low; write at least 1, or more than 0%";
  const formatTypeError = ({ input }: { readonly input?: unknown }) => formatExpectation(input, expected);
  return z
    .union(
      [
        z
          .int({ error: formatTypeError })
          .min(min, {
            error: ({ input }) => (input === 0 ? tooFewMessage : formatExpectation(input, expected)),
          })
          .max(1_000_000, { error: ({ input }) => `is ${quote(input)}; it can't be more than 1000000` }),
        z
          .string()
          .regex(PERCENT_PATTERN, { error: formatTypeError })
          .refine(
            (parsedInput) => min === 0 || !PERCENT_PATTERN.test(parsedInput) || Number.parseFloat(parsedInput) > 0,
            tooFewMessage,
          ),
      ],
      { error: formatTypeError },
    )
    .transform(
      (parsedInput): CountOrPercent =>
        typeof parsedInput === "number" ? { count: parsedInput } : { percent: Number.parseFloat(parsedInput) },
    );
};

const MS_BY_UNIT: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

const DURATION_PATTERN = /^(\d{1,9})(s|m|h|d)$/;

export const buildDurationSchema = (minMs: number, maxDuration: string) =>
  buildTextSchema("a duration, such as 30s, 15m, 2h or 1d")
    .regex(DURATION_PATTERN, {
      error: ({ input }) => `is ${quote(input)}; write a duration such as 30s, 15m, 2h or 1d`,
    })
    .refine(
      (parsedInput) =>
        !DURATION_PATTERN.test(parsedInput) ||
        (parseDurationMs(parsedInput) >= minMs && parseDurationMs(parsedInput) <= parseDurationMs(maxDuration)),
      {
        error: ({ input }) =>
          `is ${quote(input)}; write a duration ${minMs === 0 ? "" : "of 1s or more, "}of at most ${maxDuration}`,
      },
    )
    .transform(parseDurationMs);

function parseDurationMs(durationText: string): number {
  const [, count, unit = ""] = DURATION_PATTERN.exec(durationText) ?? [];
  return Number(count) * (MS_BY_UNIT[unit] ?? Number.NaN);
}

export function formatExpectation(input: unknown, expected: string): string {
  if (input === undefined) return `is missing; write ${expected}`;
  return input === null
    ? `is empty; write ${expected}, or remove the line`
    : `must be ${expected}, not ${quote(input)}`;
}

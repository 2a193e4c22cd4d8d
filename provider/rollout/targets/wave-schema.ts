import { z } from "zod";
import { quote } from "../../settings/text";
import { CLOSED_HOURS_FORM, type ClosedHours, isAlwaysClosed, readClosedHours } from "../model/closed-hours";
import type { ThreatLimit } from "../model/wave";
import { match } from "./label-schema";
import { name } from "./name-schema";
import { command, duration, flag, mapping, missingOr, part, wholeNumber } from "./value-schemas";

/** The rise of threats that counts as unhealthy, unless the file declares another. */
export const THREAT_LIMIT: ThreatLimit = { risePercent: 50, min: 10 };

const healthSchema = z
  .strictObject(
    {
      command: command("a program and its arguments, as [./check.sh]")
        .describe("A program and its arguments, run without a shell in the working folder: it must end with 0.")
        .optional(),
      timeout: duration(1_000, "1d").describe("How long the command may take. 5m when left out.").optional(),
      threats: z
        .strictObject(
          {
            risePercent: z
              .number({ error: ({ input }) => missingOr(input, "a number of percent, as 50") })
              .min(0, { error: ({ input }) => `is ${quote(input)}; it can't be less than 0` })
              .max(1_000_000, { error: ({ input }) => `is ${quote(input)}; it can't be more than 1000000` })
              .describe(`How much they may rise, in percent. ${THREAT_LIMIT.risePercent} when left out.`)
              .optional(),
            min: wholeNumber(1)
              .describe(`A rise by fewer than so many is well. ${THREAT_LIMIT.min} when left out.`)
              .optional(),
          },
          mapping(),
        )
        .describe("No tenant of the wave may have more threats than so, after its change against before.")
        .optional(),
    },
    mapping(),
  )
  .refine(
    ({ command, threats }) => command !== undefined || threats !== undefined,
    "checks nothing; write `command` or `threats`",
  );

const hoursSchema = z.string({ error: ({ input }) => missingOr(input, CLOSED_HOURS_FORM) }).check((context) => {
  const parsedHours = readClosedHours(context.value);
  if (typeof parsedHours === "string") {
    context.issues.push({
      code: "custom",
      message: `${quote(context.value)} ${parsedHours}`,
      input: context.value,
    });
  }
});

const closedHoursSchema = z
  .union([hoursSchema, z.array(hoursSchema).min(1, "is an empty list; write hours, or take the line away")], {
    error: ({ input }) => missingOr(input, CLOSED_HOURS_FORM),
  })
  .transform((rawHours) =>
    [rawHours].flat().flatMap((hoursText): readonly ClosedHours[] => {
      const parsedHours = readClosedHours(hoursText);
      return typeof parsedHours === "string" ? [] : parsedHours;
    }),
  )
  .refine(
    (closedRanges) => closedRanges.length === 0 || !isAlwaysClosed(closedRanges),
    "leaves no hour of the week in which the wave could begin",
  );

export const wave = z.strictObject(
  {
    name: name("What the wave is called."),
    match: match.optional(),
    take: part(1)
      .describe("How many of those that match and are in no earlier wave: a count, or a percentage of all that match.")
      .optional(),
    maxConcurrent: wholeNumber(1).describe("How many tenants are changed at once. 1 when left out.").optional(),
    failureTolerance: part(0)
      .describe("How many tenants may fail: a count, or a percentage. 0 when left out.")
      .optional(),
    soak: duration(0, "30d").describe("How long to wait once it is through: 30s, 15m, 2h, 1d.").optional(),
    gate: flag.describe("Whether a person has to resume the rollout before the next wave.").optional(),
    health: healthSchema.describe("What must be well before the next wave begins.").optional(),
    not: closedHoursSchema
      .describe("Hours of the week in which none of its tenants is begun: Fri 16:00–Mon 06:00 Europe/Zurich.")
      .optional(),
  },
  mapping(),
);

/** A wave as declared in the file. */
export type RawWave = z.output<typeof wave>;

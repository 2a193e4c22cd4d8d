import { z } from "zod";
import { quote } from "../../model/text";
import { CLOSED_HOURS_FORMAT, type ClosedHours, isAlwaysClosed, parseClosedHours } from "../model/closed-hours";
import type { ThreatLimit } from "../model/wave";
import { matchSchema } from "./label-schema";
import { buildNameSchema } from "./name-schema";
import {
  booleanSchema,
  buildCommandSchema,
  buildDurationSchema,
  buildIntegerSchema,
  buildMappingError,
  buildToleranceSchema,
  formatExpectation,
} from "./value-schemas";

/** The rise of threats that counts as unhealthy, unless the file declares another. */
export const DEFAULT_THREAT_LIMIT: ThreatLimit = { risePercent: 50, min: 10 };

const healthSchema = z
  .strictObject(
    {
      command: buildCommandSchema("a program and its arguments, such as [./check.sh]")
        .describe("A program and its arguments, run without a shell in the working directory. It must exit with 0.")
        .optional(),
      timeout: buildDurationSchema(1_000, "1d").describe("The timeout of the command. Default: 5m.").optional(),
      threats: z
        .strictObject(
          {
            risePercent: z
              .number({ error: ({ input }) => formatExpectation(input, "a percentage, such as 50") })
              .min(0, { error: ({ input }) => `is ${quote(input)}; it can't be less than 0` })
              .max(1_000_000, { error: ({ input }) => `is ${quote(input)}; it can't be more than 1000000` })
              .describe(`The allowed increase, in percent. Default: ${DEFAULT_THREAT_LIMIT.risePercent}.`)
              .optional(),
            min: buildIntegerSchema(1)
              .describe(`A smaller increase than this is healthy. Default: ${DEFAULT_THREAT_LIMIT.min}.`)
              .optional(),
          },
          buildMappingError(),
        )
        .describe(
          "The allowed increase in threats of each tenant of the wave, compared with the time before its change.",
        )
        .optional(),
    },
    buildMappingError(),
  )
  .refine(
    ({ command, threats }) => command !== undefined || threats !== undefined,
    "checks nothing; write `command` or `threats`",
  );

const hoursSchema = z
  .string({ error: ({ input }) => formatExpectation(input, CLOSED_HOURS_FORMAT) })
  .check((context) => {
    const parsedHours = parseClosedHours(context.value);
    if (typeof parsedHours === "string") {
      context.issues.push({
        code: "custom",
        message: `${quote(context.value)} ${parsedHours}`,
        input: context.value,
      });
    }
  });

const closedHoursSchema = z
  .union([hoursSchema, z.array(hoursSchema).min(1, "is an empty list; write hours, or remove the line")], {
    error: ({ input }) => formatExpectation(input, CLOSED_HOURS_FORMAT),
  })
  .transform((rawHours) =>
    [rawHours].flat().flatMap((hoursText): readonly ClosedHours[] => {
      const parsedHours = parseClosedHours(hoursText);
      return typeof parsedHours === "string" ? [] : parsedHours;
    }),
  )
  .refine(
    (closedRanges) => closedRanges.length === 0 || !isAlwaysClosed(closedRanges),
    "leaves no hour of the week in which the wave could start",
  );

export const waveSchema = z.strictObject(
  {
    name: buildNameSchema("The wave's name."),
    match: matchSchema.optional(),
    limit: buildToleranceSchema(1)
      .describe(
        "How many of the matching tenants that are in no earlier wave: a count, or a percentage of all that match.",
      )
      .optional(),
    maxConcurrent: buildIntegerSchema(1).describe("How many tenants are changed concurrently. Default: 1.").optional(),
    failureTolerance: buildToleranceSchema(0)
      .describe("How many tenants may fail: a count, or a percentage. Default: 0.")
      .optional(),
    soak: buildDurationSchema(0, "30d")
      .describe("How long to wait after the wave is finished: 30s, 15m, 2h, 1d.")
      .optional(),
    gate: booleanSchema.describe("Whether a person must resume the rollout before the next wave.").optional(),
    health: healthSchema.describe("The conditions for the start of the next wave.").optional(),
    closedHours: closedHoursSchema
      .describe("Hours of the week in which none of its tenants is started: Fri 16:00–Mon 06:00 Europe/Zurich.")
      .optional(),
  },
  buildMappingError(),
);

/** A wave as declared in the file. */
export type RawWave = z.output<typeof waveSchema>;

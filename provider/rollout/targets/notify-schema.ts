import { z } from "zod";
import { NOTICE_KINDS, RECEIVERS, type ReceiverName } from "../model/notification-settings";
import { booleanSchema, buildMappingError, formatExpectation } from "./value-schemas";

const receiverSchema = z.strictObject(
  {
    events: z
      .array(
        z.enum(NOTICE_KINDS, {
          error: ({ input }) => formatExpectation(input, `one of ${NOTICE_KINDS.join(", ")}`),
        }),
        { error: ({ input }) => formatExpectation(input, `a list of ${NOTICE_KINDS.join(", ")}`) },
      )
      .min(1, "is an empty list, and nothing would be told; write what of, or take the line away for all")
      .describe("The notices that it receives. All, when left out.")
      .optional(),
    changes: booleanSchema
      .describe("Whether it is told what changes, and not just how much. false when left out.")
      .optional(),
  },
  buildMappingError(
    "what is told: {}, or { events: [waiting, stopped] }; where to send stands in the environment alone",
  ),
);

export const notifySchema = z
  .strictObject(
    {
      webhook: receiverSchema,
      slack: receiverSchema,
      teams: receiverSchema,
      mail: receiverSchema,
    } satisfies Record<ReceiverName, unknown>,
    buildMappingError(`who is told: ${RECEIVERS.join(", ")}`),
  )
  .partial()
  .describe(
    "The receivers of notices about rollouts and drift, and the notices that each receives. The addresses come from the environment alone.",
  );

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
      .min(1, "is an empty list, so no notice would be sent; write the kinds of notices, or remove the line for all")
      .describe("The notices that it receives. Default: all.")
      .optional(),
    changes: booleanSchema
      .describe("Whether its notices include the changes, not only their number. Default: false.")
      .optional(),
  },
  buildMappingError("the notices: {}, or { events: [waiting, stopped] }; the address comes only from the environment"),
);

export const notifySchema = z
  .strictObject(
    {
      webhook: receiverSchema,
      slack: receiverSchema,
      teams: receiverSchema,
      mail: receiverSchema,
    } satisfies Record<ReceiverName, unknown>,
    buildMappingError(`receivers of notices: ${RECEIVERS.join(", ")}`),
  )
  .partial()
  .describe(
    "The receivers of notices about rollouts and drift, and the notices that each receives. The addresses come only from the environment.",
  );

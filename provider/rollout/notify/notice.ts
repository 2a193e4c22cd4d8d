import { z } from "zod";
import { NOTICE_KINDS } from "../model/notification-settings";

/** The version of the notice format. */
export const NOTICE_FORMAT = 1;

/** The body sent to a webhook. All texts are printable and on one line. */
export const noticeSchema = z
  .strictObject({
    format: z.literal(NOTICE_FORMAT).describe("The version of this format."),
    kind: z.enum(NOTICE_KINDS).describe("The kind of event."),
    at: z.string().describe("When it happened: ISO 8601, UTC."),
    summary: z.string().describe("All of it in a sentence or two."),
    source: z.string().describe("The targets file, as it was named."),
    rollout: z
      .strictObject({
        id: z.string(),
        digest: z.string().describe("The digest of the reviewed plan."),
        wave: z.string().describe("The wave that it is about; absent where it is about all.").optional(),
        done: z.number().describe("How many tenants were changed."),
        failed: z.number().describe("How many tenants failed."),
        left: z.number().describe("How many are still to be changed."),
      })
      .describe("The rollout; absent where it is about none.")
      .optional(),
    tenants: z
      .array(z.string())
      .describe("The tenants that it is about: those that failed, that drifted; 20 at most, the worst first."),
    next: z
      .array(z.strictObject({ why: z.string(), command: z.string().optional() }))
      .describe("The next step: a sentence, and a command for the shell."),
    changes: z
      .array(
        z.strictObject({
          tenant: z.string(),
          sign: z.enum(["add", "change", "remove"]),
          list: z.string().describe("`deny`, or `allow → deny` where it moves; absent for VIPs.").optional(),
          value: z.string(),
        }),
      )
      .describe(
        "The changes, the 20 most dangerous at most; only where the receiver asks for them. Of drift, the changes somebody made; of expiring, the entries that end: the same in several tenants once, with the first of them.",
      )
      .optional(),
  })
  .readonly()
  .meta({
    title: "Email security notice",
    description: "The body that a webhook of `notify` in `tenants.yaml` receives.",
  });

export type Notice = z.output<typeof noticeSchema>;

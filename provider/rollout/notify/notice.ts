import { z } from "zod";
import { jsonObject } from "../../model/json-schema-builders";
import { NOTICE_KINDS } from "../model/notification-settings";

export const NOTICE_FORMAT = 1;

/** The body sent to a webhook. All texts are printable and on one line. */
export const noticeSchema = jsonObject({
  format: z.literal(NOTICE_FORMAT).describe("The version of this format."),
  kind: z.enum(NOTICE_KINDS).describe("The kind of event."),
  occurredAt: z.string().describe("When the event occurred: ISO 8601, UTC."),
  summary: z.string().describe("A summary in one or two sentences."),
  source: z.string().describe("The targets file, as it was specified."),
  rollout: z
    .strictObject({
      id: z.string(),
      digest: z.string().describe("The digest of the reviewed plan."),
      wave: z.string().describe("The wave that the notice is about; absent if it is about all waves.").optional(),
      done: z.number().describe("The number of changed tenants."),
      failed: z.number().describe("The number of failed tenants."),
      remaining: z.number().describe("The number of pending tenants."),
    })
    .describe("The rollout; absent if the notice isn't about one.")
    .optional(),
  tenants: z
    .array(z.string())
    .describe(
      "The tenants that the notice is about, such as those that failed or drifted; at most 20, the worst first.",
    ),
  advice: z
    .array(z.strictObject({ reason: z.string(), command: z.string().optional() }))
    .describe("The next step: a sentence, and a shell command."),
  changes: z
    .array(
      z.strictObject({
        tenant: z.string(),
        operation: z.enum(["add", "change", "remove"]),
        list: z.string().describe("`deny`, or `allow → deny` if it moves; absent for VIPs.").optional(),
        value: z.string(),
      }),
    )
    .describe(
      "The most dangerous changes, at most 20; only if the receiver includes changes. For drift, the changes that somebody made; for expiring, the entries that expire. A change in several tenants appears once, with the first of them.",
    )
    .optional(),
}).meta({
  title: "Email security notice",
  description: "The body that a webhook of `notify` in `tenants.yaml` receives.",
});

export type Notice = z.output<typeof noticeSchema>;

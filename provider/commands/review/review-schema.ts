import { z } from "zod";
import { jsonArray, jsonObject, jsonTextField } from "../../model/json-schema-builders";
import { formatJson } from "../../model/text";
import { fileLocationSchema } from "../../plan/plan-schema";
import { elementSourceSchema } from "../../settings-files/element-source";
import { REVIEW_KINDS } from "./review-kinds";

export const REVIEW_FORMAT = 1;

const itemSchema = jsonObject({
  list: z.enum(["allow", "deny", "vip"]),
  value: jsonTextField("The value or mailbox in canonical form; or as the service reports it, if no file declares it."),
  scope: jsonTextField("Of entries.").exactOptional(),
  place: fileLocationSchema.describe("Where it is declared. Absent if no file declares it.").exactOptional(),
  isShared: z.boolean().describe("Whether its file is included, possibly by other tenants too.").exactOptional(),
  comment: jsonTextField("Why it is here, as declared or as the tenant has it.").exactOptional(),
  ticket: z.string().exactOptional(),
  owner: z.string().exactOptional(),
  expires: jsonTextField("The last day (UTC), or never.").exactOptional(),
  source: elementSourceSchema.exactOptional(),
  reasons: jsonArray(
    jsonObject({
      kind: z
        .enum(REVIEW_KINDS)
        .describe(
          "malicious: an allow whose sender the service found malicious. reported: users reported mail from an allowed sender. policy: it violates a rule of the team's policy. undeclared: an allow that exists only at the tenant. expired, expiring: its last day is past, or near. due: by the policy's reviewEvery. contradicted: below an entry of the other list. shadowed: below an entry of the same list. external-owner: its owner's mailbox is outside the organization's own domains. departed: the VIP may have left. unused: nothing was detected or reported under it. targeted: a person who isn't a VIP.",
        ),
      evidence: jsonTextField("Sentences for people, safe to print."),
    }),
    "The worst first.",
  ),
}).meta({ id: "ReviewItem", description: "An item to review, or a person who is targeted." });

export type ReviewItem = z.infer<typeof itemSchema>;
export type ReviewReason = ReviewItem["reasons"][number];

export const reviewSchema = jsonObject({
  format: z.literal(REVIEW_FORMAT).describe("The version of this format."),
  file: jsonTextField("The settings file, as it was specified."),
  host: jsonTextField("The service's host. Absent if the tenant was not read.").exactOptional(),
  today: jsonTextField("The day (UTC) for which `expires` was evaluated."),
  items: jsonArray(itemSchema, "The worst first."),
  missingEvidence: jsonArray(
    z.string(),
    "Mail that could not be read, so that there may be more items to review. One sentence each, safe to print.",
  ),
  limitations: jsonArray(
    z.string(),
    "Sources that were not read, or don't report it. One sentence each, safe to print.",
  ),
}).meta({
  title: "Email security review",
  description: "The tenant's settings to review, as `email-security review` writes them as JSON.",
});

export type ReviewReport = z.infer<typeof reviewSchema>;

export const formatReviewJson = formatJson<ReviewReport>;

import { z } from "zod";
import type { EntryType, KNOWN_VERDICTS, List, VerdictScope } from "../model/assumptions";
import { buildArraySchema, idSchema, optionalCountSchema, registerFastReader } from "./schema-fields";

/*
 * The schemas of the reference's section "Resources and their fields". Parsing is lenient: unknown fields are accepted,
 * and optional ones may be missing or null. A field that the code acts on is required. The titles and descriptions go
 * into the native plugin's schema, and so into the generated SDKs.
 */

/** A string that may be missing or null; both are read as undefined. */
const optionalText = z
  .string()
  .nullish()
  .transform((text) => text ?? undefined);

/** A mailbox that may be missing, null or empty; all three become undefined. */
const optionalMailbox = optionalText.transform((email) => (email?.trim() ? email : undefined));

/** A verdict. Editors complete the known values; other values are accepted. */
export type Verdict = (typeof KNOWN_VERDICTS)[number] | (string & {});

/** The action taken on a threat (reference, table "Threat"); other values are accepted. */
export type ActionTaken =
  | "moved_to_trash"
  | "moved_to_spam"
  | "moved_to_graymail"
  | "moved_to_promotions"
  | "quarantined"
  | "released_from_quarantine"
  | "restored"
  | "none"
  | (string & {});

/** The severity of a threat. The reference shows only `high`. */
export type Criticality = "high" | (string & {});

/** An indicator that a message is a threat (reference, table "Threat indicator"). */
export const threatIndicator = z
  .object({
    indicator_type: optionalText,
    explanation: optionalText,
    grounding: optionalText,
  })
  .meta({ title: "ThreatIndicator" });
/** An indicator that a message is a threat (reference, table "Threat indicator"). */
export type ThreatIndicator = z.infer<typeof threatIndicator>;

/** A detected threat (reference, table "Threat"). Dates are kept as sent. */
export const threat = z
  .object({
    id: idSchema,
    action_taken: optionalText
      .transform((action) => action as ActionTaken | undefined)
      .describe("The action on the message, such as `quarantined`, `moved_to_trash` or `none`."),
    criticality: optionalText
      .transform((criticality) => criticality as Criticality | undefined)
      .describe("The severity, such as `high`."),
    verdict: optionalText.transform((verdict) => verdict as Verdict | undefined),
    detection_time: optionalText,
    time: optionalText,
    remediation_time: optionalText,
    reasoning: optionalText,
    recipient_email: optionalText,
    recipient_name: optionalText,
    sender_email: optionalText,
    sender_name: optionalText,
    sender_domain: optionalText,
    sender_registry_date: optionalText,
    source: optionalText,
    subject: optionalText,
    threat_type: optionalText,
    threat_indicators: buildArraySchema(threatIndicator)
      .nullish()
      .transform((indicators) => indicators ?? [])
      .describe("Why the service classified the message as a threat."),
  })
  .meta({ title: "Threat" });
/** A detected threat (reference, table "Threat"). Dates are kept as sent. */
export type Threat = z.infer<typeof threat>;

const phishingReportFields = {
  id: idSchema,
  original_email_internet_message_id: optionalText.describe("The Internet Message ID of the reported message."),
  report_internet_message_id: optionalText.describe("The Internet Message ID of the report that the user sent."),
  reasoning: optionalText,
  report_date: optionalText,
  reporter: optionalText,
  sender: optionalText,
  subject: optionalText,
  verdict: optionalText.transform((verdict) => verdict as Verdict | undefined),
};

/** A phishing report in a list (reference, table "Phishing report (list form)"). */
export const phishingReport = z.object(phishingReportFields).meta({ title: "PhishingReport" });
/** A phishing report in a list (reference, table "Phishing report (list form)"). */
export type PhishingReport = z.infer<typeof phishingReport>;

const recipients = buildArraySchema(z.string())
  .nullish()
  .transform((list) => list ?? []);

/** A single phishing report with details (reference, table "Phishing report (detail form)"). */
export const phishingReportDetail = z.object({
  ...phishingReportFields,
  to: recipients,
  cc: recipients,
  bcc: recipients,
  email_content_url: optionalText,
  response_content_url: optionalText,
});
/** A single phishing report with details (reference, table "Phishing report (detail form)"). */
export type PhishingReportDetail = z.infer<typeof phishingReportDetail>;

const threatCount = z.number().int().nonnegative().describe("The number of threats.");

/** The number of threats on one day (reference, table "Other result shapes"). */
export const threatsOnDay = z.object({ date: z.string(), count_threats: threatCount }).meta({ title: "ThreatsOnDay" });
/** The number of threats on one day. */
export type ThreatsOnDay = z.infer<typeof threatsOnDay>;

/** A user or group, and the number of threats that targeted it (reference, "Other result shapes"). */
export const targetedEntity = z
  .object({
    full_name: optionalText,
    job_title: optionalText,
    count_threats: threatCount,
  })
  .meta({ title: "TargetedEntity" });
/** A user or group, and the number of threats that targeted it. */
export type TargetedEntity = z.infer<typeof targetedEntity>;

/** A type of threat and its count (reference, "Other result shapes"). */
export const threatTypeCount = z
  .object({ type: optionalText, count_threats: threatCount })
  .meta({ title: "ThreatTypeCount" });
/** A type of threat and its count. */
export type ThreatTypeCount = z.infer<typeof threatTypeCount>;

/** Estimated hours saved from prevented threats. */
export const hoursSaved = z.object({ hours_saved: z.number() });
/** Estimated hours saved from prevented threats. */
export type HoursSaved = z.infer<typeof hoursSaved>;

/** The number of inboxes that received mail. */
export const protectedInboxes = z.object({ protected_inboxes: z.number().int().nonnegative() });
/** The number of inboxes that received mail. */
export type ProtectedInboxes = z.infer<typeof protectedInboxes>;

/** The mean time to analyse a report, in seconds; null if nothing was analysed. */
export const meanAnalysisTime = z.object({ analysis_time: z.number().nullable() });
/** The mean time to analyse a report, in seconds; null if nothing was analysed. */
export type MeanAnalysisTime = z.infer<typeof meanAnalysisTime>;

/** An entry of the allow/deny list (reference, table "Allow/deny entry"). */
export const allowDenyEntry = z
  .object({
    id: idSchema,
    list: z
      .string()
      .transform((list) => list as List | (string & {}))
      .describe("`allow` or `deny`."),
    entry_type: z
      .string()
      .transform((type) => type as EntryType | (string & {}))
      .describe("The type of the value."),
    value: z.string().describe("The domain, IP address or mailbox."),
    verdict_scope: optionalText
      .transform((scope) => scope as VerdictScope | undefined)
      .describe("The verdicts that the entry overrides."),
    comment: optionalText,
    created_at: optionalText,
    created_by: optionalText,
  })
  .meta({ title: "AllowDenyEntryRow" });
/** An entry of the allow/deny list (reference, table "Allow/deny entry"). */
export type AllowDenyEntryRow = z.infer<typeof allowDenyEntry>;

registerFastReader(allowDenyEntry, {
  id: "id",
  list: "text",
  entry_type: "text",
  value: "text",
  verdict_scope: "optional",
  comment: "optional",
  created_at: "optional",
  created_by: "optional",
});

/** A row of the VIP list (reference, table "VIP employee (list row)"). A row without a mailbox is a real VIP. */
export const vipEmployee = z
  .object({
    email: optionalMailbox,
    full_name: optionalText.describe("From the directory."),
    job_title: optionalText.describe("From the directory."),
    department: optionalText.describe("From the directory."),
    comment: optionalText,
    added_by: optionalText,
    date_added: optionalText,
    updated_at: optionalText,
    source: optionalText.describe("How the mailbox became a VIP, as the service describes it."),
  })
  .meta({ title: "VipEmployeeRow" });
/** A row of the VIP list (reference, table "VIP employee (list row)"). A row without a mailbox is a real VIP. */
export type VipEmployeeRow = z.infer<typeof vipEmployee>;

registerFastReader(vipEmployee, {
  email: "mailbox",
  full_name: "optional",
  job_title: "optional",
  department: "optional",
  comment: "optional",
  added_by: "optional",
  date_added: "optional",
  updated_at: "optional",
  source: "optional",
});

/** The response of the comment edit (reference, "VIP stored row"), without directory fields. */
export const vipStoredRow = z.object({
  email: optionalMailbox,
  comment: optionalText,
  added_by: optionalText,
  date_added: optionalText,
  updated_at: optionalText,
  source: optionalText,
});
/** The response of the comment edit (reference, "VIP stored row"), without directory fields. */
export type VipStoredRow = z.infer<typeof vipStoredRow>;

const addresses = buildArraySchema(z.string()).nullish();

/** The response of adding VIPs (reference, "Other result shapes"): each list may be missing or null, but not all. */
export const addVipResult = z
  .object({ added: addresses, already_vip: addresses, not_in_org: addresses })
  .refine((result) => Object.values(result).some(Array.isArray), {
    error: "added, already_vip and not_in_org are all missing",
  })
  .transform(({ added, already_vip, not_in_org }) => ({
    added: added ?? [],
    already_vip: already_vip ?? [],
    not_in_org: not_in_org ?? [],
  }));
/** The response of adding VIPs: the added addresses, and those that were VIPs already. */
export type AddVipResult = z.infer<typeof addVipResult>;

/** The response of removing VIPs: the number of exclusions written (reference, "Other result shapes"). */
export const removeVipResult = z.object({ affected: optionalCountSchema });
/** The response of removing VIPs: the number of exclusions written. */
export type RemoveVipResult = z.infer<typeof removeVipResult>;

/** The response of deleting an entry (reference, "Other result shapes"). */
export const deleteEntryResult = z.object({
  id: optionalText,
  deleted: z
    .boolean()
    .nullish()
    .transform((deleted) => deleted ?? undefined),
  deleted_at: optionalText,
  deleted_by: optionalText,
});
/** The response of deleting an entry. */
export type DeleteEntryResult = z.infer<typeof deleteEntryResult>;

/** One page of a list, from either of the two page formats (reference, "Response envelopes"). */
export interface Page<Item> {
  readonly items: readonly Item[];
  /** 1-based. */
  readonly page: number | undefined;
  /** The maximum number of items per page; for threats, reports and days, the number on this page. */
  readonly page_size: number | undefined;
  /** The number of items on all pages. */
  readonly total: number | undefined;
}

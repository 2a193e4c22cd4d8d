import { z } from "zod";
import { entryTypes } from "./canonical";

/*
 * One schema for each resource of the reference. They define the types that the handlers return, and `/openapi.json` is
 * generated from them. Every description comes from the reference or says that the reference is silent.
 */

/**
 * Builds the schema of an RFC 3339 timestamp. The reference shows no format for some of its dates; the sandbox uses
 * this one everywhere.
 */
function buildDateTimeSchema(description?: string) {
  return z.string().meta({ format: "date-time", ...(description !== undefined && { description }) });
}

function count(description?: string) {
  const schema = z.int().min(0);
  return description === undefined ? schema : schema.describe(description);
}

/** The values of `verdict` that the sandbox uses. A client must expect others. */
export const verdicts = [
  "unknown",
  "spam",
  "malicious",
  "safe",
  "allowed",
  "denied",
  "simulation",
  "graymail",
  "no_analysis",
] as const;

export type SandboxVerdict = (typeof verdicts)[number];

const verdict = z
  .string()
  .meta({ description: `One of: ${verdicts.join(", ")}. Others may follow.`, examples: ["malicious"] });

export const actions = [
  "moved_to_trash",
  "moved_to_spam",
  "moved_to_graymail",
  "moved_to_promotions",
  "quarantined",
  "released_from_quarantine",
  "restored",
  "none",
] as const;

export type Action = (typeof actions)[number];

export const threatIndicatorResponseSchema = z
  .object({ indicator_type: z.string(), explanation: z.string(), grounding: z.string() })
  .meta({ id: "ThreatIndicator" });

export const threatResponseSchema = z
  .object({
    id: z.string(),
    action_taken: z.enum(actions),
    criticality: z.string().meta({ description: "One of: low, medium, high.", examples: ["high"] }),
    verdict,
    detection_time: buildDateTimeSchema("When the threat was detected."),
    time: buildDateTimeSchema("When the message arrived. All windows and sort orders use this time."),
    remediation_time: buildDateTimeSchema("When the action was taken. Absent if no action was taken.").optional(),
    reasoning: z.string(),
    recipient_email: z.string(),
    recipient_name: z.string(),
    sender_email: z.string(),
    sender_name: z.string(),
    sender_domain: z.string(),
    sender_registry_date: z.string().meta({ format: "date", description: "When the sender's domain was registered." }),
    source: z.string().describe("The source of the detection: mail_flow or mailbox_scan."),
    subject: z.string(),
    threat_type: z.string(),
    threat_indicators: z.array(threatIndicatorResponseSchema),
  })
  .meta({ id: "Threat" });

export const phishingReportResponseSchema = z
  .object({
    id: z.string(),
    original_email_internet_message_id: z.string().describe("Internet Message ID of the reported email"),
    report_internet_message_id: z.string().describe("Internet Message ID of the report email the user sent"),
    reasoning: z.string(),
    report_date: buildDateTimeSchema(),
    reporter: z.string(),
    sender: z.string(),
    subject: z.string(),
    verdict,
  })
  .meta({ id: "PhishingReport" });

export const phishingReportDetailResponseSchema = z
  .object({
    ...phishingReportResponseSchema.shape,
    to: z.array(z.string()),
    cc: z.array(z.string()),
    bcc: z.array(z.string()),
    email_content_url: z.string(),
    response_content_url: z.string(),
  })
  .meta({ id: "PhishingReportDetail" });

export const threatsOverTimeItemResponseSchema = z
  .object({ date: buildDateTimeSchema("The start of the day, UTC."), count_threats: count() })
  .meta({ id: "ThreatsOverTimeItem" });

export const targetedEntityResponseSchema = z
  .object({ full_name: z.string(), job_title: z.string(), count_threats: count() })
  .meta({ id: "TargetedEntity" });

export const threatTypeCountResponseSchema = z
  .object({ type: z.string(), count_threats: count() })
  .meta({ id: "ThreatTypeCount" });

export const hoursSavedResponseSchema = z
  .object({
    hours_saved: z.number().min(0).describe("estimated hours saved from prevented threats in the period"),
  })
  .meta({ id: "HoursSaved" });

export const protectedInboxesResponseSchema = z
  .object({
    protected_inboxes: count("count of unique protected inboxes that received mail in the period"),
  })
  .meta({ id: "ProtectedInboxes" });

export const meanTimeToAnalyzeResponseSchema = z
  .object({ analysis_time: z.number().min(0).describe("average seconds to analyze a report") })
  .meta({ id: "MeanTimeToAnalyze" });

export const vipStoredRowResponseSchema = z
  .object({
    email: z.string().describe("mailbox address; empty for a VIP without a mailbox"),
    comment: z.string(),
    added_by: z.string().describe("Label of the API key; empty when the VIP was detected automatically."),
    date_added: buildDateTimeSchema(),
    updated_at: buildDateTimeSchema(),
    source: z.enum(["auto", "manual"]),
  })
  .meta({ id: "VipStoredRow" });

export const vipEmployeeResponseSchema = z
  .object({
    ...vipStoredRowResponseSchema.shape,
    full_name: z.string(),
    job_title: z.string(),
    department: z.string(),
  })
  .meta({ id: "VipEmployee", description: "A row without a mailbox is a real VIP." });

export const addVipResponseSchema = z
  .object({
    added: z.array(z.string()),
    already_vip: z.array(z.string()).describe("Addresses already listed; not an error"),
    not_in_org: z
      .array(z.string())
      .describe("Addresses outside the organization; with any of them, nothing is written"),
  })
  .meta({ id: "AddVipResult" });

export const removeVipResponseSchema = z
  .object({ affected: count("counts the exclusions written, not the VIPs removed") })
  .meta({ id: "RemoveVipResult" });

export const allowDenyEntryResponseSchema = z
  .object({
    id: z.string(),
    list: z.enum(["allow", "deny"]),
    entry_type: z.enum(entryTypes).describe("The entry is a domain, an IP address or an email address."),
    value: z.string().describe("the domain, IP or email address"),
    verdict_scope: z.string().meta({ examples: ["global"] }),
    comment: z.string(),
    created_at: buildDateTimeSchema(),
    created_by: z.string(),
  })
  .meta({ id: "AllowDenyEntry" });

export const deleteEntryResponseSchema = z
  .object({ deleted: z.boolean(), deleted_at: buildDateTimeSchema(), deleted_by: z.string(), id: z.string() })
  .meta({ id: "DeleteEntryResult" });

/** A detected email threat, as the service returns it (reference, "Threat"). */
export type SandboxThreat = z.infer<typeof threatResponseSchema>;
export type SandboxThreatIndicator = z.infer<typeof threatIndicatorResponseSchema>;

/** A phishing report in list form (reference, "Phishing report"). */
export type SandboxPhishingReport = z.infer<typeof phishingReportResponseSchema>;
export type SandboxPhishingReportDetail = z.infer<typeof phishingReportDetailResponseSchema>;

export type ThreatsOverTimeItem = z.infer<typeof threatsOverTimeItemResponseSchema>;
export type SandboxTargetedEntity = z.infer<typeof targetedEntityResponseSchema>;
export type SandboxThreatTypeCount = z.infer<typeof threatTypeCountResponseSchema>;

/** The response to a comment edit (reference, "VIP stored row"). */
export type SandboxVipStoredRow = z.infer<typeof vipStoredRowResponseSchema>;

/** A row of the VIP list (reference, "VIP employee (list row)"). Dates are RFC 3339. */
export type SandboxVipRow = z.infer<typeof vipEmployeeResponseSchema>;

/** The outcome of an add for each mailbox. */
export type SandboxAddVipResult = z.infer<typeof addVipResponseSchema>;

/** An entry as the service returns it (reference, "Allow/deny entry"). Ids are opaque and can contain any characters. */
export type SandboxEntryRow = z.infer<typeof allowDenyEntryResponseSchema>;

import { z } from "zod";
import { ENTRY_LISTS } from "../model/assumptions";
import { entryStateShape } from "../model/entry-fields";
import { jsonArray, jsonCountField, jsonObject, jsonTextField } from "../model/json-schema-builders";
import { metadataShape } from "../settings-files/element-fields";
import type { FileLocation, Finding } from "../settings-files/finding";

export const PLAN_FORMAT = 1;

const listSchema = z.enum(ENTRY_LISTS);

/** A {@link FileLocation} as a zod schema. Programs see the type without zod. */
export const fileLocationSchema = jsonObject({
  file: jsonTextField("The file, relative to the working directory."),
  line: z.int().min(1).describe("From 1."),
  column: z.int().min(1).describe("From 1, in UTF-16 units."),
  endLine: z.int().min(1).exactOptional(),
  endColumn: z.int().min(1).describe("Exclusive.").exactOptional(),
} satisfies Record<keyof FileLocation, z.ZodType>).meta({ id: "FileLocation", description: "A location in a file." });

export const kindSchema = z.enum(["entry", "vip"]);
export const operationSchema = z.enum(["add", "change", "remove"]);

const findingSchema = jsonObject({
  code: jsonTextField("A stable name of the kind of finding, such as allow-free-mail."),
  level: z.enum(["error", "warning", "note"]),
  message: jsonTextField("A sentence for people, without the location."),
  place: fileLocationSchema.exactOptional(),
  subject: jsonObject({ kind: kindSchema, key: z.string() }).exactOptional(),
} satisfies Record<keyof Finding, z.ZodType>).meta({ id: "Finding", description: "The finding's message." });

export const planEntryStateSchema = jsonObject({
  ...entryStateShape,
  createdBy: jsonTextField("The person who created it, according to the service.").exactOptional(),
  createdAt: jsonTextField("When it was created, according to the service.").exactOptional(),
}).meta({ id: "EntryState", description: "The current or future state of an entry or VIP." });

export type PlanEntryState = z.infer<typeof planEntryStateSchema>;

export const subjectShape = {
  kind: kindSchema,
  key: jsonTextField("The value or mailbox, with the fields that distinguish it from others with the same value."),
  value: jsonTextField("The canonical value or mailbox."),
  unicode: jsonTextField("The same in its own script, if the canonical form is punycode.").exactOptional(),
  entryType: jsonTextField(
    "Only for entries: domain, ip, email_address, or another type of the service.",
  ).exactOptional(),
  verdictScope: jsonTextField("Only for entries.").exactOptional(),
};

const countsSchema = jsonArray(
  jsonObject({ name: z.string(), count: jsonCountField("The count.") }).meta({ id: "Count" }),
);

const recipientsSchema = jsonArray(
  jsonObject({ email: z.string(), isVip: z.boolean(), count: jsonCountField("The number of threats.") }).meta({
    id: "Recipient",
  }),
  "VIPs first, then by count; at most 10.",
);

const targetsShape = {
  recipients: recipientsSchema,
  recipientCount: jsonCountField("The total number of mailboxes."),
  vipCount: jsonCountField("How many of them belong to VIPs."),
};

export const evidenceSchema = jsonObject({
  applies: z.boolean().describe("Whether evidence is available for this kind of value."),
  threats: jsonCountField("Threats in the window."),
  verdicts: countsSchema.describe("The most frequent first."),
  actions: countsSchema,
  lastThreatAt: jsonTextField("When the latest one was detected.").exactOptional(),
  ...targetsShape,
  reports: jsonCountField("User reports about it."),
  reportVerdicts: countsSchema,
  lastReportAt: z.string().exactOptional(),
  senders: countsSchema.describe("The senders of a domain's threats; at most 5."),
  senderCount: jsonCountField("The total number of senders."),
}).meta({
  id: "Evidence",
  description:
    "Evidence from the tenant's own mail about an entry or VIP. Domain: mail from it and its subdomains. Mailbox: mail from it. VIP: threats sent to it. IP address: nothing, because the service doesn't report a threat's address.",
});

export type Evidence = z.infer<typeof evidenceSchema>;
export type NamedCount = Evidence["verdicts"][number];
export type RecipientCount = Evidence["recipients"][number];

export const planChangeSchema = jsonObject({
  ...subjectShape,
  operation: operationSchema,
  before: planEntryStateSchema.describe("Its state at the tenant; absent for an addition.").exactOptional(),
  after: planEntryStateSchema.describe("Its declared state; absent for a removal.").exactOptional(),
  reason: jsonTextField(
    "The reason, if the files don't show it at its location (expired on 2026-10-31, no longer declared); and what changed at the tenant since the stack's last run.",
  ).exactOptional(),
  mayReplace: jsonArray(
    jsonObject({ key: z.string(), before: planEntryStateSchema }),
    "Entries of the same value and list in another scope. If the service allows only one entry per value, the addition replaces one of these (adopt: true).",
  ).exactOptional(),
  ...metadataShape,
  acceptedRiskReason: jsonTextField(
    "The reason for accepting its risks: the acceptRisk of the declared or expired entry.",
  ).exactOptional(),
  place: fileLocationSchema.describe("The line that declares it, or declared the expired entry.").exactOptional(),
  overrides: jsonArray(fileLocationSchema, "The entries of included files that it replaces.").exactOptional(),
  resource: jsonTextField("For a program: the resource that declares it.").exactOptional(),
  findings: jsonArray(findingSchema),
  evidence: evidenceSchema.exactOptional(),
  severity: z
    .enum(["danger", "accepted", "warning", "none"])
    .describe(
      "The severity. danger: an allow that let malicious mail through in the backtest, or whose sender has malicious verdicts; the removal of a deny of such a sender; a risk finding. accepted: one of these, or a warning, with a reason in acceptRisk. warning: a finding, or other evidence against it. none: no risks found.",
    ),
}).meta({ id: "Change", description: "One entry or VIP that a run would add, change or remove." });

export type PlanChange = z.infer<typeof planChangeSchema>;
export type ChangeOperation = PlanChange["operation"];
export type ChangeSeverity = PlanChange["severity"];

const exampleSchema = jsonObject({
  id: jsonTextField("The threat's id."),
  time: z.string().exactOptional(),
  sender: z.string().exactOptional(),
  recipient: z.string().exactOptional(),
  subject: z.string().exactOptional(),
  verdict: z.string().exactOptional(),
}).meta({ id: "Example", description: "A threat that would have been delivered." });

const backtestSchema = jsonObject({
  threats: jsonCountField("The number of replayed threats."),
  allows: jsonArray(
    jsonObject({
      key: z.string(),
      deliveredCount: jsonCountField("Stopped threats that would have been delivered."),
      verdicts: countsSchema,
      ...targetsShape,
      examples: jsonArray(exampleSchema, "At most 3; malicious ones and those to VIPs come first."),
    }),
    "For each new or changed allow; those with the most threats, and with VIPs, come first.",
  ),
  denies: jsonArray(
    jsonObject({
      key: z.string(),
      matchCount: jsonCountField("Threats that match it."),
      stoppedCount: jsonCountField("Those of them that reached a mailbox and stayed there."),
      ...targetsShape,
    }),
    "For each new or changed deny.",
  ),
  unmatchedDenies: jsonArray(z.string(), "Keys of denies without a matching threat, sorted."),
  denyCount: jsonCountField("The number of denies after the change."),
}).meta({
  id: "Backtest",
  description: "The window's threats, replayed against the planned lists. An estimate.",
});

export type Backtest = z.infer<typeof backtestSchema>;
export type BacktestAllow = Backtest["allows"][number];
export type BacktestExample = BacktestAllow["examples"][number];
export type BacktestDeny = Backtest["denies"][number];

export const evidenceSummarySchema = jsonObject({
  days: jsonCountField("The look-back window in days."),
  threats: jsonCountField("The number of checked threats."),
  reports: jsonCountField("The number of checked reports."),
  from: jsonTextField(
    "The start of the complete data (UTC): later than the window's start if a limit truncated it.",
  ).exactOptional(),
  until: jsonTextField("The end of the data (UTC)."),
  complete: z.boolean().describe("Whether it is complete for the window."),
  missing: jsonArray(z.string(), "The reasons for missing data, one sentence each: no permission, a timeout, a limit."),
});

export type EvidenceSummary = z.infer<typeof evidenceSummarySchema>;

/** The mail evidence that `why` shows for one entry. Not part of a plan. */
export const entryRemovalEstimateSchema = jsonObject(
  {
    decidedCount: jsonCountField("Threats that the entry decides."),
    reversedCount: jsonCountField(
      "For a deny, threats that another entry would let through; for an allow, that another entry would stop.",
    ),
    undecidedCount: jsonCountField("Mail that no other entry decides, so the service's own analysis would."),
    ...targetsShape,
  },
  "The estimated results of the threats without the entry, as in a backtest.",
);

export type EntryRemovalEstimate = z.infer<typeof entryRemovalEstimateSchema>;

/** The format of `plan --json`, for writing and reading. All times are ISO 8601 in UTC. */
export const planSchema = jsonObject({
  format: z.literal(PLAN_FORMAT).describe("The version of this format."),
  createdAt: jsonTextField("When the tenant was read (UTC)."),
  tenant: jsonObject({
    host: jsonTextField("The service's host."),
    name: jsonTextField("The tenant's name in this plan: the directory or file of its settings, or the stack."),
  }),
  source: jsonObject({
    kind: z.enum(["files", "preview"]).describe("Settings files, or the pulumi preview of a program."),
    files: jsonArray(z.string(), "The first requested one; or the one with the preview."),
    stack: jsonTextField("The stack whose state was read; absent if none was read.").exactOptional(),
    resource: jsonTextField("The name of the TenantSettings in the stack, if it has several.").exactOptional(),
  }),
  digest: jsonTextField("The digest of the tenant, of the declarations, and of the changed elements' actual state."),
  rules: z
    .record(z.string(), z.string())
    .readonly()
    .describe(
      "The policy, the options of the lists and the own domains, each as JSON keyed by its path. Absent in a plan of an earlier release.",
    )
    .exactOptional(),
  changes: jsonArray(planChangeSchema, "Most important first."),
  blockers: jsonArray(
    jsonObject({
      code: jsonTextField("removal-guard, protect, plan-check."),
      message: jsonTextField("One or more lines."),
    }),
    "The reasons why the run would be rejected; empty if there are none.",
  ),
  unmanaged: jsonArray(
    jsonObject({ ...subjectShape, before: planEntryStateSchema }),
    "The unmanaged entries of the tenant; they stay unchanged.",
  ),
  expired: jsonArray(
    jsonObject({
      ...subjectShape,
      list: listSchema.exactOptional(),
      expires: jsonTextField("The last day (UTC)."),
      place: fileLocationSchema.exactOptional(),
      isPresent: z.boolean().describe("Whether the tenant still has it."),
      isKept: z
        .literal(true)
        .describe("Whether the next run keeps it, because the stack has never declared it.")
        .exactOptional(),
    }),
    "Expired entries in the files.",
  ),
  findings: jsonArray(findingSchema, "The findings about all declarations, including those of changes."),
  counts: jsonObject({
    added: jsonCountField("Changes with the operation add."),
    changed: jsonCountField("Changes with the operation change."),
    removed: jsonCountField("Changes with the operation remove."),
    unchanged: jsonCountField("Declared, and matching at the tenant."),
    unmanaged: jsonCountField("At the tenant, but undeclared."),
  }),
  evidence: evidenceSummarySchema.describe("The sources of the evidence."),
  backtest: backtestSchema.exactOptional(),
}).meta({
  title: "Email security plan",
  description:
    "The changes of a run at a tenant, and the evidence about them, as `email-security plan` writes it as JSON.",
});

export type Plan = z.infer<typeof planSchema>;
export type PlanTenantInfo = Plan["tenant"];
export type PlanSource = Plan["source"];
export type PlanBlocker = Plan["blockers"][number];
export type UnmanagedItem = Plan["unmanaged"][number];
export type ExpiredItem = Plan["expired"][number];

import { z } from "zod";
import { metadataShape } from "../files/element-fields";
import type { Finding, Place } from "../files/finding";
import { ENTRY_LISTS } from "../settings/assumptions";
import { entryStateShape } from "../settings/entry-fields";
import { jsonCountField, jsonTextField } from "../settings/json-fields";

/** The version of the plan format. */
export const PLAN_FORMAT = 1;

const listSchema = z.enum(ENTRY_LISTS);

/** A {@link Place} as a zod schema. Programs see the type without zod. */
export const placeSchema = z
  .strictObject({
    file: jsonTextField("The file, relative to the working directory."),
    line: z.int().min(1).describe("From 1."),
    column: z.int().min(1).describe("From 1, in UTF-16 units."),
    endLine: z.int().min(1).exactOptional(),
    endColumn: z.int().min(1).describe("Exclusive.").exactOptional(),
  } satisfies Record<keyof Place, z.ZodType>)
  .readonly()
  .meta({ id: "Place", description: "Where something stands in a file." });

export const kindSchema = z.enum(["entry", "vip"]);
export const signSchema = z.enum(["add", "change", "remove"]);

const findingSchema = z
  .strictObject({
    code: jsonTextField("A stable name of the kind of finding, such as allow-free-mail."),
    level: z.enum(["error", "warning", "note"]),
    message: jsonTextField("A sentence for people, without the place."),
    place: placeSchema.exactOptional(),
    subject: z.strictObject({ kind: kindSchema, key: z.string() }).readonly().exactOptional(),
  } satisfies Record<keyof Finding, z.ZodType>)
  .readonly()
  .meta({ id: "Finding", description: "The finding's message." });

export const planEntryStateSchema = z
  .strictObject({
    ...entryStateShape,
    by: jsonTextField("The person who made it, according to the service.").exactOptional(),
    at: jsonTextField("When it was made, as the service tells it.").exactOptional(),
  })
  .readonly()
  .meta({ id: "Standing", description: "An entry or a VIP as it is or will be." });

export type PlanEntryState = z.infer<typeof planEntryStateSchema>;

/** The identity of an entry or VIP. */
export const subjectShape = {
  kind: kindSchema,
  key: jsonTextField("The value or mailbox, with what tells it from others of the same value."),
  value: jsonTextField("The canonical value or mailbox."),
  unicode: jsonTextField("The same in its own script, where the canonical form is punycode.").exactOptional(),
  entryType: jsonTextField(
    "Only of entries: domain, ip, email_address, or what else the service holds.",
  ).exactOptional(),
  verdictScope: jsonTextField("Only of entries.").exactOptional(),
};

const countsSchema = z
  .array(
    z
      .strictObject({ name: z.string(), count: jsonCountField("How often.") })
      .readonly()
      .meta({ id: "Count" }),
  )
  .readonly();

const recipientsSchema = z
  .array(
    z
      .strictObject({ email: z.string(), isVip: z.boolean(), count: jsonCountField("How many threats.") })
      .readonly()
      .meta({ id: "Recipient" }),
  )
  .readonly()
  .describe("VIPs first, then by count; at most 10.");

const targetsShape = {
  recipients: recipientsSchema,
  recipientCount: jsonCountField("How many mailboxes in all."),
  vipCount: jsonCountField("How many of them are VIPs'."),
};

export const evidenceSchema = z
  .strictObject({
    applies: z.boolean().describe("Whether anything can be said of this kind of value."),
    threats: jsonCountField("Threats in the window."),
    verdicts: countsSchema.describe("The most frequent first."),
    actions: countsSchema,
    last: jsonTextField("When the last one was detected.").exactOptional(),
    ...targetsShape,
    reports: jsonCountField("The users' reports about it."),
    reportVerdicts: countsSchema,
    lastReport: z.string().exactOptional(),
    senders: countsSchema.describe("The senders that a domain's threats came from; at most 5."),
    senderCount: jsonCountField("How many senders in all."),
  })
  .readonly()
  .meta({
    id: "Evidence",
    description:
      "Evidence from the tenant's own mail about an entry or VIP. Domain: mail from it and its subdomains. Mailbox: mail from it. VIP: threats sent to it. IP address: nothing, since the service does not report a threat's address.",
  });

export type Evidence = z.infer<typeof evidenceSchema>;
export type NamedCount = Evidence["verdicts"][number];
export type RecipientCount = Evidence["recipients"][number];

export const planChangeSchema = z
  .strictObject({
    ...subjectShape,
    sign: signSchema,
    before: planEntryStateSchema.describe("As the tenant holds it; absent for an addition.").exactOptional(),
    after: planEntryStateSchema.describe("As it is declared; absent for a removal.").exactOptional(),
    why: jsonTextField(
      "Why, where the files do not say it in their place (expired on 2026-10-31, no longer declared); and what was done at the tenant since the stack's last run.",
    ).exactOptional(),
    mayReplace: z
      .array(z.strictObject({ key: z.string(), before: planEntryStateSchema }).readonly())
      .readonly()
      .describe(
        "Entries of the same value and list in another scope. Where the service holds one entry a value only, the addition replaces one of these (adopt: true).",
      )
      .exactOptional(),
    ...metadataShape,
    accepted: jsonTextField(
      "The reason why its risks are accepted: the acceptRisk of the declared entry, or of the expired one.",
    ).exactOptional(),
    place: placeSchema.describe("Which line declares it, or declared what expired.").exactOptional(),
    overrides: z
      .array(placeSchema)
      .readonly()
      .describe("The entries of included files that it replaces.")
      .exactOptional(),
    resource: jsonTextField("The resource that declares it, of a program.").exactOptional(),
    findings: z.array(findingSchema).readonly(),
    evidence: evidenceSchema.exactOptional(),
    alarm: z
      .enum(["danger", "accepted", "warning", "none"])
      .describe(
        "How bad it looks. danger: an allow that let malicious mail through in the backtest, or whose sender has malicious verdicts; the end of a deny of such a sender; a finding of risk. accepted: one of these, or a warning, with an acceptRisk that gives the reason. warning: a finding, or other evidence against it. none: no risks found.",
      ),
  })
  .readonly()
  .meta({ id: "Change", description: "One entry or VIP that a run would add, change or remove." });

export type PlanChange = z.infer<typeof planChangeSchema>;
export type ChangeSign = PlanChange["sign"];
export type Alarm = PlanChange["alarm"];

const exampleSchema = z
  .strictObject({
    id: jsonTextField("The threat's id."),
    time: z.string().exactOptional(),
    sender: z.string().exactOptional(),
    recipient: z.string().exactOptional(),
    subject: z.string().exactOptional(),
    verdict: z.string().exactOptional(),
  })
  .readonly()
  .meta({ id: "Example", description: "A threat that would have come through." });

const backtestSchema = z
  .strictObject({
    threats: jsonCountField("How many threats were replayed."),
    allows: z
      .array(
        z
          .strictObject({
            key: z.string(),
            letThrough: jsonCountField("Threats that were stopped and would have come through."),
            verdicts: countsSchema,
            ...targetsShape,
            examples: z.array(exampleSchema).readonly().describe("At most 3, malicious ones and those to VIPs first."),
          })
          .readonly(),
      )
      .readonly()
      .describe("Of each new or changed allow; those with the most, and with VIPs, first."),
    denies: z
      .array(
        z
          .strictObject({
            key: z.string(),
            matched: jsonCountField("Threats that came under it."),
            stopped: jsonCountField("Of these, those that had reached a mailbox and stayed."),
            ...targetsShape,
          })
          .readonly(),
      )
      .readonly()
      .describe("Of each new or changed deny."),
    unmatchedDenies: z.array(z.string()).readonly().describe("Keys of denies that no threat came under, sorted."),
    denyCount: jsonCountField("How many denies there would be."),
  })
  .readonly()
  .meta({
    id: "Backtest",
    description: "The window's threats against the lists as they would be. An estimate.",
  });

export type Backtest = z.infer<typeof backtestSchema>;
export type BacktestAllow = Backtest["allows"][number];
export type BacktestExample = BacktestAllow["examples"][number];
export type BacktestDeny = Backtest["denies"][number];

export const evidenceSummarySchema = z
  .strictObject({
    days: jsonCountField("The look-back window in days."),
    threats: jsonCountField("Threats that were looked at."),
    reports: jsonCountField("Reports that were looked at."),
    from: jsonTextField(
      "From when on it is complete (UTC): later than the window's start where a bound cut it off.",
    ).exactOptional(),
    until: jsonTextField("Until when (UTC)."),
    complete: z.boolean().describe("Whether it is all that the window holds."),
    missing: z
      .array(z.string())
      .readonly()
      .describe("Why something is missing, a sentence each: no permission, a timeout, a bound."),
  })
  .readonly();

export type EvidenceSummary = z.infer<typeof evidenceSummarySchema>;

/** The mail evidence that `why` shows for one entry. Not part of a plan. */
export const entryRemovalEstimateSchema = z
  .strictObject({
    decided: jsonCountField("Threats that the entry decides."),
    otherwise: jsonCountField("Of a deny, what another entry would let through; of an allow, stop."),
    notKnown: jsonCountField("Mail that no other entry decides, so that only the service would judge it."),
    ...targetsShape,
  })
  .readonly()
  .describe("The estimated results of the threats without the entry, as in a backtest.");

export type EntryRemovalEstimate = z.infer<typeof entryRemovalEstimateSchema>;

/** The format of `plan --json`, for writing and reading. All times are ISO 8601 in UTC. */
export const planSchema = z
  .strictObject({
    format: z.literal(PLAN_FORMAT).describe("The version of this format."),
    createdAt: jsonTextField("When the tenant was read (UTC)."),
    tenant: z
      .strictObject({
        host: jsonTextField("The service's host."),
        name: jsonTextField("The tenant's name here: the directory or file of its settings, or the stack."),
      })
      .readonly(),
    source: z
      .strictObject({
        kind: z.enum(["files", "preview"]).describe("Settings files, or the pulumi preview of a program."),
        files: z.array(z.string()).readonly().describe("The one asked for first; or the one that holds the preview."),
        stack: jsonTextField("The stack whose state was read; absent when none was.").exactOptional(),
        resource: jsonTextField("The name of the TenantSettings in the stack, where it has several.").exactOptional(),
      })
      .readonly(),
    digest: jsonTextField("Of the tenant, what is declared, and what the tenant holds of what changes."),
    rules: z
      .record(z.string(), z.string())
      .readonly()
      .describe(
        "The policy, the options of the lists and own domains, each as JSON by its path. Absent in a plan of an earlier release.",
      )
      .exactOptional(),
    changes: z.array(planChangeSchema).readonly().describe("The most important first."),
    guards: z
      .array(
        z
          .strictObject({
            code: jsonTextField("removal-guard, protect, plan-check."),
            message: jsonTextField("One or several lines."),
          })
          .readonly(),
      )
      .readonly()
      .describe("Why the run would be refused; empty when it would not be."),
    unmanaged: z
      .array(z.strictObject({ ...subjectShape, before: planEntryStateSchema }).readonly())
      .readonly()
      .describe("The unmanaged entries of the tenant; they stay unchanged."),
    expired: z
      .array(
        z
          .strictObject({
            ...subjectShape,
            list: listSchema.exactOptional(),
            expires: jsonTextField("The last day (UTC)."),
            place: placeSchema.exactOptional(),
            isThere: z.boolean().describe("Whether the tenant still holds it."),
            stays: z
              .literal(true)
              .describe("That the next run leaves it: the stack has never declared it.")
              .exactOptional(),
          })
          .readonly(),
      )
      .readonly()
      .describe("Entries that the files declared until a day that is past."),
    findings: z.array(findingSchema).readonly().describe("Of all that is declared, those of changes among them."),
    counts: z
      .strictObject({
        added: jsonCountField("Changes of sign add."),
        changed: jsonCountField("Changes of sign change."),
        removed: jsonCountField("Changes of sign remove."),
        unchanged: jsonCountField("Declared, and as declared at the tenant."),
        unmanaged: jsonCountField("At the tenant, and not declared."),
      })
      .readonly(),
    evidence: evidenceSummarySchema.describe("The sources of the evidence."),
    backtest: backtestSchema.exactOptional(),
  })
  .readonly()
  .meta({
    title: "Email security plan",
    description:
      "The changes of a run at a tenant, and the evidence about them, as `email-security plan` writes it as JSON.",
  });

export type Plan = z.infer<typeof planSchema>;
export type PlanTenantInfo = Plan["tenant"];
export type PlanSource = Plan["source"];
export type PlanBlocker = Plan["guards"][number];
export type UnmanagedItem = Plan["unmanaged"][number];
export type ExpiredItem = Plan["expired"][number];

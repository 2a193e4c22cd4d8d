import { z } from "zod";
import { sentFieldsShape } from "../../model/entry-fields";
import { jsonArray, jsonCountField, jsonObject, jsonTextField } from "../../model/json-schema-builders";
import { formatJson } from "../../model/text";

export const FLEET_STATUS_FORMAT = 1;

/** The statuses of a tenant, the worst first. */
export const SYNC_STATUSES = [
  "wrong-key",
  "unreachable",
  "unusable",
  "drifted",
  "unknown",
  "never-rolled-out",
  "behind",
  "in-sync",
] as const;

const names = jsonArray(z.string(), "The names of the tenants whose files contain it.");
const list = z.enum(["allow", "deny", "vip"]);
const scope = jsonTextField("The verdict scope, if it is not the default.").exactOptional();

const line = jsonObject({ file: jsonTextField("As it was specified."), line: z.int().min(1) }).meta({
  id: "Line",
  description: "A line of a settings file.",
});

export type FleetLine = z.infer<typeof line>;

const difference = jsonObject({
  driftKind: z
    .enum(["added", "changed", "missing", "pending-removal"])
    .describe(
      "added: exists, but undeclared. changed: exists with other values. missing: declared, but doesn't exist. pending-removal: still exists, and is to be removed.",
    ),
  list,
  value: jsonTextField("In canonical form."),
  scope,
  actual: jsonObject(
    {
      ...sentFieldsShape,
      list: z.string().exactOptional(),
      createdBy: jsonTextField("The person who created it, according to the service.").exactOptional(),
      createdAt: jsonTextField("When it was created, according to the service.").exactOptional(),
    },
    "Its state at the tenant, with its author and time if the service reports them.",
  ).exactOptional(),
  declared: jsonObject(sentFieldsShape).exactOptional(),
  place: line.describe("Where it is or was declared.").exactOptional(),
  isUnmanaged: z
    .literal(true)
    .describe("It is undeclared, and its list's mode keeps such elements: no rollout removes it.")
    .exactOptional(),
  reason: jsonTextField(
    "Why it will be removed, or what changed at the tenant since its last rollout, if known.",
  ).exactOptional(),
  risks: jsonArray(z.string(), "The codes of the added entry's risks.").exactOptional(),
}).meta({ id: "Difference", description: "An entry or VIP that differs from the files." });

export type FleetDifference = z.infer<typeof difference>;

const tenant = jsonObject({
  name: z.string(),
  labels: z.record(z.string(), z.string()).readonly(),
  host: jsonTextField("The host of the service."),
  settings: jsonTextField("Its settings file."),
  stack: z.string(),
  syncStatus: z
    .enum(SYNC_STATUSES)
    .describe(
      "The worst first. wrong-key: its key is unavailable, rejected, or belongs to another tenant. unreachable: its service doesn't respond. unusable: its files are invalid, or it can't be read for another reason. drifted: it differs from its files and its last rollout. unknown: it differs from its files, and its last rollout is unknown. never-rolled-out: it differs from its files, and no rollout has changed it yet. behind: its files have changes that no rollout has applied. in-sync: it matches its files.",
    ),
  error: jsonObject(
    { code: jsonTextField("The code of the error."), message: z.string() },
    "Why it could not be read or checked.",
  ).exactOptional(),
  readAt: jsonTextField("When it was read (ISO 8601, UTC); absent if it was not read.").exactOptional(),
  elementCounts: jsonObject(
    { allow: z.int().min(0), deny: z.int().min(0), vips: z.int().min(0) },
    "The number of its elements of each kind.",
  ).exactOptional(),
  unchanged: jsonCountField("The number of entries and VIPs that match the files.").exactOptional(),
  drift: jsonArray(difference, "Its differences from its files and its last rollout."),
  pendingChanges: jsonArray(difference, "Changes in its files that no rollout has applied."),
  unclassified: jsonArray(
    difference,
    "Differences that are either drift or pending changes: no known rollout shows which.",
  ).exactOptional(),
  lastRollout: jsonObject(
    {
      id: z.string(),
      wave: z.string().describe("Absent if the journal doesn't have the rollout.").exactOptional(),
      state: z.enum(["done", "unchanged"]).describe("Absent if the journal doesn't have the rollout.").exactOptional(),
      finishedAt: jsonTextField("When that rollout finished at the tenant (ISO 8601, UTC)."),
    },
    "The newest rollout after which it matched the rollout's declarations, by the journal or by the stack's state.",
  ).exactOptional(),
  formerStack: jsonObject(
    { stack: z.string(), evidence: jsonTextField("The evidence for it, as a sentence.") },
    "The stack that it probably had before it was renamed in the targets file.",
  ).exactOptional(),
  formerAddress: jsonTextField(
    "The host and port of the service in its last rollout, if the targets file has another address now.",
  ).exactOptional(),
  acceptedSeq: z
    .int()
    .min(1)
    .describe(
      "The number of the rollout with which a person last accepted another tenant under this name and stack; absent if nobody did.",
    )
    .exactOptional(),
  skipped: jsonObject(
    {
      skippedAt: jsonTextField("When (ISO 8601, UTC)."),
      skippedBy: jsonTextField("The person: dana@build-7.").exactOptional(),
      reason: jsonTextField("Why."),
    },
    "Rollouts skip it, because a person skipped it.",
  ).exactOptional(),
  unappliedRollout: jsonObject(
    {
      id: z.string(),
      wave: z.string(),
      state: jsonTextField("The tenant's result in it: pending, running, failed."),
      rolloutState: jsonTextField("The rollout's state: running, waiting, stopped, abandoned, rolled-back, done."),
    },
    "The newest rollout after that one. It has not applied its settings to the tenant.",
  ).exactOptional(),
}).meta({ id: "Tenant", description: "The status of a tenant." });

export type TenantStatus = z.infer<typeof tenant>;
export type SyncStatus = TenantStatus["syncStatus"];

const expiringEntrySchema = jsonObject({
  list,
  value: jsonTextField("In canonical form."),
  scope,
  expires: jsonTextField("The last day (UTC) on which it applies."),
  isExpired: z.boolean(),
  owner: z.string().exactOptional(),
  ticket: z.string().exactOptional(),
  place: line,
  tenants: names,
}).meta({ id: "ExpiringEntry", description: "Entries of a file that expire soon, or have expired." });

export type ExpiringEntry = z.infer<typeof expiringEntrySchema>;

const finding = jsonObject({
  code: jsonTextField("A stable name of the kind of finding."),
  level: z.enum(["error", "warning", "note"]),
  message: z.string(),
  place: line.exactOptional(),
  tenants: names,
}).meta({ id: "Finding", description: "Findings about the files." });

export type FleetFinding = z.infer<typeof finding>;

/**
 * The status of the tenants of a targets file. Facts about a file appear once, with their tenants. Facts about a tenant appear with the
 * tenant.
 */
export const statusSchema = jsonObject({
  format: z.literal(FLEET_STATUS_FORMAT).describe("The version of this format."),
  readAt: jsonTextField("When reading started (ISO 8601, UTC)."),
  file: jsonTextField("The targets file."),
  project: jsonTextField("The Pulumi project of the stacks."),
  today: jsonTextField("The day (UTC) on which expiry is evaluated."),
  expiringUntil: jsonTextField("The last day (UTC) whose expiries are reported."),
  tenants: jsonArray(tenant, "In the order of the targets file; only the selected ones."),
  expiring: jsonArray(expiringEntrySchema, "Soonest first."),
  reviews: jsonArray(finding, "Entries that the team's policy requires a review for."),
  findings: jsonArray(finding, "Other findings about the files: risks, contradictions, overridden rules."),
  isJournalRead: z
    .boolean()
    .describe(
      "Whether the rollout journal was read; without it, only the state of a stack shows what its last rollout declared.",
    ),
  isComplete: z.boolean().describe("Whether all tenants were read."),
}).meta({
  title: "Email security fleet status",
  description: "The status of the tenants of a targets file, as `email-security fleet status` writes it as JSON.",
});

export type FleetStatus = z.infer<typeof statusSchema>;

export const formatStatusJson = formatJson<FleetStatus>;

import { z } from "zod";
import { sentFieldsShape } from "../../settings/entry-fields";
import { jsonCountField, jsonTextField } from "../../settings/json-fields";
import { formatJson } from "../../settings/text";

export const FLEET_STATUS_FORMAT = 1;

/** The statuses of a tenant, the worst first. */
export const SYNC_STATUSES = [
  "key-wrong",
  "unreachable",
  "unusable",
  "drifted",
  "not-known",
  "never-rolled-out",
  "behind",
  "in-sync",
] as const;

const names = z.array(z.string()).readonly().describe("The names of the tenants whose files contain it.");
const list = z.enum(["allow", "deny", "vip"]);
const scope = jsonTextField("The verdict scope, if it is not the default.").exactOptional();

const line = z
  .strictObject({ file: jsonTextField("As it was specified."), line: z.int().min(1) })
  .readonly()
  .meta({ id: "Line", description: "A line of a settings file." });

export type FleetLine = z.infer<typeof line>;

const difference = z
  .strictObject({
    what: z
      .enum(["added", "changed", "missing", "leaving"])
      .describe(
        "added: exists, but undeclared. changed: exists with other values. missing: declared, but doesn't exist. leaving: still exists, and is to be removed.",
      ),
    list,
    value: jsonTextField("In canonical form."),
    scope,
    there: z
      .strictObject({
        ...sentFieldsShape,
        list: z.string().exactOptional(),
        by: jsonTextField("The person who created it, according to the service.").exactOptional(),
        at: jsonTextField("When it was created, according to the service.").exactOptional(),
      })
      .readonly()
      .describe("Its state at the tenant, with its author and time if the service reports them.")
      .exactOptional(),
    declared: z.strictObject(sentFieldsShape).readonly().exactOptional(),
    place: line.describe("Where it is or was declared.").exactOptional(),
    isUnmanaged: z
      .literal(true)
      .describe("It is undeclared, and its list's mode keeps such elements: no rollout removes it.")
      .exactOptional(),
    why: jsonTextField(
      "Why it is leaving, or what changed at the tenant since its last rollout, if known.",
    ).exactOptional(),
    risks: z.array(z.string()).readonly().describe("The codes of the added entry's risks.").exactOptional(),
  })
  .readonly()
  .meta({ id: "Difference", description: "An entry or VIP that differs from the files." });

export type FleetDifference = z.infer<typeof difference>;

const tenant = z
  .strictObject({
    name: z.string(),
    labels: z.record(z.string(), z.string()).readonly(),
    host: jsonTextField("The host of the service."),
    settings: jsonTextField("Its settings file."),
    stack: z.string(),
    syncStatus: z
      .enum(SYNC_STATUSES)
      .describe(
        "The worst first. key-wrong: its key is unavailable, rejected, or belongs to another tenant. unreachable: its service doesn't respond. unusable: its files are invalid, or it can't be read for another reason. drifted: it differs from its files and its last rollout. not-known: it differs from its files, and its last rollout is unknown. never-rolled-out: it differs from its files, and no rollout has changed it yet. behind: its files have changes that no rollout has applied. in-sync: it matches its files.",
      ),
    error: z
      .strictObject({ code: jsonTextField("The code of the error."), message: z.string() })
      .readonly()
      .describe("Why it could not be read or checked.")
      .exactOptional(),
    readAt: jsonTextField("When it was read (ISO 8601, UTC); absent if it was not read.").exactOptional(),
    holds: z
      .strictObject({ allow: z.int().min(0), deny: z.int().min(0), vips: z.int().min(0) })
      .readonly()
      .describe("The number of its elements of each kind.")
      .exactOptional(),
    unchanged: jsonCountField("The number of entries and VIPs that match the files.").exactOptional(),
    drift: z.array(difference).readonly().describe("Its differences from its files and its last rollout."),
    behind: z.array(difference).readonly().describe("Changes in its files that no rollout has applied."),
    unattributed: z
      .array(difference)
      .readonly()
      .describe("Its differences from its files, if no known rollout shows what changed.")
      .exactOptional(),
    lastRollout: z
      .strictObject({
        id: z.string(),
        wave: z.string().describe("Absent if the journal doesn't have the rollout.").exactOptional(),
        state: z
          .enum(["done", "unchanged"])
          .describe("Absent if the journal doesn't have the rollout.")
          .exactOptional(),
        at: jsonTextField("When (ISO 8601, UTC)."),
      })
      .readonly()
      .describe(
        "The newest rollout after which it matched the rollout's declarations, by the journal or by the stack's state.",
      )
      .exactOptional(),
    formerStack: z
      .strictObject({ stack: z.string(), why: jsonTextField("The source of the information.") })
      .readonly()
      .describe("The stack that it probably had before it was renamed in the targets file.")
      .exactOptional(),
    formerAddress: jsonTextField(
      "The host and port of the service in its last rollout, if the targets file has another address now.",
    ).exactOptional(),
    acceptedSeq: z
      .int()
      .min(1)
      .describe(
        "The number of the rollout with which a person last accepted another tenant under this name and stack; absent where nobody did.",
      )
      .exactOptional(),
    skipped: z
      .strictObject({
        since: jsonTextField("Since when (ISO 8601, UTC)."),
        by: jsonTextField("The person who decided it: dana@build-7.").exactOptional(),
        reason: jsonTextField("Why."),
      })
      .readonly()
      .describe("Rollouts skip it, because a person skipped it.")
      .exactOptional(),
    notReachedBy: z
      .strictObject({
        id: z.string(),
        wave: z.string(),
        state: jsonTextField("The tenant's result in it: pending, running, failed."),
        rolloutState: jsonTextField("The rollout's state: running, waiting, stopped, abandoned, rolled-back, done."),
      })
      .readonly()
      .describe("The newest rollout after that one, which has not reached its declared settings.")
      .exactOptional(),
  })
  .readonly()
  .meta({ id: "Tenant", description: "The status of a tenant." });

export type TenantStatus = z.infer<typeof tenant>;
export type SyncStatus = TenantStatus["syncStatus"];

const expiringEntrySchema = z
  .strictObject({
    list,
    value: jsonTextField("In canonical form."),
    scope,
    expires: jsonTextField("The last day (UTC) on which it applies."),
    isOver: z.boolean(),
    owner: z.string().exactOptional(),
    ticket: z.string().exactOptional(),
    place: line,
    tenants: names,
  })
  .readonly()
  .meta({ id: "End", description: "Entries of a file that expire soon, or have expired." });

export type ExpiringEntry = z.infer<typeof expiringEntrySchema>;

const finding = z
  .strictObject({
    code: jsonTextField("A stable name of the kind of finding."),
    level: z.enum(["error", "warning", "note"]),
    message: z.string(),
    place: line.exactOptional(),
    tenants: names,
  })
  .readonly()
  .meta({ id: "Finding", description: "Findings about the files." });

export type FleetFinding = z.infer<typeof finding>;

/**
 * The status of the tenants of a targets file. Facts about a file appear once, with their tenants. Facts about a tenant appear with the
 * tenant.
 */
export const statusSchema = z
  .strictObject({
    format: z.literal(FLEET_STATUS_FORMAT).describe("The version of this format."),
    at: jsonTextField("When reading started (ISO 8601, UTC)."),
    file: jsonTextField("The targets file."),
    project: jsonTextField("The Pulumi project of the stacks."),
    today: jsonTextField("The day (UTC) on which expiry is evaluated."),
    until: jsonTextField("The last day (UTC) whose expiries are reported."),
    tenants: z.array(tenant).readonly().describe("In the order of the targets file; only the selected ones."),
    ends: z.array(expiringEntrySchema).readonly().describe("Soonest first."),
    reviews: z.array(finding).readonly().describe("Entries that the team's policy requires a review for."),
    findings: z
      .array(finding)
      .readonly()
      .describe("Other findings about the files: risks, contradictions, overridden rules."),
    isJournalRead: z
      .boolean()
      .describe(
        "Whether the rollout journal was read; without it, only the state of a stack shows what its last rollout declared.",
      ),
    isComplete: z.boolean().describe("Whether all tenants were read."),
  })
  .readonly()
  .meta({
    title: "Email security fleet status",
    description: "The status of the tenants of a targets file, as `email-security fleet status` writes it as JSON.",
  });

export type FleetStatus = z.infer<typeof statusSchema>;

export const formatStatusJson = formatJson<FleetStatus>;

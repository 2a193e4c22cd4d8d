import { z } from "zod";
import { sentFieldsShape } from "../../settings/entry-fields";
import { jsonCountField, jsonTextField } from "../../settings/json-fields";
import { formatJson } from "../../settings/text";

/** The version of the format of a fleet's status. */
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
  "in-step",
] as const;

const names = z.array(z.string()).readonly().describe("The names of the tenants whose files have it.");
const list = z.enum(["allow", "deny", "vip"]);
const scope = jsonTextField("The verdict scope, where it is not the default.").exactOptional();

const line = z
  .strictObject({ file: jsonTextField("As it was named."), line: z.int().min(1) })
  .readonly()
  .meta({ id: "Line", description: "A line of a settings file." });

export type FleetLine = z.infer<typeof line>;

const difference = z
  .strictObject({
    what: z
      .enum(["added", "changed", "missing", "leaving"])
      .describe(
        "added: there, and undeclared. changed: there, and otherwise. missing: not there. leaving: there still, and to go.",
      ),
    list,
    value: jsonTextField("In canonical form."),
    scope,
    there: z
      .strictObject({
        ...sentFieldsShape,
        list: z.string().exactOptional(),
        by: jsonTextField("The person who made it, according to the service.").exactOptional(),
        at: jsonTextField("When it was made, as the service tells it.").exactOptional(),
      })
      .readonly()
      .describe("As the tenant holds it, with who made it and when, as far as the service tells.")
      .exactOptional(),
    declared: z.strictObject(sentFieldsShape).readonly().exactOptional(),
    place: line.describe("Where it is declared, or was.").exactOptional(),
    isUnmanaged: z
      .literal(true)
      .describe("Nobody declares it, and the mode of its list leaves such: no rollout removes it.")
      .exactOptional(),
    why: jsonTextField(
      "Why it is leaving, or what was done at the tenant since its last rollout, as far as that is known.",
    ).exactOptional(),
    risks: z.array(z.string()).readonly().describe("The risks of the added entry, by their codes.").exactOptional(),
  })
  .readonly()
  .meta({ id: "Difference", description: "An entry or VIP that is not as the files declare it." });

export type FleetDifference = z.infer<typeof difference>;

const tenant = z
  .strictObject({
    name: z.string(),
    labels: z.record(z.string(), z.string()).readonly(),
    host: jsonTextField("The service's."),
    settings: jsonTextField("Its settings file."),
    stack: z.string(),
    standing: z
      .enum(SYNC_STATUSES)
      .describe(
        "The worst first. key-wrong: its key can't be had, is refused, or is another tenant's. unreachable: its service gives no answer. unusable: its files can't be used, or it can't be read for another reason. drifted: it holds something otherwise than its files and its last rollout have it. not-known: it differs from its files, and nothing here tells what its last rollout declared. never-rolled-out: it differs from its files, and no rollout has come to it yet. behind: its files say what no rollout has brought to it. in-step: it is as its files declare.",
      ),
    error: z
      .strictObject({ code: jsonTextField("The code of the error."), message: z.string() })
      .readonly()
      .describe("Why it could not be read or judged.")
      .exactOptional(),
    readAt: jsonTextField("When it was read (ISO 8601, UTC); absent where it was not.").exactOptional(),
    holds: z
      .strictObject({ allow: z.int().min(0), deny: z.int().min(0), vips: z.int().min(0) })
      .readonly()
      .describe("How many of each it holds.")
      .exactOptional(),
    unchanged: jsonCountField("How many entries and VIPs are as declared.").exactOptional(),
    drift: z.array(difference).readonly().describe("Its differences from its files and its last rollout."),
    behind: z.array(difference).readonly().describe("Changes of its files that no rollout has brought to it."),
    unattributed: z
      .array(difference)
      .readonly()
      .describe("Its differences from its files where no known rollout shows who changed it.")
      .exactOptional(),
    lastRollout: z
      .strictObject({
        id: z.string(),
        wave: z.string(),
        state: z.enum(["done", "unchanged"]),
        at: jsonTextField("When (ISO 8601, UTC)."),
      })
      .readonly()
      .describe("The newest rollout that left it as it declared.")
      .exactOptional(),
    formerStack: z
      .strictObject({ stack: z.string(), why: jsonTextField("The source of the information.") })
      .readonly()
      .describe("The stack that it most likely had before somebody renamed it in the targets file.")
      .exactOptional(),
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
      .describe("Rollouts leave it out, since a person said to go on without it.")
      .exactOptional(),
    notReachedBy: z
      .strictObject({
        id: z.string(),
        wave: z.string(),
        state: jsonTextField("The tenant's result in it: pending, running, failed."),
        rolloutState: jsonTextField("The rollout's state: running, waiting, stopped, abandoned, rolled-back, done."),
      })
      .readonly()
      .describe("The newest rollout after that one, which has not brought it to what it declares.")
      .exactOptional(),
  })
  .readonly()
  .meta({ id: "Tenant", description: "How one tenant stands." });

export type TenantStatus = z.infer<typeof tenant>;
export type SyncStatus = TenantStatus["standing"];

const expiringEntrySchema = z
  .strictObject({
    list,
    value: jsonTextField("In canonical form."),
    scope,
    expires: jsonTextField("The last day (UTC) on which it is declared."),
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
    at: jsonTextField("When the reading began (ISO 8601, UTC)."),
    file: jsonTextField("The targets file."),
    project: jsonTextField("The Pulumi project of the stacks."),
    today: jsonTextField("The day (UTC) by which ends are judged."),
    until: jsonTextField("The last day (UTC) whose ends are told."),
    tenants: z.array(tenant).readonly().describe("In the order of the targets file; only those that were asked for."),
    ends: z.array(expiringEntrySchema).readonly().describe("The soonest first."),
    reviews: z.array(finding).readonly().describe("Entries that the team's policy wants to be reviewed."),
    findings: z
      .array(finding)
      .readonly()
      .describe("Other findings about the files: risks, contradictions, overridden rules."),
    isJournalRead: z
      .boolean()
      .describe(
        "Whether the rollouts' journal was read; without it, only the state of a stack tells what its last rollout declared.",
      ),
    isComplete: z.boolean().describe("Whether all tenants were read."),
  })
  .readonly()
  .meta({
    title: "Email security fleet status",
    description: "How the tenants of a targets file stand, as `email-security fleet status` writes it as JSON.",
  });

export type FleetStatus = z.infer<typeof statusSchema>;

export const formatStatusJson = formatJson<FleetStatus>;

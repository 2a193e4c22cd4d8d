import { z } from "zod";
import { jsonArray, jsonCountField, jsonObject, jsonTextField, jsonTimeField } from "../../model/json-schema-builders";
import { formatJson } from "../../model/text";
import { kindSchema, operationSchema, planChangeSchema } from "../../plan/plan-schema";
import { declaredFieldsShape, metadataShape } from "../../settings-files/element-fields";
import {
  countsSchema,
  modeSchema,
  plannedCountsSchema,
  reportSchema,
  rolloutStateSchema,
  tenantChangeSchema,
  tenantStateSchema,
} from "./rollout-report";

export const HISTORY_FORMAT = 1;

export const DETAILS_FORMAT = 1;

export const DIFFERENCE_FORMAT = 1;

const hasUncommittedChanges = z.literal(true).exactOptional().describe("Whether there were uncommitted changes.");

const pastRollout = jsonObject({
  id: jsonTextField("The rollout's id."),
  state: rolloutStateSchema,
  isActive: z.boolean().describe("Whether a run is in progress now."),
  reason: jsonTextField("Why it stopped or waits, as a sentence.").exactOptional(),
  source: jsonTextField("The targets file, as it was specified."),
  digest: jsonTextField("The digest of the plans of all tenants, as reviewed."),
  startedAt: jsonTimeField("When it began"),
  finishedAt: jsonTimeField("When it ended").exactOptional(),
  plannedBy: jsonTextField("The person who planned it: dana@build-7.").exactOptional(),
  revision: jsonTextField("The git commit at which it was planned.").exactOptional(),
  hasUncommittedChanges,
  rollsBack: jsonTextField("The id of the rollout that this one rolls back.").exactOptional(),
  rollsBackTo: jsonTextField("The target of the rollback.").exactOptional(),
  rolledBackBy: jsonTextField("Its newest rollback, if all of its changes were rolled back.").exactOptional(),
  mode: modeSchema,
  prunedAt: jsonTimeField("When its files and whole plans were removed from the journal").exactOptional(),
  counts: countsSchema,
  planned: plannedCountsSchema.describe(
    "The changes in the plans of the tenants that it started; or of the requested tenant.",
  ),
  changes: jsonArray(
    tenantChangeSchema
      .unwrap()
      .omit({ severity: true })
      .extend({ tenants: jsonCountField("The number of tenants.") })
      .readonly(),
    "The first of these changes, at most 10; the most dangerous come first.",
  ),
  tenantState: tenantStateSchema.describe("The result of the requested tenant.").exactOptional(),
});

export type PastRollout = z.infer<typeof pastRollout>;

/** The history of rollouts. Texts from outside are not sanitized. */
export const historySchema = jsonObject({
  format: z.literal(HISTORY_FORMAT).describe("The version of this format."),
  rollouts: jsonArray(pastRollout, "Newest first."),
  omittedCount: jsonCountField("How many more rollouts --limit omits."),
}).meta({
  title: "Email security rollout history",
  description: "Past rollouts, as `email-security rollout history` writes them as JSON.",
});

export type RolloutHistory = z.infer<typeof historySchema>;

/** A change in the form that the journal keeps as long as the rollout. */
const recordedChange = planChangeSchema
  .unwrap()
  .pick({
    operation: true,
    kind: true,
    key: true,
    value: true,
    before: true,
    after: true,
    reason: true,
    acceptedRiskReason: true,
  })
  .extend(metadataShape)
  .readonly();

export type RecordedChange = z.infer<typeof recordedChange>;

const origin = jsonObject(
  {
    user: jsonTextField("The pipeline's account, or the machine's.").exactOptional(),
    host: z.string(),
    revision: jsonTextField("The commit of the working directory.").exactOptional(),
    hasUncommittedChanges,
  },
  "Who planned it, where, and at which commit; absent if an earlier release planned it.",
);

export type Origin = z.infer<typeof origin>;

/** Everything that a journal contains about a rollout. Texts from outside are not sanitized. */
export const detailsSchema = jsonObject({
  format: z.literal(DETAILS_FORMAT).describe("The version of this format."),
  report: reportSchema,
  project: jsonTextField("The Pulumi project of its stacks."),
  today: jsonTextField("The day (UTC) on which expires was evaluated."),
  origin: origin.exactOptional(),
  prunedAt: jsonTimeField("When its files and whole plans were removed from the journal").exactOptional(),
  milestones: jsonArray(
    jsonObject({
      occurredAt: jsonTimeField("When"),
      kind: jsonTextField("started, resumed, wave-finished, waiting, …: as --events prints them."),
      wave: z.string().exactOptional(),
      tenant: jsonTextField("The skipped tenants.").exactOptional(),
      actor: jsonTextField("The person who started it, resumed it, or skipped tenants.").exactOptional(),
      detail: jsonTextField("Why it waits or stopped, or the result of the health check.").exactOptional(),
    }),
    "The rollout, its waves, and the tenants that were skipped, in order.",
  ),
  tenants: jsonArray(
    jsonObject({
      name: z.string(),
      settings: jsonTextField("The settings file."),
      digest: jsonTextField("The digest of its plan; empty if it has none."),
      changes: jsonArray(recordedChange, "All changes of its plan."),
    }),
    "In the report's order.",
  ),
}).meta({
  title: "Email security rollout record",
  description: "The whole record of a rollout, as `email-security rollout show` writes it as JSON.",
});

export type RolloutDetails = z.infer<typeof detailsSchema>;
export type RolloutMilestone = RolloutDetails["milestones"][number];
export type TenantDetails = RolloutDetails["tenants"][number];

const declaredValue = jsonObject({
  list: jsonTextField("Only for entries.").exactOptional(),
  ...declaredFieldsShape,
});

const comparedRollout = jsonObject({
  id: z.string(),
  digest: z.string(),
  today: jsonTextField("The day (UTC) on which expires was evaluated."),
});

export const differenceSchema = jsonObject({
  format: z.literal(DIFFERENCE_FORMAT).describe("The version of this format."),
  from: comparedRollout,
  to: comparedRollout,
  tenants: jsonArray(
    jsonObject({
      name: z.string(),
      onlyIn: z.enum(["from", "to"]).exactOptional().describe("The only rollout that has it; absent if both have it."),
      states: jsonObject(
        {
          from: tenantStateSchema.exactOptional(),
          to: tenantStateSchema.exactOptional(),
        },
        "Its result, if it did not reach the declared settings.",
      ).exactOptional(),
      readError: jsonTextField("Why it can't be compared: this release can't read its files.").exactOptional(),
      changes: jsonArray(
        jsonObject({
          operation: operationSchema,
          kind: kindSchema,
          key: jsonTextField("The key that identifies it among the tenant's entries."),
          value: z.string(),
          before: declaredValue.exactOptional(),
          after: declaredValue.exactOptional(),
        }),
        "From the first to the second: an element that only the second declares is an addition.",
      ),
    }),
    "Tenants that differ, in the order of the second's waves; then those that are only in the first.",
  ),
  unchangedTenantCount: jsonCountField("How many tenants in both have the same declarations."),
}).meta({
  title: "Email security difference of two rollouts",
  description:
    "The differences between two rollouts' declarations, as `email-security rollout diff` writes them as JSON.",
});

export type RolloutDifference = z.infer<typeof differenceSchema>;
export type TenantDifference = RolloutDifference["tenants"][number];
export type DeclaredChange = TenantDifference["changes"][number];
export type DeclaredValue = z.infer<typeof declaredValue>;

export const formatHistoryJson = formatJson<RolloutHistory | RolloutDetails | RolloutDifference>;

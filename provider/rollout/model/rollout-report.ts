import { z } from "zod";
import { jsonArray, jsonCountField, jsonObject, jsonTextField, jsonTimeField } from "../../model/json-schema-builders";
import { formatJson } from "../../model/text";
import { kindSchema, operationSchema } from "../../plan/plan-schema";
import { ROLLOUT_MODES } from "./rollout-mode";

export const REPORT_FORMAT = 1;

export const tenantStateSchema = z
  .enum(["pending", "queued", "running", "unchanged", "done", "failed", "skipped"])
  .meta({
    id: "TenantState",
    description:
      "pending: planned, but not started; or not planned, if it has an error. queued: ready for any worker. running: a worker is changing it. unchanged: matched its files when the rollout was planned; nothing was written. done: was changed, and verified to match its files. failed: doesn't match its files; see its error. skipped: a person skipped it, before it was changed or after it failed.",
  });

export type TenantState = z.infer<typeof tenantStateSchema>;

export const countsSchema = jsonObject({
  pending: jsonCountField("Planned, but not started."),
  queued: jsonCountField("Ready to start."),
  running: jsonCountField("In progress."),
  unchanged: jsonCountField("Matched their files already."),
  done: jsonCountField("Changed."),
  failed: jsonCountField("Failed: they don't match their files."),
  skipped: jsonCountField("Skipped by a person."),
}).meta({ id: "Counts", description: "The number of tenants in each state." });

export const rolloutStateSchema = z
  .enum(["planned", "running", "waiting", "stopped", "abandoned", "rolled-back", "done"])
  .describe(
    "planned: nothing was written yet. running: in progress, or interrupted if no run has it. waiting: at a gate, or after the wave of --until. stopped: by itself or by a person, with a reason. abandoned: a person ended it before it was done. rolled-back: another rollout is rolling it back, or has done so. An abandoned or rolled-back rollout can't be resumed.",
  );

export type RolloutState = z.infer<typeof rolloutStateSchema>;

const advice = jsonObject({
  reason: jsonTextField("Why or when to take the step, as a sentence."),
  command: jsonTextField("A shell command.").exactOptional(),
});

const wave = jsonObject({
  name: z.string(),
  state: z
    .enum(["pending", "running", "soaking", "checking", "gated", "done", "stopped"])
    .describe("soaking, checking and gated follow when all its tenants are finished."),
  tenants: jsonCountField("The number of its tenants."),
  counts: countsSchema,
  maxConcurrent: z.int().min(1).describe("How many of its tenants are changed concurrently."),
  toleratedFailures: jsonCountField("How many may fail. With one more, the rollout stops."),
  exitCriteria: jsonObject(
    {
      soakMs: jsonCountField("How long it soaks, in milliseconds."),
      hasHealthCheck: z.boolean().describe("Whether its health is checked."),
      hasGate: z.boolean().describe("Whether it waits for approval."),
    },
    "The next step when it is finished.",
  ),
  closedHours: jsonArray(
    z.string(),
    "The hours in which none of its tenants is started, as they are written in the file.",
  ).exactOptional(),
  unreviewed: jsonArray(
    z.string(),
    "Its tenants whose last change, by an earlier rollout, never passed its health check or gate.",
  ).exactOptional(),
  startedAt: jsonTimeField("When it began").exactOptional(),
  finishedAt: jsonTimeField("When it was finished").exactOptional(),
  soakUntil: jsonTimeField("When its soak ends or ended").exactOptional(),
  health: jsonObject(
    { isHealthy: z.boolean(), message: z.string() },
    "The output of the health check.",
  ).exactOptional(),
}).meta({ id: "Wave", description: "A wave and its progress." });

export type WaveReport = z.infer<typeof wave>;
export type WaveState = WaveReport["state"];

export const tenantChangeSchema = jsonObject({
  operation: operationSchema,
  kind: kindSchema,
  list: jsonTextField("deny, or allow → deny if it moves; absent for VIPs.").exactOptional(),
  value: jsonTextField("The value or mailbox."),
  severity: z
    .enum(["danger", "accepted", "warning"])
    .exactOptional()
    .describe("The severity of its risks; absent if there are none."),
}).meta({ id: "TenantChange", description: "A change of a tenant's plan." });

export type TenantChange = z.infer<typeof tenantChangeSchema>;

const error = jsonObject({
  code: jsonTextField("A stable name, such as ERR_AUTH; ERR_ROLLOUT_… for errors of the rollout itself."),
  message: jsonTextField("The failure, without any key."),
  advice: jsonTextField("The next step, as a sentence."),
  phase: z
    .enum(["plan", "apply"])
    .describe("When it occurred: during planning, when nothing was changed; or while the tenant was changed."),
}).meta({ id: "TenantError", description: "Why a tenant doesn't match its files." });

export type TenantError = z.infer<typeof error>;

export const plannedCountsSchema = jsonObject({
  added: jsonCountField("Added."),
  changed: jsonCountField("Changed."),
  removed: jsonCountField("Removed."),
});

const tenant = jsonObject({
  name: z.string(),
  labels: z.record(z.string(), z.string()).readonly(),
  wave: jsonTextField("The name of its wave."),
  state: tenantStateSchema,
  host: jsonTextField("The service's host."),
  address: jsonTextField("The address to which its key is sent."),
  keySource: jsonTextField("The source of its key, described without the key."),
  stack: jsonTextField("The Pulumi stack."),
  planned: plannedCountsSchema.describe("The number of changes in the plan; all 0 if there is no plan."),
  changes: jsonArray(tenantChangeSchema, "The most important changes of the plan, at most 20."),
  severities: jsonObject({
    danger: jsonCountField("Risky changes."),
    accepted: jsonCountField("Risky changes with a reason in acceptRisk.").exactOptional(),
    warning: jsonCountField("Changes with a warning."),
  }),
  unreverted: jsonArray(
    z.string(),
    "Elements that stay unchanged: for a rollback, those that somebody changed after the rollout; for a rollout in another mode, with the reason.",
  ).exactOptional(),
  drift: jsonArray(
    z.string(),
    "The first of the reverted console changes, with their authors if the service reports them.",
  ).exactOptional(),
  unmanagedAllows: jsonObject(
    {
      count: jsonCountField("The number of changes."),
      riskyCount: jsonCountField("How many of them lint would report as risky."),
      values: jsonArray(z.string(), "The first 10, the risky ones first."),
    },
    "The tenant's unmanaged allows at planning time; the rollout doesn't change them.",
  ).exactOptional(),
  overrides: jsonArray(
    z.string(),
    "The first rules of included files that its settings files override, with file and line.",
  ).exactOptional(),
  error: error.exactOptional(),
  attempts: jsonCountField("How often it was started: more than once after a crash or a retry."),
  worker: jsonTextField("The process that worked on it last: host:pid.").exactOptional(),
  startedAt: jsonTimeField("When it was started").exactOptional(),
  finishedAt: jsonTimeField("When it was finished").exactOptional(),
  durationMs: z.number().min(0).describe("How long it took, in milliseconds.").exactOptional(),
}).meta({ id: "Tenant", description: "A tenant and its outcome." });

export type TenantReport = z.infer<typeof tenant>;
export type UnmanagedAllows = NonNullable<TenantReport["unmanagedAllows"]>;

const skipped = jsonObject({
  name: z.string(),
  stack: jsonTextField(
    "The Pulumi stack, which identifies the tenant: another tenant of the rollout may have the name now. Absent in rollouts of an earlier release.",
  ).exactOptional(),
  skippedAt: jsonTimeField("Since when"),
  skippedBy: jsonTextField("The person who decided it: dana@build-7.").exactOptional(),
  reason: jsonTextField("Why."),
}).meta({
  id: "Skipped",
  description: "A skipped tenant.",
});

export const modeSchema = z
  .enum(ROLLOUT_MODES)
  .exactOptional()
  .describe(
    "Its purpose, if it doesn't apply everything that the files declare: to remove expired entries, or to revert console changes.",
  );

/** The report of a rollout, by tenant. Texts from outside are not sanitized: sanitize them before display. */
export const reportSchema = jsonObject({
  format: z.literal(REPORT_FORMAT).describe("The version of this format."),
  id: jsonTextField("The rollout's id; absent if no tenant is included, so that no rollout is created."),
  source: jsonTextField("The targets file, as it was specified."),
  state: rolloutStateSchema,
  isActive: z.boolean().describe("Whether a run is in progress now."),
  reason: jsonTextField("Why it stopped or waits, as a sentence.").exactOptional(),
  waitingSince: jsonTimeField("When it started to wait for approval; absent if it doesn't wait").exactOptional(),
  advice: jsonArray(advice, "The next step; empty when all is done."),
  digest: jsonTextField("The digest of the plans of all tenants, as reviewed."),
  createdAt: jsonTimeField("When it was planned"),
  startedAt: jsonTimeField("When it began").exactOptional(),
  finishedAt: jsonTimeField("When it ended").exactOptional(),
  rollsBack: jsonTextField("The id of the rollout that this one rolls back.").exactOptional(),
  rollsBackTo: jsonTextField(
    "The target of the rollback: each tenant's previous state, or the files of a git revision.",
  ).exactOptional(),
  rolledBackBy: jsonTextField("Its newest rollback, if all of its changes were rolled back.").exactOptional(),
  mode: modeSchema,
  counts: countsSchema,
  skipped: jsonArray(
    skipped,
    "The skipped tenants. Those skipped before planning aren't among tenants; the others have the state skipped, or were finished before.",
  ).exactOptional(),
  waves: jsonArray(wave),
  tenants: jsonArray(tenant, "In the order of the waves, and of the tenants in each wave."),
}).meta({
  title: "Email security rollout",
  description: "The results of a rollout, tenant by tenant, as `email-security rollout status` writes them as JSON.",
});

export type RolloutReport = z.infer<typeof reportSchema>;
export type SkippedReport = NonNullable<RolloutReport["skipped"]>[number];
export type Advice = RolloutReport["advice"][number];

export const formatReportJson = formatJson<RolloutReport>;

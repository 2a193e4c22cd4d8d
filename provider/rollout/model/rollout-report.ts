import { z } from "zod";
import { kindSchema, signSchema } from "../../plan/plan-schema";
import { jsonCountField, jsonTextField, jsonTimeField } from "../../settings/json-fields";
import { formatJson } from "../../settings/text";
import { ROLLOUT_MODES } from "./rollout-mode";

/** The version of the report format. */
export const REPORT_FORMAT = 1;

export const tenantStateSchema = z
  .enum(["pending", "released", "running", "unchanged", "done", "failed", "skipped"])
  .meta({
    id: "TenantState",
    description:
      "pending: planned, and not begun; where an error says so, not planned. released: may be begun by any worker. running: a worker is at it. unchanged: held what is declared when the rollout was planned; nothing was written. done: was changed, and was seen to hold what is declared. failed: is not as declared; its error says why. skipped: a person said to go on without it, before it was changed or after it failed.",
  });

export type TenantState = z.infer<typeof tenantStateSchema>;

export const countsSchema = z
  .strictObject({
    pending: jsonCountField("Planned, and not begun."),
    released: jsonCountField("May be begun."),
    running: jsonCountField("Somebody is at them."),
    unchanged: jsonCountField("Held what is declared."),
    done: jsonCountField("Were changed."),
    failed: jsonCountField("Are not as declared."),
    skipped: jsonCountField("Are left out, since a person said to go on without them."),
  })
  .readonly()
  .meta({ id: "Counts", description: "How many tenants are in each state." });

export const rolloutStateSchema = z
  .enum(["planned", "running", "waiting", "stopped", "abandoned", "rolled-back", "done"])
  .describe(
    "planned: nothing was written yet. running: under way, or interrupted when nobody holds it. waiting: at a gate, or after the wave that --until names. stopped: by itself or by a person, with a reason. abandoned: a person ended it before it was done. rolled-back: another rollout rolls it back, or has done so. Neither can be resumed.",
  );

export type RolloutState = z.infer<typeof rolloutStateSchema>;

const advice = z
  .strictObject({
    why: jsonTextField("Its purpose, a sentence."),
    command: jsonTextField("A command for the shell.").exactOptional(),
  })
  .readonly();

const wave = z
  .strictObject({
    name: z.string(),
    state: z
      .enum(["pending", "running", "soaking", "checking", "gated", "done", "stopped"])
      .describe("soaking, checking and gated come after all its tenants are settled."),
    tenants: jsonCountField("How many tenants are in it."),
    counts: countsSchema,
    maxConcurrent: z.int().min(1).describe("How many of its tenants are changed at once."),
    tolerated: jsonCountField("How many may fail: one more, and the rollout stops."),
    after: z
      .strictObject({
        soakMs: jsonCountField("How long it soaks, in milliseconds."),
        isChecked: z.boolean().describe("Whether its health is checked."),
        isGated: z.boolean().describe("Whether it waits for a person."),
      })
      .readonly()
      .describe("The next step once it is through."),
    closed: z
      .array(z.string())
      .readonly()
      .exactOptional()
      .describe("The hours in which none of its tenants is begun, as they were written."),
    unreviewed: z
      .array(z.string())
      .readonly()
      .exactOptional()
      .describe("Its tenants whose last change, of an earlier rollout, was never let through."),
    startedAt: jsonTimeField("When it began").exactOptional(),
    finishedAt: jsonTimeField("When it was through").exactOptional(),
    soakUntil: jsonTimeField("Until when it soaks or soaked").exactOptional(),
    health: z
      .strictObject({ isHealthy: z.boolean(), message: z.string() })
      .readonly()
      .describe("The output of the health check.")
      .exactOptional(),
  })
  .readonly()
  .meta({ id: "Wave", description: "A wave and how far it came." });

export type WaveReport = z.infer<typeof wave>;
export type WaveState = WaveReport["state"];

export const tenantChangeSchema = z
  .strictObject({
    sign: signSchema,
    kind: kindSchema,
    list: jsonTextField("deny, or allow → deny where it moves; absent for VIPs.").exactOptional(),
    value: jsonTextField("The value or mailbox."),
    alarm: z
      .enum(["danger", "accepted", "warning"])
      .exactOptional()
      .describe("How bad it looks; absent if no risks were found."),
  })
  .readonly()
  .meta({ id: "TenantChange", description: "A change of a tenant's plan." });

export type TenantChange = z.infer<typeof tenantChangeSchema>;

const error = z
  .strictObject({
    code: jsonTextField("A stable name, such as ERR_AUTH; ERR_ROLLOUT_… for what the rollout itself found."),
    message: jsonTextField("The event, without any key."),
    advice: jsonTextField("The next step, a sentence."),
    phase: z
      .enum(["plan", "apply"])
      .describe("When it was found: while planning, so that nothing was touched; or while changing it."),
  })
  .readonly()
  .meta({ id: "TenantError", description: "Why a tenant is not as declared." });

export type TenantError = z.infer<typeof error>;

/** The numbers of a plan's changes. */
export const plannedCountsSchema = z
  .strictObject({
    added: jsonCountField("Added."),
    changed: jsonCountField("Changed."),
    removed: jsonCountField("Removed."),
  })
  .readonly();

const tenant = z
  .strictObject({
    name: z.string(),
    labels: z.record(z.string(), z.string()).readonly(),
    wave: jsonTextField("The name of its wave."),
    state: tenantStateSchema,
    host: jsonTextField("The service's host."),
    address: jsonTextField("The address that its key is sent to."),
    keyFrom: jsonTextField("Where its key comes from, in words and without the key."),
    stack: jsonTextField("The Pulumi stack."),
    planned: plannedCountsSchema.describe("The changes of the plan; all 0 where there is no plan."),
    changes: z
      .array(tenantChangeSchema)
      .readonly()
      .describe("The first changes of the plan, the most important first; at most 20."),
    alarms: z
      .strictObject({
        danger: jsonCountField("Risky changes."),
        accepted: jsonCountField("Risky changes whose acceptRisk says why they are meant.").exactOptional(),
        warning: jsonCountField("Changes with a warning."),
      })
      .readonly(),
    left: z
      .array(z.string())
      .readonly()
      .exactOptional()
      .describe(
        "Entries that it leaves unchanged: of a rollback, those that somebody changed after the rollout; of a task, with why.",
      ),
    drift: z
      .array(z.string())
      .readonly()
      .exactOptional()
      .describe(
        "Console changes that are reverted, with who made them as far as the service reports it; the first of them.",
      ),
    unmanagedAllows: z
      .strictObject({
        count: jsonCountField("How many."),
        risky: jsonCountField("How many of them lint would call risky."),
        values: z.array(z.string()).readonly().describe("The first 10, the risky ones first."),
      })
      .readonly()
      .exactOptional()
      .describe("The tenant's unmanaged allows, as the plan saw them; the rollout leaves them."),
    overrides: z
      .array(z.string())
      .readonly()
      .exactOptional()
      .describe("The rules of included files that its settings files override, with file and line; the first few."),
    error: error.exactOptional(),
    attempts: jsonCountField("How often it was begun: more than once after a crash, or when it was retried."),
    worker: jsonTextField("The process that worked on it last: host:pid.").exactOptional(),
    startedAt: jsonTimeField("When it was begun").exactOptional(),
    finishedAt: jsonTimeField("When it was through").exactOptional(),
    durationMs: z.number().min(0).describe("How long it took, in milliseconds.").exactOptional(),
  })
  .readonly()
  .meta({ id: "Tenant", description: "A tenant and what became of it." });

export type TenantReport = z.infer<typeof tenant>;
export type UnmanagedAllows = NonNullable<TenantReport["unmanagedAllows"]>;

const skipped = z
  .strictObject({
    name: z.string(),
    stack: jsonTextField(
      "The Pulumi stack, which identifies the tenant: another one of the rollout may have its name by now. Absent in rollouts of an earlier release.",
    ).exactOptional(),
    since: jsonTimeField("Since when"),
    by: jsonTextField("The person who decided it: dana@build-7.").exactOptional(),
    reason: jsonTextField("Why."),
  })
  .readonly()
  .meta({
    id: "Skipped",
    description: "A tenant that is left out, since a person said to go on without it.",
  });

/** The mode of a rollout, for reports and the history. */
export const modeSchema = z
  .enum(ROLLOUT_MODES)
  .exactOptional()
  .describe(
    "Its purpose, where it does not bring all that the files declare: to remove expired entries, or to revert console changes.",
  );

/** The report of a rollout, by tenant. Texts from outside are not sanitized: sanitize them before display. */
export const reportSchema = z
  .strictObject({
    format: z.literal(REPORT_FORMAT).describe("The version of this format."),
    id: jsonTextField("The rollout's id; none where no tenant is for it, so that no rollout is made."),
    source: jsonTextField("The targets file, as it was named."),
    state: rolloutStateSchema,
    isHeld: z.boolean().describe("Whether somebody is at it now."),
    reason: jsonTextField("Why it stopped or waits, a sentence.").exactOptional(),
    waitingSince: jsonTimeField("Since when it waits for a person; absent where it does not").exactOptional(),
    advice: z.array(advice).readonly().describe("The next step; empty when all is done."),
    digest: jsonTextField("The digest of the plans of all tenants, as reviewed."),
    createdAt: jsonTimeField("When it was planned"),
    startedAt: jsonTimeField("When it began").exactOptional(),
    finishedAt: jsonTimeField("When it ended").exactOptional(),
    rollsBack: jsonTextField("The id of the rollout that this one rolls back.").exactOptional(),
    rollsBackTo: jsonTextField(
      "The target of the rollback: what each tenant held, or the files of a revision of git.",
    ).exactOptional(),
    rolledBackBy: jsonTextField(
      "The newest rollback of it, where all that it changed was rolled back.",
    ).exactOptional(),
    task: modeSchema,
    counts: countsSchema,
    skipped: z
      .array(skipped)
      .readonly()
      .exactOptional()
      .describe(
        "The tenants that it leaves out, since a person said to go on without them: those left out of the plan are not among tenants, the others are skipped, or were through before.",
      ),
    waves: z.array(wave).readonly(),
    tenants: z.array(tenant).readonly().describe("In the order of waves, and in each, of its tenants."),
  })
  .readonly()
  .meta({
    title: "Email security rollout",
    description: "The results of a rollout, tenant by tenant, as `email-security rollout status` writes them as JSON.",
  });

export type RolloutReport = z.infer<typeof reportSchema>;
export type SkippedReport = NonNullable<RolloutReport["skipped"]>[number];
export type Advice = RolloutReport["advice"][number];

export const formatReportJson = formatJson<RolloutReport>;

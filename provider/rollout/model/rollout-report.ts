import { z } from "zod";
import { kind, sign } from "../../plan/plan-schema";
import { count, text, time } from "../../settings/json-fields";
import { formatJson } from "../../settings/text";
import { TASKS } from "./task";

/** The version of the report format. */
export const REPORT_FORMAT = 1;

export const tenantState = z.enum(["pending", "released", "running", "unchanged", "done", "failed", "skipped"]).meta({
  id: "TenantState",
  description:
    "pending: planned, and not begun; where an error says so, not planned. released: may be begun by any worker. running: a worker is at it. unchanged: held what is declared when the rollout was planned; nothing was written. done: was changed, and was seen to hold what is declared. failed: is not as declared; its error says why. skipped: a person said to go on without it, before it was changed or after it failed.",
});

export type TenantState = z.infer<typeof tenantState>;

export const counts = z
  .strictObject({
    pending: count("Planned, and not begun."),
    released: count("May be begun."),
    running: count("Somebody is at them."),
    unchanged: count("Held what is declared."),
    done: count("Were changed."),
    failed: count("Are not as declared."),
    skipped: count("Are left out, since a person said to go on without them."),
  })
  .readonly()
  .meta({ id: "Counts", description: "How many tenants are in each state." });

export const rolloutState = z
  .enum(["planned", "running", "waiting", "stopped", "abandoned", "rolled-back", "done"])
  .describe(
    "planned: nothing was written yet. running: under way, or interrupted when nobody holds it. waiting: at a gate, or after the wave that --until names. stopped: by itself or by a person, with a reason. abandoned: a person ended it before it was done. rolled-back: another rollout rolls it back, or has done so. Neither can be resumed.",
  );

export type RolloutState = z.infer<typeof rolloutState>;

const advice = z
  .strictObject({
    why: text("What it is for, a sentence."),
    command: text("A command for the shell.").exactOptional(),
  })
  .readonly();

const wave = z
  .strictObject({
    name: z.string(),
    state: z
      .enum(["pending", "running", "soaking", "checking", "gated", "done", "stopped"])
      .describe("soaking, checking and gated come after all its tenants are settled."),
    tenants: count("How many tenants are in it."),
    counts,
    maxConcurrent: z.int().min(1).describe("How many of its tenants are changed at once."),
    tolerated: count("How many may fail: one more, and the rollout stops."),
    after: z
      .strictObject({
        soakMs: count("How long it soaks, in milliseconds."),
        isChecked: z.boolean().describe("Whether its health is checked."),
        isGated: z.boolean().describe("Whether it waits for a person."),
      })
      .readonly()
      .describe("What comes once it is through."),
    closed: z
      .array(z.string())
      .readonly()
      .exactOptional()
      .describe("The hours in which none of its tenants is begun, as they were written."),
    unseen: z
      .array(z.string())
      .readonly()
      .exactOptional()
      .describe("Its tenants whose last change, of an earlier rollout, was never let through."),
    startedAt: time("When it began").exactOptional(),
    finishedAt: time("When it was through").exactOptional(),
    soakUntil: time("Until when it soaks or soaked").exactOptional(),
    health: z
      .strictObject({ isWell: z.boolean(), message: z.string() })
      .readonly()
      .describe("What the health check said.")
      .exactOptional(),
  })
  .readonly()
  .meta({ id: "Wave", description: "A wave and how far it came." });

export type WaveReport = z.infer<typeof wave>;
export type WaveState = WaveReport["state"];

export const change = z
  .strictObject({
    sign,
    kind,
    list: text("deny, or allow → deny where it moves; absent for VIPs.").exactOptional(),
    value: text("The value or mailbox."),
    alarm: z
      .enum(["danger", "accepted", "warning"])
      .exactOptional()
      .describe("How bad it looks; absent where nothing speaks against it."),
  })
  .readonly()
  .meta({ id: "TenantChange", description: "A change of a tenant's plan." });

export type TenantChange = z.infer<typeof change>;

const error = z
  .strictObject({
    code: text("A stable name, such as ERR_AUTH; ERR_ROLLOUT_… for what the rollout itself found."),
    message: text("What happened, without any key."),
    advice: text("What to do, a sentence."),
    phase: z
      .enum(["plan", "apply"])
      .describe("When it was found: while planning, so that nothing was touched; or while changing it."),
  })
  .readonly()
  .meta({ id: "TenantError", description: "Why a tenant is not as declared." });

export type TenantError = z.infer<typeof error>;

/** The numbers of a plan's changes. */
export const planned = z
  .strictObject({ added: count("Added."), changed: count("Changed."), removed: count("Removed.") })
  .readonly();

const tenant = z
  .strictObject({
    name: z.string(),
    labels: z.record(z.string(), z.string()).readonly(),
    wave: text("The name of its wave."),
    state: tenantState,
    host: text("The service's host."),
    address: text("The address that its key is sent to."),
    keyFrom: text("Where its key comes from, in words and without the key."),
    stack: text("The Pulumi stack."),
    planned: planned.describe("What the plan changes; all 0 where there is no plan."),
    changes: z
      .array(change)
      .readonly()
      .describe("The first changes of the plan, the most important first; at most 20."),
    alarms: z
      .strictObject({
        danger: count("Risky changes."),
        accepted: count("Risky changes whose acceptRisk says why they are meant.").exactOptional(),
        warning: count("Changes with a warning."),
      })
      .readonly(),
    left: z
      .array(z.string())
      .readonly()
      .exactOptional()
      .describe(
        "What it leaves as it is: of a rollback, what somebody changed after the rollout; of a task, with why.",
      ),
    drift: z
      .array(z.string())
      .readonly()
      .exactOptional()
      .describe(
        "What was done in the console and is reverted, with who did it as far as the service tells; the first of it.",
      ),
    unmanagedAllows: z
      .strictObject({
        count: count("How many."),
        risky: count("How many of them lint would call risky."),
        values: z.array(z.string()).readonly().describe("The first 10, the risky ones first."),
      })
      .readonly()
      .exactOptional()
      .describe("What the tenant allows and nobody declares, as the plan saw it; the rollout leaves it."),
    loosened: z
      .array(z.string())
      .readonly()
      .exactOptional()
      .describe(
        "What its settings files loosen of what those that they include ask for, with file and line; the first few.",
      ),
    error: error.exactOptional(),
    attempts: count("How often it was begun: more than once after a crash, or when it was retried."),
    worker: text("Who was at it last: host:pid.").exactOptional(),
    startedAt: time("When it was begun").exactOptional(),
    finishedAt: time("When it was through").exactOptional(),
    durationMs: z.number().min(0).describe("How long it took, in milliseconds.").exactOptional(),
  })
  .readonly()
  .meta({ id: "Tenant", description: "A tenant and what became of it." });

export type TenantReport = z.infer<typeof tenant>;
export type UnmanagedAllows = NonNullable<TenantReport["unmanagedAllows"]>;

const skipped = z
  .strictObject({
    name: z.string(),
    since: time("Since when"),
    by: text("Who said so: dana@build-7.").exactOptional(),
    reason: text("Why."),
  })
  .readonly()
  .meta({
    id: "Skipped",
    description: "A tenant that is left out, since a person said to go on without it.",
  });

/** The mode of a rollout, for reports and the history. */
export const task = z
  .enum(TASKS)
  .exactOptional()
  .describe(
    "What it is for, where it does not bring what the files say: to take away what has ended, or what the console changed.",
  );

/** The report of a rollout, by tenant. Texts from outside are not sanitized: sanitize them before display. */
export const reportSchema = z
  .strictObject({
    format: z.literal(REPORT_FORMAT).describe("The version of this format."),
    id: text("The rollout's id; none where no tenant is for it, so that no rollout is made."),
    source: text("The targets file, as it was named."),
    state: rolloutState,
    isHeld: z.boolean().describe("Whether somebody is at it now."),
    reason: text("Why it stopped or waits, a sentence.").exactOptional(),
    waitingSince: time("Since when it waits for a person; absent where it does not").exactOptional(),
    advice: z.array(advice).readonly().describe("What to do next; empty when all is done."),
    digest: text("What was reviewed: over the plans of all tenants."),
    createdAt: time("When it was planned"),
    startedAt: time("When it began").exactOptional(),
    finishedAt: time("When it ended").exactOptional(),
    rollsBack: text("The id of the rollout that this one rolls back.").exactOptional(),
    rollsBackTo: text(
      "What it goes back to: what each tenant held, or the files of a revision of git.",
    ).exactOptional(),
    rolledBackBy: text("The newest rollback of it, where all that it changed was rolled back.").exactOptional(),
    task,
    counts,
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
    description: "What a rollout did, tenant by tenant, as `email-security rollout status` writes it as JSON.",
  });

export type RolloutReport = z.infer<typeof reportSchema>;
export type SkippedReport = NonNullable<RolloutReport["skipped"]>[number];
export type Advice = RolloutReport["advice"][number];

export const reportJson = formatJson<RolloutReport>;

import type { Plan } from "../../plan/plan";
import { withoutUndefined } from "../../settings/without-undefined";
import type { Journal } from "../journal/journal";
import type { Origin } from "../journal/rollout-record";
import { parsed } from "../journal/stored-values";
import { type KeptChange, keptChange } from "../pruning/prune-rollout";
import { iso } from "../report/report-of";
import type { RolloutEvent } from "../report/rollout-event";
import type { RolloutReport } from "../report/rollout-report";

/** The version of the format of a rollout as it is shown. */
export const SHOWN_FORMAT = 1;

/** All that a journal tells of a rollout. Plain data; times are ISO 8601 in UTC, texts from outside as they came. */
export interface ShownRollout {
  readonly format: typeof SHOWN_FORMAT;
  readonly report: RolloutReport;
  /** The Pulumi project of its stacks. */
  readonly project: string;
  /** The day (UTC) by which `expires` was judged. */
  readonly today: string;
  /** Who planned it, where, and of which commit; absent in what an earlier release planned. */
  readonly origin?: Origin;
  /** When its files, its whole plans and its tenants' steps were taken out of the journal. */
  readonly prunedAt?: string;
  /** What happened to the rollout and its waves, and who was skipped, in order; the tenants' other steps are not in it. */
  readonly happened: readonly Happened[];
  /** In the order of the report. */
  readonly tenants: readonly ShownTenant[];
}

/** One thing that happened. */
export interface Happened {
  readonly at: string;
  /** `started`, `wave-finished`, `waiting`, …: as `--events` prints it. */
  readonly kind: string;
  readonly wave?: string;
  /** Who was skipped. */
  readonly tenant?: string;
  /** Who began it, went on with it, or said that somebody is to be skipped. */
  readonly by?: string;
  /** A sentence: why it waits or stopped, what the health check said. */
  readonly told?: string;
}

/** What was planned of a tenant. */
export interface ShownTenant {
  readonly name: string;
  /** The settings file. */
  readonly settings: string;
  /** Of its plan; empty where it has none. */
  readonly digest: string;
  /** All changes of its plan. */
  readonly changes: readonly KeptChange[];
}

/** @throws {JournalError} when a plan can't be read. */
export async function shownRollout(journal: Journal, report: RolloutReport): Promise<ShownRollout> {
  const { id } = report;
  const { spec } = await journal.record(id);
  const { project, today, origin, prunedAtMs } = spec;
  const tenants: ShownTenant[] = [];
  for (const { name, target, digest } of await journal.tenants(id)) {
    const plan = await journal.plan(id, name);
    const { changes = [] } = plan === undefined ? {} : parsed<Partial<Plan>>(plan);
    tenants.push({ name, settings: target.settings, digest, changes: changes.map(keptChange) });
  }
  return {
    ...{ format: SHOWN_FORMAT, report, project, today },
    ...withoutUndefined({ origin, prunedAt: prunedAtMs === undefined ? undefined : iso(prunedAtMs) }),
    happened: await happenedIn(journal, id),
    tenants,
  };
}

async function happenedIn(journal: Journal, id: string): Promise<readonly Happened[]> {
  const found: Happened[] = [];
  for (let seq = 0; ; ) {
    const events = await journal.eventsSince(id, seq);
    const told = events.filter(({ kind }) => !kind.startsWith("tenant-") || kind === "tenant-skipped");
    found.push(...told.map(happened));
    seq = events.at(-1)?.seq ?? seq;
    if (events.length < 1_000) return found;
  }
}

function happened(event: RolloutEvent): Happened {
  const { at, kind } = event;
  return {
    at,
    kind: kind === "started" && event.resumed ? "resumed" : kind,
    ...("wave" in event ? { wave: event.wave } : {}),
    ...(kind === "tenant-skipped" ? { tenant: event.tenant } : {}),
    ...withoutUndefined({
      by: kind === "started" || kind === "tenant-skipped" ? event.by : undefined,
      told: toldOf(event),
    }),
  };
}

function toldOf(event: RolloutEvent): string | undefined {
  switch (event.kind) {
    case "waiting":
    case "stopped":
    case "interrupted":
    case "tenant-skipped":
      return event.reason;
    case "wave-health":
      return event.message;
    case "wave-soaking":
      return event.until;
    default:
      return undefined;
  }
}

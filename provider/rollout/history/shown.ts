import type { Plan } from "../../plan/plan";
import { withoutUndefined } from "../../settings/without-undefined";
import type { JournalReader } from "../journal/journal-reader";
import type { Origin } from "../journal/rollout-record";
import { parsed } from "../journal/stored-values";
import { type KeptChange, keptChange } from "../pruning/prune-rollout";
import { reportedTransition } from "../report/change-danger";
import { iso } from "../report/report-of";
import type { RolloutEvent } from "../report/rollout-event";
import type { RolloutReport, TenantChange } from "../report/rollout-report";

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

/** A change of a plan. */
export type ShownChange = KeptChange;

/** What was planned of a tenant. */
export interface ShownTenant {
  readonly name: string;
  /** The settings file. */
  readonly settings: string;
  /** Of its plan; empty where it has none. */
  readonly digest: string;
  /** The changes of its plan: all, or those of the report alone. */
  readonly changes: readonly ShownChange[];
}

/**
 * @param isWhole whether the plans are read. Without them, changes are as the report has them: the first of each tenant, and no ticket
 * or comment. Default: true.
 * @throws {JournalError} when a plan can't be read.
 */
export async function shownRollout(
  journal: JournalReader,
  report: RolloutReport,
  isWhole = true,
): Promise<ShownRollout> {
  const { id } = report;
  const reported = new Map(report.tenants.map(({ name, changes }) => [name, changes]));
  const { spec } = await journal.record(id);
  const { project, today, origin, prunedAtMs } = spec;
  const tenants: ShownTenant[] = [];
  for (const { name, target, digest } of await journal.tenants(id)) {
    const first = reported.get(name) ?? [];
    const changes =
      isWhole && first.length > 0 ? await plannedChanges(journal, id, name) : first.map(reportedChange);
    tenants.push({ name, settings: target.settings, digest, changes });
  }
  return {
    ...{ format: SHOWN_FORMAT, report, project, today },
    ...withoutUndefined({ origin, prunedAt: prunedAtMs === undefined ? undefined : iso(prunedAtMs) }),
    happened: (await journal.milestones(id)).map(happened),
    tenants,
  };
}

function standingOn(list: string | undefined): KeptChange["before"] {
  if (list === undefined) return undefined;
  return list === "allow" || list === "deny" ? { list } : {};
}

async function plannedChanges(
  journal: JournalReader,
  id: string,
  name: string,
): Promise<readonly KeptChange[]> {
  const plan = await journal.plan(id, name);
  const { changes = [] } = plan === undefined ? {} : parsed<Partial<Plan>>(plan);
  return changes.map(keptChange);
}

/** A change as far as a report has it. */
function reportedChange({ sign, kind, list, value }: TenantChange): KeptChange {
  const { from, to } = reportedTransition(withoutUndefined({ sign, kind, list }));
  return {
    ...{ sign, kind, key: value, value },
    ...withoutUndefined({ before: standingOn(from), after: standingOn(to) }),
  };
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

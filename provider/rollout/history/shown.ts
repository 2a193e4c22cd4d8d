import type { Plan } from "../../plan/plan";
import { withoutUndefined } from "../../settings/without-undefined";
import type { Journal } from "../journal/journal";
import { parsed } from "../journal/stored-values";
import { keptChange } from "../pruning/prune-rollout";
import { iso } from "../report/report-of";
import type { RolloutEvent } from "../report/rollout-event";
import type { RolloutReport } from "../report/rollout-report";
import { type Happened, SHOWN_FORMAT, type ShownRollout, type ShownTenant } from "./history-schema";

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

import type { Plan } from "../../plan/plan";
import { withoutUndefined } from "../../settings/without-undefined";
import { parsed } from "../database/stored-values";
import type { JournalReader } from "../journal/journal-reader";
import {
  type Happened,
  type KeptChange,
  SHOWN_FORMAT,
  type ShownRollout,
  type ShownTenant,
} from "../model/history-schema";
import type { RolloutEvent } from "../model/rollout-event";
import type { RolloutReport, TenantChange } from "../model/rollout-report";
import { reportedTransition } from "../report/change-danger";
import { iso } from "../report/report-of";
import { keptChange } from "./prune-rollout";

/**
 * @param includesPlans whether to read the plans. Without them, changes come from the report, which has only the first few of each tenant, and no
 * tickets or comments. Default: true.
 * @throws {JournalError} if a plan can't be read.
 */
export async function shownRollout(
  journal: JournalReader,
  report: RolloutReport,
  includesPlans = true,
): Promise<ShownRollout> {
  const { id } = report;
  const reportedChanges = new Map(report.tenants.map(({ name, changes }) => [name, changes]));
  const { spec } = await journal.record(id);
  const { project, today, origin, prunedAtMs } = spec;
  const tenants: ShownTenant[] = [];
  for (const { name, target, digest } of await journal.tenants(id)) {
    const reportedTenantChanges = reportedChanges.get(name) ?? [];
    const changes =
      includesPlans && reportedTenantChanges.length > 0
        ? await readPlannedChanges(journal, id, name)
        : reportedTenantChanges.map(buildReportedChange);
    tenants.push({ name, settings: target.settings, digest, changes });
  }
  return {
    ...{ format: SHOWN_FORMAT, report, project, today },
    ...withoutUndefined({ origin, prunedAt: prunedAtMs === undefined ? undefined : iso(prunedAtMs) }),
    happened: (await journal.milestones(id)).map(buildEventRecord),
    tenants,
  };
}

function buildListState(list: string | undefined): KeptChange["before"] {
  if (list === undefined) return undefined;
  return list === "allow" || list === "deny" ? { list } : {};
}

async function readPlannedChanges(journal: JournalReader, id: string, name: string): Promise<readonly KeptChange[]> {
  const plan = await journal.plan(id, name);
  const { changes = [] } = plan === undefined ? {} : parsed<Partial<Plan>>(plan);
  return changes.map(keptChange);
}

/** The part of a change that a report has. */
function buildReportedChange({ sign, kind, list, value }: TenantChange): KeptChange {
  const { from, to } = reportedTransition(withoutUndefined({ sign, kind, list }));
  return {
    ...{ sign, kind, key: value, value },
    ...withoutUndefined({ before: buildListState(from), after: buildListState(to) }),
  };
}

function buildEventRecord(event: RolloutEvent): Happened {
  const { at, kind } = event;
  return {
    at,
    kind: kind === "started" && event.resumed ? "resumed" : kind,
    ...("wave" in event ? { wave: event.wave } : {}),
    ...(kind === "tenant-skipped" ? { tenant: event.tenant } : {}),
    ...withoutUndefined({
      by: kind === "started" || kind === "tenant-skipped" ? event.by : undefined,
      told: getEventDetails(event),
    }),
  };
}

function getEventDetails(event: RolloutEvent): string | undefined {
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

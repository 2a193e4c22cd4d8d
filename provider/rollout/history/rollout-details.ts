import { omitUndefined } from "../../model/omit-undefined";
import type { Plan } from "../../plan/plan";
import { decodeJson } from "../database/stored-values";
import type { JournalReader } from "../journal/journal-reader";
import {
  DETAILS_FORMAT,
  type RecordedChange,
  type RolloutDetails,
  type RolloutMilestone,
  type TenantDetails,
} from "../model/history-schema";
import type { RolloutEvent } from "../model/rollout-event";
import type { RolloutReport, TenantChange } from "../model/rollout-report";
import { formatIsoTime } from "../report/build-rollout-report";
import { getReportedTransition } from "../report/change-danger";
import { buildRecordedChange } from "./prune-rollout";

/**
 * @param includesPlans whether to read the plans. Without them, changes come from the report, which has only the first few of each tenant, and no
 * tickets or comments. Default: true.
 * @throws {JournalError} if a plan can't be read.
 */
export async function readRolloutDetails(
  journal: JournalReader,
  report: RolloutReport,
  includesPlans = true,
): Promise<RolloutDetails> {
  const { id } = report;
  const reportedChanges = new Map(report.tenants.map(({ name, changes }) => [name, changes]));
  const { spec } = await journal.getRollout(id);
  const { project, today, origin, prunedAtMs } = spec;
  const tenants: TenantDetails[] = [];
  for (const { name, target, digest } of await journal.listTenants(id)) {
    const reportedTenantChanges = reportedChanges.get(name) ?? [];
    const changes =
      includesPlans && reportedTenantChanges.length > 0
        ? await readPlannedChanges(journal, id, name)
        : reportedTenantChanges.map(buildReportedChange);
    tenants.push({ name, settings: target.settings, digest, changes });
  }
  return {
    ...{ format: DETAILS_FORMAT, report, project, today },
    ...omitUndefined({ origin, prunedAt: prunedAtMs === undefined ? undefined : formatIsoTime(prunedAtMs) }),
    milestones: (await journal.listMilestones(id)).map(buildEventRecord),
    tenants,
  };
}

function buildListState(list: string | undefined): RecordedChange["before"] {
  if (list === undefined) return undefined;
  return list === "allow" || list === "deny" ? { list } : {};
}

async function readPlannedChanges(
  journal: JournalReader,
  id: string,
  name: string,
): Promise<readonly RecordedChange[]> {
  const plan = await journal.readPlan(id, name);
  const { changes = [] } = plan === undefined ? {} : decodeJson<Partial<Plan>>(plan);
  return changes.map(buildRecordedChange);
}

function buildReportedChange({ operation, kind, list, value }: TenantChange): RecordedChange {
  const { from, to } = getReportedTransition(omitUndefined({ operation, kind, list }));
  return {
    ...{ operation, kind, key: value, value },
    ...omitUndefined({ before: buildListState(from), after: buildListState(to) }),
  };
}

function buildEventRecord(event: RolloutEvent): RolloutMilestone {
  const { occurredAt, kind } = event;
  return {
    occurredAt,
    kind: kind === "started" && event.resumed ? "resumed" : kind,
    ...("wave" in event ? { wave: event.wave } : {}),
    ...(kind === "tenant-skipped" ? { tenant: event.tenant } : {}),
    ...omitUndefined({
      actor: kind === "started" || kind === "tenant-skipped" ? event.actor : undefined,
      detail: getEventDetails(event),
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

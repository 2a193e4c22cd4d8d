import { excerpt, sanitizeLine } from "../../model/text";
import { formatCount, formatMinute } from "../../render/safe-text";
import { type FleetStatus, SYNC_STATUSES, type SyncStatus } from "./status-schema";

export const SYNC_STATUS_TEXTS: Readonly<Record<SyncStatus, string>> = {
  "wrong-key": "with a wrong key",
  unreachable: "unreachable",
  unusable: "that can't be checked",
  drifted: "drifted",
  unknown: "with unknown drift",
  "never-rolled-out": "never rolled out",
  behind: "behind their files",
  "in-sync": "in sync",
};

export function buildStatusSummary({ tenants, file, project, readAt, isJournalRead }: FleetStatus): string[] {
  const counts = SYNC_STATUSES.toReversed().flatMap((syncStatus) => {
    const many = tenants.filter((tenant) => tenant.syncStatus === syncStatus).length;
    return many === 0 ? [] : [`${many} ${SYNC_STATUS_TEXTS[syncStatus]}`];
  });
  const never = tenants.filter(({ lastRollout }) => lastRollout === undefined).length;
  const rollouts = new Map<string, number>();
  for (const { lastRollout } of tenants)
    if (lastRollout !== undefined) rollouts.set(lastRollout.id, (rollouts.get(lastRollout.id) ?? 0) + 1);
  const newest = [...rollouts].sort(([a], [b]) => (a < b ? 1 : -1));
  const last = newest.slice(0, 3).map(([id, many]) => `${excerpt(id)} (${formatCount(many, "tenant")})`);
  const older = newest.length > last.length ? `, and ${newest.length - last.length} older` : "";
  const noneText = never === 0 ? [] : [`none ${isJournalRead ? "yet" : "known"} for ${formatCount(never, "tenant")}`];
  const lastLine = `Last rollouts: ${[...last, ...noneText].join(", ")}${older}.`;
  return [
    `${formatCount(tenants.length, "tenant")} of ${sanitizeLine(file)} (project ${excerpt(project)}), read ${formatMinute(readAt).join("")}: ${counts.join(", ")}.`,
    ...(isJournalRead || rollouts.size > 0 ? [lastLine] : []),
    ...(isJournalRead
      ? []
      : [
          "No rollout journal was found; set --database to one. Without it, only the stacks' states distinguish drift from tenants that are behind.",
        ]),
  ];
}

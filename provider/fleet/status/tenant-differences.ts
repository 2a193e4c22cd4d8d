import { detectDrift, isUnmanagedItem } from "../../gitops/detect-drift";
import type { DriftItem } from "../../gitops/drift-schema";
import { DEFAULT_VERDICT_SCOPE, type EntryType } from "../../model/assumptions";
import { isSameEntryState, pickSentFields } from "../../model/entry-fields";
import { omitUndefined } from "../../model/omit-undefined";
import { OwnDomains } from "../../model/own-domains";
import { findEntryRisks } from "../../model/risk";
import type { StackLists } from "../../plan/desired-state";
import { getLastAppliedState } from "../../plan/last-applied-state";
import type { ObservedState } from "../../plan/observed-state";
import { assertExpectedTenant, type TenantAcceptance } from "../../plan/tenant-mismatch";
import type { Settings } from "../../settings-files/settings-model";
import { isStoredRow } from "../../tenant";
import type { FleetDifference } from "./status-schema";

export interface TenantDifferences {
  /** The changes that somebody made at the tenant. */
  readonly drift: readonly FleetDifference[];
  /** The changes of the files that no rollout has applied yet. */
  readonly pendingChanges: readonly FleetDifference[];
  /** The differences without a known cause, because no known rollout covers them. */
  readonly unclassified: readonly FleetDifference[];
  readonly unknownRollout?: UnknownRolloutReason;
  readonly unchanged: number;
}

/** The reason why the declarations of a tenant's last rollout are unknown. */
export type UnknownRolloutReason = "unknown" | "never-rolled-out";

export type LastRolloutLists =
  | { readonly lists: StackLists; readonly unknownRollout?: undefined }
  /**
   * `lists` is set, and empty, while a first rollout has not reached the tenant: nobody has removed the missing
   * entries.
   */
  | { readonly lists?: StackLists; readonly unknownRollout: UnknownRolloutReason };

/**
 * Compares a tenant with its files and with the declarations of its last rollout. A difference counts as a pending change if the tenant
 * still holds the state that the rollout left. Any other difference is drift. Writes nothing.
 *
 * @param readLastDeclared reads the declarations of the last rollout. Called only if there is a difference.
 * @param fingerprint the fingerprint of the people that the last rollout saw; undefined if there is none.
 * @throws {OtherTenantError} if it seems to be another tenant than the one of the files and the rollout.
 */
export async function compareTenant(
  settings: Settings,
  observed: ObservedState,
  readLastDeclared: () => Promise<LastRolloutLists>,
  host: string,
  acceptance: TenantAcceptance,
  fingerprint?: string,
): Promise<TenantDifferences> {
  const { entries, vips } = settings;
  if (matchesDeclaration(settings, observed)) {
    const expectations = { ownDomains: settings.ownDomains, hasVips: vips.length > 0 };
    assertExpectedTenant(observed, expectations, fingerprint, acceptance);
    return { drift: [], pendingChanges: [], unclassified: [], unchanged: entries.length + vips.length };
  }
  const { lists, unknownRollout } = await readLastDeclared();
  const { items, unchanged } = detectDrift(settings, observed, host, lists, { acceptance });
  const ownDomains = new OwnDomains(settings.ownDomains);
  const getDifferenceKind = (item: DriftItem) =>
    lists !== undefined && isPendingChange(item, lists)
      ? "pendingChanges"
      : unknownRollout === undefined
        ? "drift"
        : "unclassified";
  const itemsByKind = Map.groupBy(items, getDifferenceKind);
  const selectDifferences = (kind: ReturnType<typeof getDifferenceKind>) =>
    (itemsByKind.get(kind) ?? []).map((item) => buildDifference(item, ownDomains, settings, kind === "pendingChanges"));
  return {
    drift: selectDifferences("drift"),
    pendingChanges: selectDifferences("pendingChanges"),
    unclassified: selectDifferences("unclassified"),
    unchanged,
    ...omitUndefined({ unknownRollout }),
  };
}

/**
 * Returns whether the tenant holds exactly the declared entries, like most tenants. This check avoids a plan, which
 * takes far longer than the read.
 */
function matchesDeclaration({ entries, vips }: Settings, observed: ObservedState): boolean {
  if (entries.length + vips.length === 0 || observed.rows.length !== entries.length) return false;
  let storedCount = 0;
  for (const row of observed.vips.values()) if (isStoredRow(row)) storedCount += 1;
  if (storedCount !== vips.length) return false;
  const hasEntries = entries.every((entry) => {
    const [row, duplicate] = observed.entries.get(entry.key) ?? [];
    return row !== undefined && duplicate === undefined && isSameEntryState(row, entry);
  });
  return (
    hasEntries &&
    vips.every((vip) => {
      const row = observed.vips.get(vip.key);
      return row !== undefined && isStoredRow(row) && isSameEntryState(row, vip);
    })
  );
}

/** Returns whether the tenant still holds the state that the last rollout left, so that only the files have changed. */
function isPendingChange({ driftKind, kind, key, actual }: DriftItem, applied: StackLists): boolean {
  if (driftKind === "added") return false;
  const lastState = getLastAppliedState(kind, key, (kind === "vip" ? applied.vips : applied.entries).content);
  return isSameEntryState(lastState, actual);
}

function buildDifference(
  item: DriftItem,
  ownDomains: OwnDomains,
  settings: Settings,
  isPendingChange: boolean,
): FleetDifference {
  const { driftKind, kind, value, verdictScope, entryType, actual, declared, place, reason } = item;
  const list = kind === "vip" ? ("vip" as const) : ((actual ?? declared)?.list ?? "deny");
  const risks =
    driftKind === "missing" || kind === "vip" || actual?.list === undefined || entryType === undefined
      ? []
      : findEntryRisks({ list: actual.list, value, entryType: entryType as EntryType }, ownDomains);
  return {
    driftKind,
    list,
    value,
    ...(verdictScope === undefined || verdictScope === DEFAULT_VERDICT_SCOPE ? {} : { scope: verdictScope }),
    ...omitUndefined({
      actual: actual && {
        ...pickSentFields(actual),
        ...omitUndefined({ createdBy: actual.createdBy, createdAt: actual.createdAt }),
      },
      declared: declared && pickSentFields(declared),
      isUnmanaged: isUnmanagedItem(item, settings) || undefined,
      place: place && { file: place.file, line: place.line },
      // Pending changes need no reason, because the files are the reason, unless an entry was expired or removed.
      reason: isPendingChange && driftKind !== "pending-removal" ? undefined : reason,
      risks: risks.length === 0 ? undefined : risks.map(({ code }) => code),
    }),
  };
}

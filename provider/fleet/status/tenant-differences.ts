import type { Settings } from "../../files/settings";
import { driftOf, isUnmanagedItem } from "../../gitops/drift";
import type { DriftItem } from "../../gitops/drift-schema";
import type { KnownLists } from "../../plan/desired";
import { leftByRun } from "../../plan/left-by-run";
import type { Observed } from "../../plan/observed";
import { type Accepting, assertOwnPeople } from "../../plan/same-tenant";
import { DEFAULT_VERDICT_SCOPE, type EntryType } from "../../settings/assumptions";
import { isSameStanding, sentOf } from "../../settings/entry-fields";
import { OwnDomains } from "../../settings/own-domains";
import { risksOf } from "../../settings/risk";
import { withoutUndefined } from "../../settings/without-undefined";
import { isStored } from "../../tenant";
import type { FleetDifference } from "./status-schema";

/** The differences between a tenant and its files, by cause. */
export interface TenantDifferences {
  /** The changes that somebody made at the tenant. */
  readonly drift: readonly FleetDifference[];
  /** The changes of the files that no rollout has applied yet. */
  readonly behind: readonly FleetDifference[];
  /** The differences without a known cause, because no known rollout covers them. */
  readonly unattributed: readonly FleetDifference[];
  readonly why?: UnknownRollout;
  readonly unchanged: number;
}

/** Why the declarations of a tenant's last rollout are unknown. */
export type UnknownRollout = "not-known" | "never-rolled-out";

/** The declarations of a tenant's last rollout. */
export type LastApplied =
  | { readonly known: KnownLists; readonly why?: undefined }
  /** `known` is set while a first rollout has not reached the tenant: it is empty, because nobody has removed the missing entries. */
  | { readonly known?: KnownLists; readonly why: UnknownRollout };

/**
 * Compares a tenant with its files and with the declarations of its last rollout. A difference counts as behind if the tenant still holds
 * the state that the rollout left. Any other difference is drift. Writes nothing.
 *
 * @param readLastDeclared reads the declarations of the last rollout. Called only if there is a difference.
 * @param fingerprint the fingerprint of the people that the last rollout saw; undefined if there is none.
 * @throws {OtherTenantError} if it seems to be another tenant than the one of the files and the rollout.
 */
export async function tenantDifferences(
  settings: Settings,
  observed: Observed,
  readLastDeclared: () => Promise<LastApplied>,
  host: string,
  accepting: Accepting,
  fingerprint?: string,
): Promise<TenantDifferences> {
  const { entries, vips } = settings;
  if (matchesDeclaration(settings, observed)) {
    const expectations = { ownDomains: settings.ownDomains, hasVips: vips.length > 0 };
    assertOwnPeople(observed, expectations, fingerprint, accepting);
    return { drift: [], behind: [], unattributed: [], unchanged: entries.length + vips.length };
  }
  const { known, why } = await readLastDeclared();
  const { items, unchanged } = driftOf(settings, observed, host, known, { accepting });
  const ownDomains = new OwnDomains(settings.ownDomains);
  const getDifferenceKind = (item: DriftItem) =>
    known !== undefined && isBehind(item, known) ? "behind" : why === undefined ? "drift" : "unattributed";
  const itemsByKind = Map.groupBy(items, getDifferenceKind);
  const selectDifferences = (kind: ReturnType<typeof getDifferenceKind>) =>
    (itemsByKind.get(kind) ?? []).map((item) => buildDifference(item, ownDomains, settings, kind === "behind"));
  return {
    drift: selectDifferences("drift"),
    behind: selectDifferences("behind"),
    unattributed: selectDifferences("unattributed"),
    unchanged,
    ...withoutUndefined({ why }),
  };
}

/**
 * Whether the tenant holds exactly the declared entries, like most tenants. This check avoids a plan, which takes far longer than the
 * reading.
 */
function matchesDeclaration({ entries, vips }: Settings, observed: Observed): boolean {
  if (entries.length + vips.length === 0 || observed.rows.length !== entries.length) return false;
  let storedCount = 0;
  for (const row of observed.vips.values()) if (isStored(row)) storedCount += 1;
  if (storedCount !== vips.length) return false;
  const hasEntries = entries.every((entry) => {
    const [row, duplicate] = observed.entries.get(entry.key) ?? [];
    return row !== undefined && duplicate === undefined && isSameStanding(row, entry);
  });
  return (
    hasEntries &&
    vips.every((vip) => {
      const row = observed.vips.get(vip.key);
      return row !== undefined && isStored(row) && isSameStanding(row, vip);
    })
  );
}

/** Whether the tenant still holds the state that the last rollout left, so that only the files have changed. */
function isBehind({ what, kind, key, there }: DriftItem, applied: KnownLists): boolean {
  if (what === "added") return false;
  const lastState = leftByRun(kind, key, (kind === "vip" ? applied.vips : applied.entries).content);
  return isSameStanding(lastState, there);
}

function buildDifference(
  item: DriftItem,
  ownDomains: OwnDomains,
  settings: Settings,
  isBehind: boolean,
): FleetDifference {
  const { what, kind, value, verdictScope, entryType, there, declared, place, why } = item;
  const list = kind === "vip" ? ("vip" as const) : ((there ?? declared)?.list ?? "deny");
  const risks =
    what === "missing" || kind === "vip" || there?.list === undefined || entryType === undefined
      ? []
      : risksOf({ list: there.list, value, entryType: entryType as EntryType }, ownDomains);
  return {
    what,
    list,
    value,
    ...(verdictScope === undefined || verdictScope === DEFAULT_VERDICT_SCOPE ? {} : { scope: verdictScope }),
    ...withoutUndefined({
      there: there && { ...sentOf(there), ...withoutUndefined({ by: there.by, at: there.at }) },
      declared: declared && sentOf(declared),
      isUnmanaged: isUnmanagedItem(item, settings) || undefined,
      place: place && { file: place.file, line: place.line },
      // Behind differences need no reason, because the files themselves are the reason, unless an entry is leaving.
      why: isBehind && what !== "leaving" ? undefined : why,
      risks: risks.length === 0 ? undefined : risks.map(({ code }) => code),
    }),
  };
}

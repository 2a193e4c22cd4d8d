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

/** How a tenant differs from its files, by whose doing. */
export interface TenantDifferences {
  /** What somebody changed at the tenant. */
  readonly drift: readonly FleetDifference[];
  /** What the files say, and no rollout has brought. */
  readonly behind: readonly FleetDifference[];
  /** What differs where no rollout that is known here tells who changed it, and why none does. */
  readonly unattributed: readonly FleetDifference[];
  readonly why?: UnknownRollout;
  readonly unchanged: number;
}

/** Why it isn't known what the last rollout of a tenant declared. */
export type UnknownRollout = "not-known" | "never-rolled-out";

/** What the last rollout of a tenant declared. */
export type LastApplied =
  | { readonly known: KnownLists; readonly why?: undefined }
  /** `known` where a first rollout is under way: what is missing was not removed by anybody. */
  | { readonly known?: KnownLists; readonly why: UnknownRollout };

/**
 * Compares a tenant with its files and with what its last rollout declared: what it holds as that rollout left it, and the files say
 * otherwise, is behind; all else that differs is drift. Writes nothing.
 *
 * @param lastApplied what the last rollout declared, asked for only where something differs.
 * @param fingerprint of the people that the last rollout saw; undefined where none is known.
 * @throws {OtherTenantError} when it is another tenant than the files and the rollout are of, as it seems.
 */
export async function tenantDifferences(
  settings: Settings,
  observed: Observed,
  lastApplied: () => Promise<LastApplied>,
  host: string,
  accepting: Accepting,
  fingerprint?: string,
): Promise<TenantDifferences> {
  const { entries, vips } = settings;
  if (isAsDeclared(settings, observed)) {
    const about = { ownDomains: settings.ownDomains, hasVips: vips.length > 0 };
    assertOwnPeople(observed, about, fingerprint, accepting);
    return { drift: [], behind: [], unattributed: [], unchanged: entries.length + vips.length };
  }
  const { known, why } = await lastApplied();
  const { items, unchanged } = driftOf(settings, observed, host, known, { accepting });
  const own = new OwnDomains(settings.ownDomains);
  const kindOf = (item: DriftItem) =>
    known !== undefined && isBehind(item, known) ? "behind" : why === undefined ? "drift" : "unattributed";
  const all = Map.groupBy(items, kindOf);
  const of = (kind: ReturnType<typeof kindOf>) =>
    (all.get(kind) ?? []).map((item) => differenceOf(item, own, settings, kind === "behind"));
  return {
    drift: of("drift"),
    behind: of("behind"),
    unattributed: of("unattributed"),
    unchanged,
    ...withoutUndefined({ why }),
  };
}

/** What most tenants are: as declared, and nothing else. Told without a plan, which takes far longer than the reading. */
function isAsDeclared({ entries, vips }: Settings, observed: Observed): boolean {
  if (entries.length + vips.length === 0 || observed.rows.length !== entries.length) return false;
  let stored = 0;
  for (const row of observed.vips.values()) if (isStored(row)) stored += 1;
  if (stored !== vips.length) return false;
  const hasEntries = entries.every((entry) => {
    const [row, another] = observed.entries.get(entry.key) ?? [];
    return row !== undefined && another === undefined && isSameStanding(row, entry);
  });
  return (
    hasEntries &&
    vips.every((vip) => {
      const row = observed.vips.get(vip.key);
      return row !== undefined && isStored(row) && isSameStanding(row, vip);
    })
  );
}

/** Whether it is as the last rollout left it, so that the files have moved on and nobody has touched it. */
function isBehind({ what, kind, key, there }: DriftItem, applied: KnownLists): boolean {
  if (what === "added") return false;
  const left = leftByRun(kind, key, (kind === "vip" ? applied.vips : applied.entries).content);
  return isSameStanding(left, there);
}

function differenceOf(
  item: DriftItem,
  own: OwnDomains,
  settings: Settings,
  behind: boolean,
): FleetDifference {
  const { what, kind, value, verdictScope, entryType, there, declared, place, why } = item;
  const list = kind === "vip" ? ("vip" as const) : ((there ?? declared)?.list ?? "deny");
  const risks =
    what === "missing" || kind === "vip" || there?.list === undefined || entryType === undefined
      ? []
      : risksOf({ list: there.list, value, entryType: entryType as EntryType }, own);
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
      // That the files say so is why, of what is behind and stays.
      why: behind && what !== "leaving" ? undefined : why,
      risks: risks.length === 0 ? undefined : risks.map(({ code }) => code),
    }),
  };
}

import { createHash } from "node:crypto";
import { getComparableValues } from "../../model/entry-fields";
import type { ExpiringEntry, FleetDifference, FleetStatus, TenantStatus } from "../status/status-schema";
import type { SentNotices } from "./sent-notices";

/** The changes of a fleet that no notice has covered yet. */
export interface UnsentChanges {
  /** The tenants with new drift, and only the new part of it. */
  readonly drifted: readonly TenantStatus[];
  /** The entries that expire soon, without those that have expired already. */
  readonly expiring: readonly ExpiringEntry[];
  /** Ids of the notices. The same news on the same day has the same id, whichever run sends it. */
  readonly ids: { readonly drift: string; readonly expiring: string };
  /** The present state, to be stored once the notices are sent. */
  readonly currentState: SentNotices;
}

/**
 * Finds the changes since the last notice. Drift that was fixed and returns is new again. So is the drift of another tenant that a person
 * accepted on the same stack. For an unreadable or unselected tenant, the stored state stays.
 *
 * @param unselectedStacks the stacks of the targets file's tenants that the status leaves out. Default: none.
 */
export function findUnsentChanges(
  { tenants, expiring, today }: FleetStatus,
  sent: SentNotices,
  unselectedStacks: ReadonlySet<string> = new Set(),
): UnsentChanges {
  const sentDrift = new Map(Object.entries(sent.drift));
  const sentAccepted = new Map(Object.entries(sent.acceptedSeqs ?? {}));
  const isUnselected = ([stack]: readonly [string, unknown]): boolean => unselectedStacks.has(stack);
  const currentDrift = new Map<string, readonly string[]>([...sentDrift].filter(isUnselected));
  const currentAccepted = new Map<string, number>([...sentAccepted].filter(isUnselected));
  const newHashes: string[] = [];
  const drifted = tenants.flatMap((tenant) => {
    // Another tenant may have the name by now.
    const { stack, error } = tenant;
    const acceptedSeq = error === undefined ? tenant.acceptedSeq : sentAccepted.get(stack);
    const sentHashes = new Set(sentAccepted.get(stack) === acceptedSeq ? sentDrift.get(stack) : []);
    const noticeable = selectReportableDrift(tenant);
    const hashes = error === undefined ? noticeable.map(hashDrift) : [...sentHashes];
    if (hashes.length > 0) currentDrift.set(stack, hashes);
    if (hashes.length > 0 && acceptedSeq !== undefined) currentAccepted.set(stack, acceptedSeq);
    const newDrift = noticeable.filter((difference) => !sentHashes.has(hashDrift(difference)));
    newHashes.push(...newDrift.map((difference) => `${stack} ${hashDrift(difference)}`));
    return newDrift.length === 0 ? [] : [{ ...tenant, drift: newDrift }];
  });
  const upcoming = expiring.filter(({ isExpired }) => !isExpired);
  const sentExpiries = new Set(sent.expiring);
  const newExpiring = upcoming.filter((difference) => !sentExpiries.has(hashExpiry(difference)));
  // The entries of unusable or unselected files are unknown. They have not expired, and must not be new again in a later run.
  const hasUnread = unselectedStacks.size > 0 || tenants.some(({ syncStatus }) => syncStatus === "unusable");
  const currentExpiries = new Set([...upcoming.map(hashExpiry), ...(hasUnread ? sentExpiries : [])]);
  return {
    drifted,
    expiring: newExpiring,
    ids: {
      drift: `drift-${hashValues([today, newHashes.sort()])}`,
      expiring: `expiring-${hashValues([today, newExpiring.map(hashExpiry).sort()])}`,
    },
    currentState: {
      format: 1,
      drift: Object.fromEntries(currentDrift),
      ...(currentAccepted.size === 0 ? {} : { acceptedSeqs: Object.fromEntries(currentAccepted) }),
      expiring: [...currentExpiries],
    },
  };
}

/**
 * Returns the differences that a person may have caused at a tenant. If the last rollout's result is unknown, these are
 * undeclared entries, and entries on another list than declared.
 */
export function selectReportableDrift({
  syncStatus,
  drift,
  unclassified = [],
}: TenantStatus): readonly FleetDifference[] {
  if (syncStatus !== "unknown") return drift;
  return unclassified.filter(({ actual, declared }) => actual !== undefined && actual.list !== declared?.list);
}

/** Hashes what somebody did. Excludes the declarations of the files, which may change independently. */
function hashDrift({ driftKind, list, value, scope, actual }: FleetDifference): string {
  return hashValues([
    driftKind,
    list,
    value,
    scope,
    actual && getComparableValues(actual),
    actual?.createdBy,
    actual?.createdAt,
  ]);
}

function hashExpiry({ list, value, scope, expires, place }: ExpiringEntry): string {
  return hashValues([list, value, scope, expires, place.file]);
}

function hashValues(values: readonly unknown[]): string {
  return createHash("sha256").update(JSON.stringify(values)).digest("base64url").slice(0, 22);
}

import { createHash } from "node:crypto";
import { comparedValues } from "../../settings/entry-fields";
import type { FleetDifference, FleetEnd, FleetStatus, TenantStatus } from "../status/status-schema";
import type { Told } from "./told-file";

/** The changes of a fleet that no notice has covered yet. */
export interface News {
  /** The tenants with new drift, and only the new part of it. */
  readonly drifted: readonly TenantStatus[];
  /** The entries that expire soon, without those that have expired already. */
  readonly ends: readonly FleetEnd[];
  /** Ids of the notices. The same news on the same day has the same id, whichever run sends it. */
  readonly ids: { readonly drift: string; readonly ends: string };
  /** The present state, to be stored once the notices are sent. */
  readonly now: Told;
}

/**
 * Finds the changes since the last notice. Drift that was fixed and returns is new again. For an unreadable tenant, the stored state stays.
 */
export function newsOf({ tenants, ends, today }: FleetStatus, before: Told): News {
  const known = new Map(Object.entries(before.drift));
  const now = new Map<string, readonly string[]>();
  const fresh: string[] = [];
  const drifted = tenants.flatMap((tenant) => {
    const { name, error } = tenant;
    const told = new Set(known.get(name));
    const all = noticeableOf(tenant);
    const marks = error === undefined ? all.map(driftMark) : [...told];
    if (marks.length > 0) now.set(name, marks);
    const drift = all.filter((one) => !told.has(driftMark(one)));
    fresh.push(...drift.map((one) => `${name} ${driftMark(one)}`));
    return drift.length === 0 ? [] : [{ ...tenant, drift }];
  });
  const ahead = ends.filter(({ isOver }) => !isOver);
  const toldEnds = new Set(before.ends);
  const newEnds = ahead.filter((one) => !toldEnds.has(endMark(one)));
  // The entries of unusable files are unknown. They have not expired, and must not be new again once the files are fixed.
  const isUnknown = tenants.some(({ standing }) => standing === "unusable");
  const nowEnds = new Set([...ahead.map(endMark), ...(isUnknown ? toldEnds : [])]);
  return {
    drifted,
    ends: newEnds,
    ids: {
      drift: `drift-${mark([today, fresh.sort()])}`,
      ends: `expiring-${mark([today, newEnds.map(endMark).sort()])}`,
    },
    now: { format: 1, drift: Object.fromEntries(now), ends: [...nowEnds] },
  };
}

/**
 * The differences that a person may have caused at a tenant. If the last rollout's result is unknown, these are undeclared entries, and
 * entries on another list than declared.
 */
export function noticeableOf({
  standing,
  drift,
  unattributed = [],
}: TenantStatus): readonly FleetDifference[] {
  if (standing !== "not-known") return drift;
  return unattributed.filter(({ there, declared }) => there !== undefined && there.list !== declared?.list);
}

/** Hashes what somebody did. Excludes the declarations of the files, which may change independently. */
function driftMark({ what, list, value, scope, there }: FleetDifference): string {
  return mark([what, list, value, scope, there && comparedValues(there), there?.by, there?.at]);
}

function endMark({ list, value, scope, expires, place }: FleetEnd): string {
  return mark([list, value, scope, expires, place.file]);
}

function mark(of: readonly unknown[]): string {
  return createHash("sha256").update(JSON.stringify(of)).digest("base64url").slice(0, 22);
}

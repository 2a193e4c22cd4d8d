import { createHash } from "node:crypto";
import { comparedValues } from "../../settings/entry-fields";
import type { FleetDifference, FleetEnd, FleetStatus, TenantStatus } from "../status/status-schema";
import type { Told } from "./told-file";

/** What of a fleet nobody was told of yet. */
export interface News {
  /** Those with new drift, and of their drift what is new. */
  readonly drifted: readonly TenantStatus[];
  /** What ends soon; what is over is none of it. */
  readonly ends: readonly FleetEnd[];
  /** The same for the same news of a day, whoever tells them. */
  readonly ids: { readonly drift: string; readonly ends: string };
  /** What is so now, to be kept once it was told. */
  readonly now: Told;
}

/**
 * What is new since it was told. What is mended and comes back is new again; of a tenant that could not be read, what was told of it
 * stays told.
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
  // Of files that can't be used no end is known: they are not over, and not new once the files are mended.
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
 * What a person may have done at a tenant. Where nobody knows here what a rollout left, that is what no file declares, and what is on
 * another list than declared.
 */
export function noticeableOf({
  standing,
  drift,
  unattributed = [],
}: TenantStatus): readonly FleetDifference[] {
  if (standing !== "not-known") return drift;
  return unattributed.filter(({ there, declared }) => there !== undefined && there.list !== declared?.list);
}

/** What somebody did; not what the files say of it, which changes without them. */
function driftMark({ what, list, value, scope, there }: FleetDifference): string {
  return mark([what, list, value, scope, there && comparedValues(there), there?.by, there?.at]);
}

function endMark({ list, value, scope, expires, place }: FleetEnd): string {
  return mark([list, value, scope, expires, place.file]);
}

function mark(of: readonly unknown[]): string {
  return createHash("sha256").update(JSON.stringify(of)).digest("base64url").slice(0, 22);
}

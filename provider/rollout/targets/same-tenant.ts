import { lineText, type Place } from "../../files/finding";
import { EmailSecurityError } from "../../settings/email-security-error";
import {
  findSameTenants,
  isReplacedBy,
  isSameTenant,
  isStillTenant,
  type TenantIdentity,
} from "../../settings/tenant-identity";
import { quote } from "../../settings/text";
import type { Target } from "../model/target";
import { nameOf } from "./read-key";

/** The identity that an earlier or a running rollout read from a tenant. */
export interface RememberedTenant {
  readonly stack: string;
  readonly name: string;
  /** The place in the targets file. Absent if the file doesn't declare the tenant, or isn't available. */
  readonly place?: Place;
  readonly rollout: string;
  readonly identity: TenantIdentity;
  /** The fingerprint of the domains of its people. */
  readonly fingerprint?: string;
}

/** The identities that rollouts read, by stack. */
export type RememberedTenants = ReadonlyMap<string, RememberedTenant>;

/** A tenant of the service that several tenants of the targets file open, or that a tenant opens instead of its own. */
export interface SameTargets {
  /** The tenants under whose names this run read it; at least one. */
  readonly read: readonly Target[];
  /** The tenants under whose names earlier rollouts read it. */
  readonly known: readonly RememberedTenant[];
  /**
   * The tenants that this run read with a wrong key, if that is known. Otherwise, the tenants of which at least one may have a wrong key.
   */
  readonly wrong: readonly Target[];
  /** The tenants with this identity in earlier rollouts, for which this run read something else. */
  readonly replaced: readonly Target[];
}

/**
 * Keys open another tenant of the service than intended, or several keys open the same one. The code is `ERR_OTHER_TENANT` if only earlier
 * rollouts read that tenant under another name, and otherwise `ERR_SAME_TENANT`.
 */
export class SameTenantError extends EmailSecurityError {
  readonly groups: readonly SameTargets[];

  /**
   * @param groups from {@link findSameTargets}; at least one.
   * @param outcome what was done. Default: nothing was changed.
   */
  constructor(groups: readonly SameTargets[], outcome = "Nothing was changed.") {
    const isOther = groups.every(({ read }) => read.length === 1);
    const lines = groups.slice(0, SHOWN).map(lineOf);
    const more = groups.length > SHOWN ? [`… and ${groups.length - SHOWN} more`] : [];
    const all = lines.length === 1 ? ` ${lines[0]}` : ["", ...lines, ...more].join("\n  ");
    super(
      isOther ? "ERR_OTHER_TENANT" : "ERR_SAME_TENANT",
      `${isOther ? otherText(groups.length, outcome) : sameText(outcome)}:${all}`,
    );
    this.groups = groups;
  }
}

const RENAMED =
  "Where a name means another tenant than before, give each tenant the stack that it had (`stack` in the targets file)";

function otherText(count: number, outcome: string): string {
  const what =
    count === 1 ? "A key opens another tenant than its own" : "Keys open other tenants than their own";
  return `${what}, by the ids and creation dates of entries, or by people. ${outcome} Check whose key it is, and put the tenant's own key in its place. ${RENAMED}`;
}

function sameText(outcome: string): string {
  return `Different keys open the same tenant of the service: what these tenants hold is the same, down to ids and creation dates or people. What one declares, another would remove. ${outcome} Check whose keys they are, and give each tenant its own key. Where they are one tenant now, remove all but one from the targets file (\`email-security tenant remove NAME\`)`;
}

const SHOWN = 20;

function lineOf({ read, known }: SameTargets): string {
  const readers = read.slice(0, SHOWN).map(named).join(", ");
  if (known.length === 0) return readers;
  const before = known.slice(0, SHOWN).map(({ name, place, rollout }) => {
    const where = place === undefined ? "" : `${lineText(place)}; `;
    return `${quote(name)} (${where}read by the rollout ${rollout})`;
  });
  return `${readers} ${read.length === 1 ? "opens" : "open"} the tenant of ${before.join(", ")}`;
}

function named({ name, place, key }: Target): string {
  return `${quote(name)} (${lineText(place)}; key from ${nameOf(key)})`;
}

/**
 * Finds tenants whose keys open the same tenant of the service, or a tenant that rollouts read under another name. This happens, for
 * example, after two keys were swapped.
 *
 * @param readings the identities that this run read.
 * @param remembered the identities that rollouts read. Default: none.
 */
export function findSameTargets(
  readings: ReadonlyMap<Target, TenantIdentity>,
  remembered: RememberedTenants = new Map(),
): readonly SameTargets[] {
  const isConfirmed = (target: Target): boolean => {
    const [now, before] = [readings.get(target), remembered.get(target.stack)];
    return now !== undefined && before !== undefined && isStillTenant(now, before.identity);
  };
  const confirmed = new Set([...readings.keys()].filter(isConfirmed));
  const confirmedStacks = new Set([...confirmed].map(({ stack }) => stack));
  const all = new Map<Target | RememberedTenant, TenantIdentity>(readings);
  for (const [stack, tenant] of remembered) if (!confirmedStacks.has(stack)) all.set(tenant, tenant.identity);
  const isRead = (one: Target | RememberedTenant): one is Target => readings.has(one as Target);
  /** Whether a remembered name is only a former name of the same tenant. */
  const isFormerName = ({ identity }: RememberedTenant, { stack }: Target): boolean => {
    const before = remembered.get(stack);
    return before !== undefined && isSameTenant(identity, before.identity);
  };
  const groups: Pick<SameTargets, "read" | "known">[] = findSameTenants(all).map((group) => {
    const read = group.filter(isRead);
    const known = group.filter((one): one is RememberedTenant => !isRead(one));
    return { read, known: known.filter((one) => !read.some((target) => isFormerName(one, target))) };
  });
  const grouped = new Set(groups.flatMap(({ read }) => read));
  for (const [target, identity] of readings) {
    const before = remembered.get(target.stack);
    if (before === undefined || grouped.has(target)) continue;
    const known = [...remembered.values()].filter(
      (other) => other !== before && isReplacedBy(identity, before.identity, other.identity),
    );
    if (known.length > 0) groups.push({ read: [target], known });
  }
  const targets = new Map([...readings.keys()].map((target) => [target.stack, target]));
  return (
    groups
      // Two tenants that only earlier rollouts read are no reason to block this run.
      .filter(({ read, known }) => read.length > 0 && read.length + known.length > 1)
      .map(({ read, known }) => {
        const right = known.length === 0 ? read.filter((target) => confirmed.has(target)) : [];
        const [owner] = right.length === 1 ? right : [];
        const replaced = known.flatMap(({ stack }) => targets.get(stack) ?? []);
        return { read, known, wrong: read.filter((target) => target !== owner), replaced };
      })
  );
}

/** Reads the identities of the targets file's tenants from earlier rollouts; with `all`, also of tenants that have left the file. */
export type ReadMemory = (of: "declared" | "all") => Promise<RememberedTenants>;

/**
 * Like {@link findSameTargets}, with the memory of a journal. If a reading differs from the remembered identity, also searches tenants that
 * have left the targets file, because a new tenant may be a former one under a new name.
 */
export async function findSameTargetsIn(
  readings: ReadonlyMap<Target, TenantIdentity>,
  memory: ReadMemory,
): Promise<readonly SameTargets[]> {
  const remembered = await memory("declared");
  const found = findSameTargets(readings, remembered);
  const isFound = new Set(found.flatMap(({ read }) => read));
  const changed = [...readings].filter(([target, identity]) => {
    const before = remembered.get(target.stack);
    return before !== undefined && !isFound.has(target) && !isStillTenant(identity, before.identity);
  });
  if (changed.length === 0) return found;
  return [...found, ...findSameTargets(new Map(changed), await memory("all"))];
}

import { lineText, type Place } from "../../files/finding";
import { EmailSecurityError } from "../../settings/email-security-error";
import { shellWord } from "../../settings/shell-word";
import {
  findSameTenants,
  isReplacedBy,
  isSameTenant,
  isStillTenant,
  provesOtherTenant,
  type TenantIdentity,
} from "../../settings/tenant-identity";
import { acceptingIt } from "../../settings/tenant-people";
import { quote } from "../../settings/text";
import type { StackMarker } from "../model/stack-marker";
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
  /** Reads what all rollouts read of it, the first of them first. Default: this alone. */
  readonly earlier?: () => Promise<readonly EarlierReading[]>;
  /** The rollout has changed the tenant and isn't through there: it may have replaced what was read. Default: false. */
  readonly isInterrupted?: boolean;
}

/** What one rollout read of a tenant. */
export interface EarlierReading {
  /** Which rollouts started before: those with a lower number, and of the same number those that started earlier. */
  readonly order: readonly [sequence: number, startedAtMs: number];
  readonly identity: TenantIdentity;
}

/** The identities that rollouts read, by stack. */
export type RememberedTenants = ReadonlyMap<string, RememberedTenant>;

/** A tenant of the service that several tenants of the targets file open, or that a tenant opens instead of its own. */
export interface SameTargets {
  /** The tenants under whose names this run read it; at least one. */
  readonly read: readonly Target[];
  /** The tenants under whose names earlier rollouts read it. */
  readonly known: readonly RememberedTenant[];
  /** Why it isn't the tenant of the only one that read it, where no rollout read it in any name. */
  readonly unknown?: { readonly rollout: string; readonly why: string };
  /** Those that this run read by a wrong key, as far as that is known; otherwise, those of which one may have a wrong key. */
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
      `${isOther ? otherText(groups, outcome) : sameText(outcome)}:${all}`,
    );
    this.groups = groups;
  }
}

/** How a person says that what rollouts remember of tenants is wrong, as after a rollout with a wrong key. */
function acceptingText(groups: readonly SameTargets[]): string {
  const names = new Set(groups.flatMap(({ read, known }) => [...read, ...known]).map(({ name }) => name));
  return acceptingIt(
    "where the tenant was rebuilt, or an earlier rollout had a wrong key",
    {},
    [...names].map(shellWord).join(","),
  );
}

const RENAMED =
  "Where a name means another tenant than before, give each tenant the stack that it had (`stack` in the targets file)";

function otherText(groups: readonly SameTargets[], outcome: string): string {
  const what =
    groups.length === 1
      ? "A key opens another tenant than its own"
      : "Keys open other tenants than their own";
  const last = groups.some(({ known }) => known.length > 0) ? RENAMED : "This run found";
  return `${what}, by the ids and creation dates of entries, or by people. ${outcome} Check whose key it is, and put the tenant's own key in its place. ${acceptingText(groups)} ${last}`;
}

function sameText(outcome: string): string {
  return `Different keys open the same tenant of the service: what these tenants hold is the same, down to ids and creation dates or people. What one declares, another would remove. ${outcome} Check whose keys they are, and give each tenant its own key. Where they are one tenant now, remove all but one from the targets file (\`email-security tenant remove NAME\`)`;
}

const SHOWN = 20;

function lineOf({ read, known, unknown }: SameTargets): string {
  const readers = read.slice(0, SHOWN).map(named).join(", ");
  if (unknown !== undefined) {
    const { rollout, why } = unknown;
    return `${readers} opens a tenant that isn't the one of the rollout ${rollout}: ${why}`;
  }
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
  const found = groups
    // What earlier rollouts read of two tenants is no reason to refuse a run that reads neither.
    .filter(({ read, known }) => read.length > 0 && read.length + known.length > 1)
    .map(({ read, known }) => {
      const right = known.length === 0 ? read.filter((target) => confirmed.has(target)) : [];
      const [owner] = right.length === 1 ? right : [];
      const replaced = known.flatMap(({ stack }) => targets.get(stack) ?? []);
      return { read, known, wrong: read.filter((target) => target !== owner), replaced };
    });
  const isFound = new Set(found.flatMap(({ read }) => read));
  const unknown = [...readings].flatMap(([target, identity]): SameTargets[] => {
    const before = remembered.get(target.stack);
    if (before === undefined || isFound.has(target)) return [];
    const why = provesOtherTenant(identity, before.identity);
    if (why === undefined) return [];
    return [
      { read: [target], known: [], unknown: { rollout: before.rollout, why }, wrong: [target], replaced: [] },
    ];
  });
  return [...found, ...unknown];
}

/** Reads the identities of the targets file's tenants from earlier rollouts; with `all`, also of tenants that have left the file. */
export type ReadMemory = (of: "declared" | "all") => Promise<RememberedTenants>;

/**
 * Adds what rollouts left in the states of stacks, for those of which a journal knows nothing.
 *
 * @param markerOf of a stack; undefined where its state has none, or isn't known.
 */
export function withMarkers(
  memory: ReadMemory,
  targets: readonly Target[],
  markerOf: (target: Target) => StackMarker | undefined,
): ReadMemory {
  return async (of) => {
    const remembered = new Map(await memory(of));
    for (const target of targets) {
      const { name, stack, place } = target;
      const { rollout, identity } = (remembered.has(stack) ? undefined : markerOf(target)) ?? {};
      if (rollout === undefined || identity === undefined) continue;
      remembered.set(stack, { stack, name, place, rollout, identity });
    }
    return remembered;
  };
}

/**
 * The same with what a journal remembers. A tenant that has left the targets file is looked for only where a reading isn't what rollouts read
 * of the tenant before: a new tenant may be one of the past with a new name.
 *
 * A rollout with a wrong key leaves what it read in the journal. So what any earlier rollout read of a tenant is its own, and of a tenant of
 * the service that rollouts read in several names, the first name counts.
 *
 * @param isAccepted whether a person says that what is remembered of a tenant of that name is wrong. Default: of none.
 */
export async function findSameTargetsIn(
  readings: ReadonlyMap<Target, TenantIdentity>,
  memory: ReadMemory,
  isAccepted: (name: string) => boolean = () => false,
): Promise<readonly SameTargets[]> {
  const remembered = await memory("declared");
  const found = findSameTargets(readings, remembered).filter(({ unknown }) => unknown === undefined);
  const isFound = new Set(found.flatMap(({ read }) => read));
  const changed = [...readings].filter(([target, identity]) => {
    const before = remembered.get(target.stack);
    return before !== undefined && !isFound.has(target) && !isStillTenant(identity, before.identity);
  });
  const all = changed.length === 0 ? remembered : await memory("all");
  const more = changed.length === 0 ? [] : findSameTargets(new Map(changed), all);
  const wrong: SameTargets[] = [];
  for (const group of [...found, ...more]) {
    const isKeptApart = group.read.length > 1;
    const names = [...group.read, ...group.known].map(({ name }) => name);
    if (isKeptApart || !(names.every(isAccepted) || (await isOwn(group, readings, all)))) wrong.push(group);
  }
  return wrong;
}

/** Whether rollouts read a tenant of the service in the name of the only one that read it now, and in no other name before. */
async function isOwn(
  { read: [target], known }: SameTargets,
  readings: ReadonlyMap<Target, TenantIdentity>,
  remembered: RememberedTenants,
): Promise<boolean> {
  const identity = target && readings.get(target);
  if (identity === undefined) return false;
  const firstIn = async (tenant: RememberedTenant | undefined): Promise<EarlierReading | undefined> =>
    (await tenant?.earlier?.())?.find((one) => isStillTenant(identity, one.identity));
  const own = await firstIn(remembered.get(target?.stack ?? ""));
  if (own === undefined) return false;
  for (const other of known) {
    const first = await firstIn(other);
    if (first === undefined || !isEarlier(own, first)) return false;
  }
  return true;
}

function isEarlier({ order: [one, at] }: EarlierReading, { order: [other, than] }: EarlierReading): boolean {
  return one === other ? at < than : one < other;
}

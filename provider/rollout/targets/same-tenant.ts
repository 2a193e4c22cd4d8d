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
  /** Of an interrupted rollout: what it can't have removed or replaced. Absent: not known. */
  readonly lasting?: TenantIdentity;
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
    const isOtherTenant = groups.every(({ read }) => read.length === 1);
    const lines = groups.slice(0, MAX_LISTED).map(formatGroup);
    const moreLines = groups.length > MAX_LISTED ? [`… and ${groups.length - MAX_LISTED} more`] : [];
    const groupsText = lines.length === 1 ? ` ${lines[0]}` : ["", ...lines, ...moreLines].join("\n  ");
    super(
      isOtherTenant ? "ERR_OTHER_TENANT" : "ERR_SAME_TENANT",
      `${isOtherTenant ? formatOtherTenantMessage(groups, outcome) : formatSameTenantMessage(outcome)}:${groupsText}`,
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

const RENAME_ADVICE =
  "Where a name means another tenant than before, give each tenant the stack that it had (`stack` in the targets file)";

function formatOtherTenantMessage(groups: readonly SameTargets[], outcome: string): string {
  const summary =
    groups.length === 1 ? "A key opens another tenant than its own" : "Keys open other tenants than their own";
  const last = groups.some(({ known }) => known.length > 0) ? RENAME_ADVICE : "This run found";
  return `${summary}, by the ids and creation dates of entries, or by people. ${outcome} Check whose key it is, and put the tenant's own key in its place. ${acceptingText(groups)} ${last}`;
}

function formatSameTenantMessage(outcome: string): string {
  return `Different keys open the same tenant of the service: what these tenants hold is the same, down to ids and creation dates or people. What one declares, another would remove. ${outcome} Check whose keys they are, and give each tenant its own key. Where they are one tenant now, remove all but one from the targets file (\`email-security tenant remove NAME\`)`;
}

const MAX_LISTED = 20;

function formatGroup({ read, known, unknown }: SameTargets): string {
  const readers = read.slice(0, MAX_LISTED).map(formatTargetWithKey).join(", ");
  if (unknown !== undefined) {
    const { rollout, why } = unknown;
    return `${readers} opens a tenant that isn't the one of the rollout ${rollout}: ${why}`;
  }
  if (known.length === 0) return readers;
  const recordedTexts = known.slice(0, MAX_LISTED).map(({ name, place, rollout }) => {
    const locationText = place === undefined ? "" : `${lineText(place)}; `;
    return `${quote(name)} (${locationText}read by the rollout ${rollout})`;
  });
  return `${readers} ${read.length === 1 ? "opens" : "open"} the tenant of ${recordedTexts.join(", ")}`;
}

export function formatTargetWithKey({ name, place, key }: Target): string {
  return `${quote(name)} (${lineText(place)}; key from ${nameOf(key)})`;
}

/**
 * Finds tenants whose keys open the same tenant of the service, or a tenant that rollouts read under another name. This happens, for
 * example, after two keys were swapped.
 *
 * @param readings the identities that this run read.
 * @param recordedByStack the identities that rollouts read. Default: none.
 */
export function findSameTargets(
  readings: ReadonlyMap<Target, TenantIdentity>,
  recordedByStack: RememberedTenants = new Map(),
): readonly SameTargets[] {
  const isConfirmedTarget = (target: Target): boolean => {
    const [currentIdentity, recordedTenant] = [readings.get(target), recordedByStack.get(target.stack)];
    return (
      currentIdentity !== undefined &&
      recordedTenant !== undefined &&
      isStillTenant(currentIdentity, recordedTenant.identity)
    );
  };
  const confirmedTargets = new Set([...readings.keys()].filter(isConfirmedTarget));
  const confirmedStacks = new Set([...confirmedTargets].map(({ stack }) => stack));
  const identities = new Map<Target | RememberedTenant, TenantIdentity>(readings);
  for (const [stack, tenant] of recordedByStack)
    if (!confirmedStacks.has(stack)) identities.set(tenant, tenant.identity);
  const isReadTarget = (candidate: Target | RememberedTenant): candidate is Target => readings.has(candidate as Target);
  /** Whether a remembered name is only a former name of the same tenant. */
  const isOwnFormerName = ({ identity }: RememberedTenant, { stack }: Target): boolean => {
    const recordedTenant = recordedByStack.get(stack);
    return recordedTenant !== undefined && isSameTenant(identity, recordedTenant.identity);
  };
  const groups: Pick<SameTargets, "read" | "known">[] = findSameTenants(identities).map((group) => {
    const currentTargets = group.filter(isReadTarget);
    const recordedTenants = group.filter((candidate): candidate is RememberedTenant => !isReadTarget(candidate));
    return {
      read: currentTargets,
      known: recordedTenants.filter(
        (candidate) => !currentTargets.some((target) => isOwnFormerName(candidate, target)),
      ),
    };
  });
  const groupedTargets = new Set(groups.flatMap(({ read }) => read));
  for (const [target, identity] of readings) {
    const recordedTenant = recordedByStack.get(target.stack);
    if (recordedTenant === undefined || groupedTargets.has(target)) continue;
    const recordedTenants = [...recordedByStack.values()].filter(
      (otherTenant) =>
        otherTenant !== recordedTenant && isReplacedBy(identity, recordedTenant.identity, otherTenant.identity),
    );
    if (recordedTenants.length > 0) groups.push({ read: [target], known: recordedTenants });
  }
  const targetsByStack = new Map([...readings.keys()].map((target) => [target.stack, target]));
  const found = groups
    // What earlier rollouts read of two tenants is no reason to refuse a run that reads neither.
    .filter(({ read, known }) => read.length > 0 && read.length + known.length > 1)
    .map(({ read, known }) => {
      const correctTargets = known.length === 0 ? read.filter((target) => confirmedTargets.has(target)) : [];
      const [owner] = correctTargets.length === 1 ? correctTargets : [];
      const replaced = known.flatMap(({ stack }) => targetsByStack.get(stack) ?? []);
      return { read, known, wrong: read.filter((target) => target !== owner), replaced };
    });
  const foundTargets = new Set(found.flatMap(({ read }) => read));
  const unknown = [...readings].flatMap(([target, identity]): SameTargets[] => {
    const recordedTenant = recordedByStack.get(target.stack);
    if (recordedTenant === undefined || foundTargets.has(target)) return [];
    const why = provesOtherTenant(identity, recordedTenant.identity);
    if (why === undefined) return [];
    return [
      {
        read: [target],
        known: [],
        unknown: { rollout: recordedTenant.rollout, why },
        wrong: [target],
        replaced: [],
      },
    ];
  });
  return [...found, ...unknown];
}

/** Reads the identities of the targets file's tenants from earlier rollouts; with `all`, also of tenants that have left the file. */
export type ReadMemory = (scope: "declared" | "all") => Promise<RememberedTenants>;

/**
 * Adds what rollouts left in the states of stacks, for those of which a journal knows nothing.
 *
 * @param markerOf of a stack; undefined where its state has none, or isn't known.
 */
export function withMarkers(
  readRecorded: ReadMemory,
  targets: readonly Target[],
  markerOf: (target: Target) => StackMarker | undefined,
): ReadMemory {
  return async (scope) => {
    const recordedByStack = new Map(await readRecorded(scope));
    for (const target of targets) {
      const { stack } = target;
      const tenant = recordedByStack.has(stack) ? undefined : rememberedByMarker(target, markerOf(target));
      if (tenant !== undefined) recordedByStack.set(stack, tenant);
    }
    return recordedByStack;
  };
}

/** What a rollout left in the state of a tenant's stack. Undefined if there is nothing that identifies a tenant. */
export function rememberedByMarker(
  { name, stack, place }: Target,
  { rollout, identity }: Partial<StackMarker> = {},
): RememberedTenant | undefined {
  if (rollout === undefined || identity === undefined) return undefined;
  return { stack, name, place, rollout, identity };
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
  unorderedReadings: ReadonlyMap<Target, TenantIdentity>,
  readRecorded: ReadMemory,
  isAccepted: (name: string) => boolean = () => false,
): Promise<readonly SameTargets[]> {
  // Tenants are read concurrently. A message lists them in the order of the targets file.
  const readings = new Map(
    [...unorderedReadings].toSorted(([{ place }], [{ place: otherPlace }]) => place.line - otherPlace.line),
  );
  const recordedByStack = await readRecorded("declared");
  const groups = findSameTargets(readings, recordedByStack).filter(({ unknown }) => unknown === undefined);
  const foundTargets = new Set(groups.flatMap(({ read }) => read));
  const changedReadings = [...readings].filter(([target, identity]) => {
    const recordedTenant = recordedByStack.get(target.stack);
    return (
      recordedTenant !== undefined && !foundTargets.has(target) && !isStillTenant(identity, recordedTenant.identity)
    );
  });
  const all = changedReadings.length === 0 ? recordedByStack : await readRecorded("all");
  const changedGroups = changedReadings.length === 0 ? [] : findSameTargets(new Map(changedReadings), all);
  const wrong: SameTargets[] = [];
  for (const group of [...groups, ...changedGroups]) {
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
  recordedByStack: RememberedTenants,
): Promise<boolean> {
  const identity = target && readings.get(target);
  if (identity === undefined) return false;
  const firstIn = async (tenant: RememberedTenant | undefined): Promise<EarlierReading | undefined> =>
    (await tenant?.earlier?.())?.find((candidate) => isStillTenant(identity, candidate.identity));
  const own = await firstIn(recordedByStack.get(target?.stack ?? ""));
  if (own === undefined) return false;
  for (const otherTenant of known) {
    const first = await firstIn(otherTenant);
    if (first === undefined || !isEarlier(own, first)) return false;
  }
  return true;
}

function isEarlier(
  { order: [sequence, startedAtMs] }: EarlierReading,
  { order: [otherSequence, otherStartedAtMs] }: EarlierReading,
): boolean {
  return sequence === otherSequence ? startedAtMs < otherStartedAtMs : sequence < otherSequence;
}

import { EmailSecurityError } from "../../model/email-security-error";
import { formatAcceptAdvice } from "../../model/mail-domains";
import { omitUndefined } from "../../model/omit-undefined";
import { quoteShellWord } from "../../model/shell-word";
import {
  describeOtherTenantProof,
  findSameTenants,
  isReplacedBy,
  isSameTenant,
  matchesEarlierIdentity,
  type TenantIdentity,
} from "../../model/tenant-identity";
import { quote } from "../../model/text";
import { type FileLocation, formatLineLocation } from "../../settings-files/finding";
import type { StackMarker } from "../model/stack-marker";
import type { Target } from "../model/target";
import { describeKeySource } from "./read-key";

export interface IdentityRecord {
  readonly stack: string;
  readonly name: string;
  /** The place in the targets file. Absent if the file doesn't declare the tenant, or isn't available. */
  readonly place?: FileLocation;
  readonly rollout: string;
  /** The rollout's position in the order in which rollouts started. 0 in journals of earlier releases. */
  readonly seq: number;
  readonly identity: TenantIdentity;
  readonly fingerprint?: string;
  /** Reads the identities that all rollouts recorded for it, oldest first. Default: only this one. */
  readonly readEarlierIdentities?: () => Promise<readonly RecordedIdentity[]>;
  /**
   * Whether the rollout began to change the tenant and has not finished. It may have replaced the identifying items.
   * Default: false.
   */
  readonly isInterrupted?: boolean;
  /** For an interrupted rollout: the part of the identity that it can't have removed or replaced. Absent: not known. */
  readonly stableIdentity?: TenantIdentity;
  /** The last rollout with which a person accepted another tenant on the stack, as a sequence number. Absent: none. */
  readonly acceptedSeq?: number;
  /** The marker in the stack's state. Absent if it identifies no tenant, or was not read. */
  readonly marker?: StackMarker;
}

export interface RecordedIdentity {
  /** Orders the rollouts: by sequence number, and then by start time. */
  readonly order: readonly [sequence: number, startedAtMs: number];
  readonly identity: TenantIdentity;
  /** Whether a person said that what was remembered before is wrong. Default: false. */
  readonly isAccepted?: boolean;
}

/** The identities that rollouts read, by stack. */
export type IdentityRecords = ReadonlyMap<string, IdentityRecord>;

/** A tenant of the service that several keys belong to, or that a key belongs to instead of its own tenant. */
export interface TenantConflict {
  /** The tenants under whose names this run read it; at least one. */
  readonly targets: readonly Target[];
  /** The tenants under whose names earlier rollouts read it. */
  readonly records: readonly IdentityRecord[];
  /** If no rollout read it under any name, the reason why it isn't the tenant of the only target that read it. */
  readonly mismatch?: { readonly rollout: string; readonly reason: string };
  /**
   * The targets that this run read with a wrong key, if they are known. Otherwise those of which any may have a wrong
   * key.
   */
  readonly wrongTargets: readonly Target[];
  /** The tenants with this identity in earlier rollouts, for which this run read something else. */
  readonly replacedTargets: readonly Target[];
}

/**
 * Keys belong to another tenant of the service than intended, or several keys belong to the same one. The code is `ERR_OTHER_TENANT` if only earlier
 * rollouts read that tenant under another name, and otherwise `ERR_SAME_TENANT`.
 */
export class SameTenantError extends EmailSecurityError {
  readonly groups: readonly TenantConflict[];

  /**
   * @param groups from {@link findTenantConflicts}; at least one.
   * @param outcome what has changed. Default: nothing.
   */
  constructor(groups: readonly TenantConflict[], outcome = "Nothing was changed.") {
    const isOtherTenant = groups.every(({ targets }) => targets.length === 1);
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

/** Explains how to override wrong identity records, for example after a rollout with a wrong key. */
function formatAcceptanceAdvice(groups: readonly TenantConflict[]): string {
  const names = new Set(groups.flatMap(({ targets, records }) => [...targets, ...records]).map(({ name }) => name));
  return formatAcceptAdvice(
    "if the tenant was rebuilt, or an earlier rollout had a wrong key",
    {},
    [...names].map(quoteShellWord).join(","),
  );
}

const RENAME_ADVICE =
  "If a name now means another tenant, give each tenant its previous stack (`stack` in the targets file)";

function formatOtherTenantMessage(groups: readonly TenantConflict[], outcome: string): string {
  const summary = groups.length === 1 ? "A key belongs to a different tenant" : "Keys belong to different tenants";
  const last = groups.some(({ records }) => records.length > 0) ? RENAME_ADVICE : "Found in this run";
  return `${summary}, according to the ids and creation dates of entries, or to people. ${outcome} Check which tenant each key belongs to, and replace a wrong key with the tenant's own. ${formatAcceptanceAdvice(groups)} ${last}`;
}

function formatSameTenantMessage(outcome: string): string {
  return `Different keys belong to the same tenant of the service: these tenants hold the same entries, with the same ids and creation dates, or the same people. Each would remove what the other declares. ${outcome} Check which tenant each key belongs to, and give each tenant its own key. If they are one tenant now, remove all but one from the targets file (\`email-security tenant remove NAME\`)`;
}

const MAX_LISTED = 20;

function formatGroup({ targets, records, mismatch }: TenantConflict): string {
  const readers = targets.slice(0, MAX_LISTED).map(formatTargetWithKey).join(", ");
  if (mismatch !== undefined) {
    const { rollout, reason } = mismatch;
    return `the key of ${readers} belongs to a different tenant than in the rollout ${rollout}: ${reason}`;
  }
  if (records.length === 0) return readers;
  const recordedTexts = records.slice(0, MAX_LISTED).map(({ name, place, rollout }) => {
    const locationText = place === undefined ? "" : `${formatLineLocation(place)}; `;
    return `${quote(name)} (${locationText}read by the rollout ${rollout})`;
  });
  const keyText = targets.length === 1 ? `the key of ${readers} belongs` : `the keys of ${readers} belong`;
  return `${keyText} to the tenant of ${recordedTexts.join(", ")}`;
}

export function formatTargetWithKey({ name, place, key }: Target): string {
  return `${quote(name)} (${formatLineLocation(place)}; key from ${describeKeySource(key)})`;
}

/**
 * Finds tenants whose keys belong to the same tenant of the service, or a tenant that rollouts read under another name. This happens, for
 * example, after two keys were swapped.
 *
 * @param currentIdentities the identities that this run read.
 * @param recordedByStack the identities that rollouts read. Default: none.
 */
export function findTenantConflicts(
  currentIdentities: ReadonlyMap<Target, TenantIdentity>,
  recordedByStack: IdentityRecords = new Map(),
): readonly TenantConflict[] {
  const isConfirmedTarget = (target: Target): boolean => {
    const [currentIdentity, recordedTenant] = [currentIdentities.get(target), recordedByStack.get(target.stack)];
    return (
      currentIdentity !== undefined &&
      recordedTenant !== undefined &&
      matchesEarlierIdentity(currentIdentity, recordedTenant.identity)
    );
  };
  const confirmedTargets = new Set([...currentIdentities.keys()].filter(isConfirmedTarget));
  const confirmedStacks = new Set([...confirmedTargets].map(({ stack }) => stack));
  const identities = new Map<Target | IdentityRecord, TenantIdentity>(currentIdentities);
  for (const [stack, tenant] of recordedByStack)
    if (!confirmedStacks.has(stack)) identities.set(tenant, tenant.identity);
  const isReadTarget = (candidate: Target | IdentityRecord): candidate is Target =>
    currentIdentities.has(candidate as Target);
  /** Whether a recorded name is only a former name of the same tenant. */
  const isOwnFormerName = ({ identity }: IdentityRecord, { stack }: Target): boolean => {
    const recordedTenant = recordedByStack.get(stack);
    return recordedTenant !== undefined && isSameTenant(identity, recordedTenant.identity);
  };
  const groups: Pick<TenantConflict, "targets" | "records">[] = findSameTenants(identities).map((group) => {
    const currentTargets = group.filter(isReadTarget);
    const recordedTenants = group.filter((candidate): candidate is IdentityRecord => !isReadTarget(candidate));
    return {
      targets: currentTargets,
      records: recordedTenants.filter(
        (candidate) => !currentTargets.some((target) => isOwnFormerName(candidate, target)),
      ),
    };
  });
  const groupedTargets = new Set(groups.flatMap(({ targets }) => targets));
  for (const [target, identity] of currentIdentities) {
    const recordedTenant = recordedByStack.get(target.stack);
    if (recordedTenant === undefined || groupedTargets.has(target)) continue;
    const recordedTenants = [...recordedByStack.values()].filter(
      (otherTenant) =>
        otherTenant !== recordedTenant && isReplacedBy(identity, recordedTenant.identity, otherTenant.identity),
    );
    if (recordedTenants.length > 0) groups.push({ targets: [target], records: recordedTenants });
  }
  const targetsByStack = new Map([...currentIdentities.keys()].map((target) => [target.stack, target]));
  const conflicts = groups
    // A conflict between two earlier records must not block a run that reads neither tenant.
    .filter(({ targets, records }) => targets.length > 0 && targets.length + records.length > 1)
    .map(({ targets, records }) => {
      const correctTargets = records.length === 0 ? targets.filter((target) => confirmedTargets.has(target)) : [];
      const [owner] = correctTargets.length === 1 ? correctTargets : [];
      const replacedTargets = records.flatMap(({ stack }) => targetsByStack.get(stack) ?? []);
      return {
        targets,
        records,
        wrongTargets: targets.filter((target) => target !== owner),
        replacedTargets,
      };
    });
  const foundTargets = new Set(conflicts.flatMap(({ targets }) => targets));
  const unknown = [...currentIdentities].flatMap(([target, identity]): TenantConflict[] => {
    const recordedTenant = recordedByStack.get(target.stack);
    if (recordedTenant === undefined || foundTargets.has(target)) return [];
    const reason = describeOtherTenantProof(identity, recordedTenant.identity);
    if (reason === undefined) return [];
    return [
      {
        targets: [target],
        records: [],
        mismatch: { rollout: recordedTenant.rollout, reason },
        wrongTargets: [target],
        replacedTargets: [],
      },
    ];
  });
  return [...conflicts, ...unknown];
}

/** A stack, with the name and place of its tenant if the targets file is at hand. */
type StackName = Pick<Target, "stack"> & Partial<Pick<Target, "name" | "place">>;

/** Reads the identities of the targets file's tenants from earlier rollouts; with `all`, also of tenants that have left the file. */
export type ReadIdentityRecords = (scope: "declared" | "all") => Promise<IdentityRecords>;

/**
 * Adds the identities in the states of stacks, where rollouts with other journals recorded them. A newer identity in the journal takes
 * precedence.
 *
 * @param getMarker returns the marker of a stack. Undefined if its state has none or is unknown.
 */
export function addMarkerRecords<T extends StackName>(
  readRecorded: ReadIdentityRecords,
  targets: readonly T[],
  getMarker: (target: T) => StackMarker | undefined,
): ReadIdentityRecords {
  return async (scope) => {
    const recordedByStack = new Map(await readRecorded(scope));
    for (const target of targets) {
      const tenant = selectIdentityRecord(target, recordedByStack.get(target.stack), getMarker(target));
      if (tenant !== undefined) recordedByStack.set(target.stack, tenant);
    }
    return recordedByStack;
  };
}

/**
 * Returns what the last rollout read of a stack's tenant: by a journal, or by the stack's state, where rollouts with other journals leave it.
 * No other code may decide this. Undefined if neither identifies a tenant.
 */
export function selectIdentityRecord(
  { stack, name, place }: StackName,
  recorded: IdentityRecord | undefined,
  marker: StackMarker | undefined,
): IdentityRecord | undefined {
  if (marker?.identity === undefined) return recorded;
  const { identity, identitySource: { rollout, seq } = marker, acceptedSeq = 0 } = marker;
  const tenant = { name: name ?? recorded?.name ?? stack, ...omitUndefined({ place: place ?? recorded?.place }) };
  const lastAcceptedSeq = Math.max(acceptedSeq, recorded?.acceptedSeq ?? 0);
  const accepted = lastAcceptedSeq === 0 ? {} : { acceptedSeq: lastAcceptedSeq };
  const markerRecord = { stack, ...tenant, rollout, seq, identity, ...accepted, marker };
  if (recorded === undefined) return markerRecord;
  const { readEarlierIdentities = async () => [], fingerprint } = recorded;
  return {
    ...(seq > recorded.seq ? markerRecord : recorded),
    ...accepted,
    marker,
    // Any earlier identity counts as the tenant's own, which is all that a journal adds to a newer marker.
    readEarlierIdentities: async () => selectValidIdentities(await readEarlierIdentities(), acceptedSeq),
    ...(fingerprint === undefined || recorded.seq < acceptedSeq ? {} : { fingerprint }),
  };
}

/**
 * Returns the recorded identities of a tenant, the first first, without those before the last one that a person accepted.
 *
 * @param acceptedSeq the lowest sequence number of a rollout whose record counts. Default: any.
 */
export function selectValidIdentities(
  recordedIdentities: readonly RecordedIdentity[],
  acceptedSeq = 0,
): readonly RecordedIdentity[] {
  const sorted = recordedIdentities.toSorted((a, b) => compareIdentityOrder(a, b));
  const start = sorted.findLastIndex(({ isAccepted }) => isAccepted);
  return sorted.slice(Math.max(0, start)).filter(({ order: [seq] }) => seq >= acceptedSeq);
}

/**
 * Finds tenant conflicts, including conflicts with the journal's records. Tenants that have left the targets file only
 * count if an identity differs from earlier ones of that tenant: a new tenant may be a former one under a new name.
 *
 * A rollout with a wrong key leaves a wrong record in the journal. Therefore any earlier identity of a target counts as
 * its own. If rollouts read a tenant of the service under several names, the first name counts.
 *
 * @param isAccepted whether the user rejects the record of the tenant with this name. Default: none.
 */
export async function validateTenantIdentities(
  unorderedIdentities: ReadonlyMap<Target, TenantIdentity>,
  readRecorded: ReadIdentityRecords,
  isAccepted: (name: string) => boolean = () => false,
): Promise<readonly TenantConflict[]> {
  // Tenants are read concurrently. A message lists them in the order of the targets file.
  const currentIdentities = new Map(
    [...unorderedIdentities].toSorted(([{ place }], [{ place: otherPlace }]) => place.line - otherPlace.line),
  );
  const recordedByStack = await readRecorded("declared");
  const groups = findTenantConflicts(currentIdentities, recordedByStack).filter(
    ({ mismatch }) => mismatch === undefined,
  );
  const foundTargets = new Set(groups.flatMap(({ targets }) => targets));
  const changedIdentities = [...currentIdentities].filter(([target, identity]) => {
    const recordedTenant = recordedByStack.get(target.stack);
    return (
      recordedTenant !== undefined &&
      !foundTargets.has(target) &&
      !matchesEarlierIdentity(identity, recordedTenant.identity)
    );
  });
  const all = changedIdentities.length === 0 ? recordedByStack : await readRecorded("all");
  const changedGroups = changedIdentities.length === 0 ? [] : findTenantConflicts(new Map(changedIdentities), all);
  const wrong: TenantConflict[] = [];
  for (const group of [...groups, ...changedGroups]) {
    const isKeptApart = group.targets.length > 1;
    if (isKeptApart || !(isAcceptedConflict(group, isAccepted) || (await isOwn(group, currentIdentities, all)))) {
      wrong.push(group);
    }
  }
  return wrong;
}

/** Whether a person accepts each tenant of a conflict, and only one key belongs to it. */
export function isAcceptedConflict(
  { targets, records }: TenantConflict,
  isAccepted: (name: string) => boolean,
): boolean {
  return targets.length === 1 && [...targets, ...records].every(({ name }) => isAccepted(name));
}

/** Whether rollouts read this tenant of the service first under the name of the only target that reads it now. */
async function isOwn(
  { targets: [target], records }: TenantConflict,
  currentIdentities: ReadonlyMap<Target, TenantIdentity>,
  recordedByStack: IdentityRecords,
): Promise<boolean> {
  const identity = target && currentIdentities.get(target);
  if (identity === undefined) return false;
  const findFirstReading = async (tenant: IdentityRecord | undefined): Promise<RecordedIdentity | undefined> =>
    (await tenant?.readEarlierIdentities?.())?.find((candidate) =>
      matchesEarlierIdentity(identity, candidate.identity),
    );
  const own = await findFirstReading(recordedByStack.get(target?.stack ?? ""));
  if (own === undefined) return false;
  for (const otherTenant of records) {
    const first = await findFirstReading(otherTenant);
    if (first === undefined || compareIdentityOrder(own, first) >= 0) return false;
  }
  return true;
}

function compareIdentityOrder(
  { order: [sequence, startedAtMs] }: RecordedIdentity,
  { order: [otherSequence, otherStartedAtMs] }: RecordedIdentity,
): number {
  return sequence - otherSequence || startedAtMs - otherStartedAtMs;
}

import { ConfigurationError } from "../../client";
import { EmailSecurityError, getErrorMessage } from "../../model/email-security-error";
import { omitUndefined } from "../../model/omit-undefined";
import { formatAddress, normalizeAddress, type TenantIdentity } from "../../model/tenant-identity";
import { buildDesiredState, type StackLists } from "../../plan/desired-state";
import { readMailHistory, type TenantMailHistory } from "../../plan/evidence";
import { getObservedIdentity, type ObservedState, readObservedState } from "../../plan/observed-state";
import { OtherTenantError } from "../../resources/lifecycle/errors";
import type { AppliedRollout, LastAppliedRollouts, StackRollouts } from "../../rollout/journal/last-applied";
import type { StackMarker } from "../../rollout/model/stack-marker";
import type { Target } from "../../rollout/model/target";
import type { FormerStack } from "../../rollout/planning/renamed-tenant";
import { isAddressWideFailure } from "../../rollout/probing/address-health";
import { assertRunPermissions } from "../../rollout/targets/assert-run-permissions";
import { SameKeyError } from "../../rollout/targets/find-same-keys";
import { SameTenantError } from "../../rollout/targets/tenant-conflicts";
import { checkTenantIdentity, createIdentityComparator } from "../../rollout/targets/tenant-replacement";
import { formatFinding, SettingsFileError } from "../../settings-files/finding";
import { type LintResult, lintSettings } from "../../settings-files/lint";
import type { SettingsReadCache } from "../../settings-files/read-settings";
import type { Settings } from "../../settings-files/settings-model";
import { isStoredRow } from "../../tenant";
import { type ReadEachTenantOptions, readEachTenant, type TenantReadResult } from "../read-each-tenant";
import { AppliedSettings } from "./applied-settings";
import { FileFindings } from "./file-findings";
import { FormerStacks } from "./former-stacks";
import type { StackState, StackStates } from "./stack-states";
import { FLEET_STATUS_FORMAT, type FleetStatus, type SyncStatus, type TenantStatus } from "./status-schema";
import { compareTenant, type LastRolloutLists, type TenantDifferences } from "./tenant-differences";

export interface FleetStatusOptions
  extends Pick<ReadEachTenantOptions<never>, "requestContext" | "concurrency" | "readIdentityRecords" | "onProgress"> {
  readonly file: string;
  readonly project: string;
  /** The rollouts of the journal; undefined if there is none. */
  readonly lastApplied: LastAppliedRollouts | undefined;
  /** Reads the states of stacks. Default: no state can be read. */
  readonly stackStates?: StackStates;
  /** The stacks of all tenants of the targets file. Default: the stacks of the tenants to read. */
  readonly declaredStacks?: ReadonlySet<string>;
  /** The day (UTC) for which expiry is evaluated. */
  readonly today: string;
  /** The last day (UTC) of the expiry dates to report. */
  readonly until: string;
  readonly now?: () => Date;
  /** Receives data that the status doesn't contain. */
  readonly observer?: FleetObserver;
}

/** Receives the data that is read, beyond the status. */
export interface FleetObserver {
  /** Receives the declarations of one tenant's files, if they are valid. */
  onFiles(name: string, settings: Settings): void;
  onObserved(name: string, onObserved: ObservedState): void;
  /**
   * Called if a tenant's key belongs to another tenant. The data reported before belongs to that one. This is known only after all tenants are
   * read.
   */
  onOtherTenant(name: string): void;
  /** Receives the evidence from a tenant's mail of the last 30 days. If absent, no mail is read. */
  readonly onMail?: ((name: string, onMail: TenantMailHistory) => void) | undefined;
}

interface TenantReading extends TenantDifferences {
  readonly identity: TenantIdentity;
  readonly readAt: string;
  readonly elementCounts: NonNullable<TenantStatus["elementCounts"]>;
  /** The reason why it is another tenant than the one that its stack was applied to. */
  readonly mismatch?: OtherTenantError;
  /** The stack that it had before it was renamed. */
  readonly formerStack?: FormerStack;
  /** The normalized address of its last rollout, if it has another one now. */
  readonly formerAddress?: string;
  /** The last rollout of the stack, if the journal doesn't have it. */
  readonly lastRollout?: NonNullable<TenantStatus["lastRollout"]>;
  /** The last rollout with which a person accepted another tenant on the stack, as a sequence number. */
  readonly acceptedSeq?: number;
}

/**
 * Reads the status of each tenant once, with ⌈N/200⌉ requests for each list. An unreadable tenant doesn't affect the others. Writes
 * nothing.
 *
 * @throws {NotAllowedError} if the targets ask for something that the run doesn't allow. Nothing has been requested then.
 * @throws {ConfigurationError} if the environment holds a value that makes every request impossible.
 */
export async function readFleetStatus(targets: readonly Target[], options: FleetStatusOptions): Promise<FleetStatus> {
  const {
    file,
    project,
    requestContext,
    lastApplied,
    stackStates,
    concurrency,
    today,
    until: expiringUntil,
    observer,
    onProgress,
  } = options;
  const { now = () => new Date(), readIdentityRecords } = options;
  assertRunPermissions(file, targets, [], requestContext.environment);
  const readAt = now().toISOString();
  const cache: SettingsReadCache = new Map();
  const fileFindings = new FileFindings(expiringUntil);
  const lintedTargets = new Set<Target>();
  // Lints each tenant's files in turn, while others wait for responses. Keeps only the reported facts, to save memory.
  const lintTarget = (target: Target): LintResult => {
    const result = lintSettings(target.settings, { today, cache, ownDomains: [] });
    if (result.settings !== undefined) {
      fileFindings.add(target.name, result.settings, result.findings);
      observer?.onFiles(target.name, result.settings);
    }
    lintedTargets.add(target);
    return result;
  };
  const appliedSettings = lastApplied && new AppliedSettings(lastApplied.readFiles);
  const { declaredStacks = new Set(targets.map(({ stack }) => stack)) } = options;
  const formerStacks = new FormerStacks({
    declaredStacks,
    lastApplied,
    appliedSettings,
    stackStates,
    readIdentityRecords,
  });
  const tenants = new Map<Target, TenantStatus>();
  const identityRecords = readIdentityRecords?.("declared");
  const getStackState = ({ stack }: Target): StackRollouts => lastApplied?.stacks.get(stack) ?? {};
  await readEachTenant<TenantReading>(targets, {
    requestContext,
    concurrency,
    onDuplicateKeys: "compare",
    getIdentity: ({ identity }) => identity,
    ...omitUndefined({ readIdentityRecords, onProgress }),
    read: async (client, target, { onAnswer }) => {
      const { settings, findings } = lintTarget(target);
      if (settings === undefined) throw new SettingsFileError(target.settings, findings);
      const observed = await readObservedState(client, now, onAnswer);
      const { applied, pending } = getStackState(target);
      let cachedState: StackState | undefined;
      const readState = (): StackState | undefined => {
        cachedState ??= stackStates?.read(target);
        return cachedState;
      };
      const record = (await identityRecords)?.get(target.stack);
      const lastAddress = record?.identity.address;
      // The last rollout says nothing about the tenant at another address.
      const formerAddress = lastAddress === normalizeAddress(target.baseUrl) ? undefined : lastAddress;
      const readLastDeclared = async (): Promise<LastRolloutLists> => {
        if (formerAddress !== undefined) return { lists: EMPTY_LISTS, unknownRollout: "never-rolled-out" };
        const isOutdated = isChangedByOtherJournal(readState()?.marker, applied, lastApplied);
        const declaredLists = applied && !isOutdated ? await appliedSettings?.getLists(applied) : undefined;
        const state = declaredLists === undefined ? readState() : undefined;
        const lists = declaredLists ?? state?.lists;
        if (lists !== undefined) return { lists };
        if (applied !== undefined) return { unknownRollout: "unknown" };
        // A first rollout has not reached this tenant yet, so nobody has removed the missing entries.
        if (pending !== undefined) return { lists: EMPTY_LISTS, unknownRollout: "never-rolled-out" };
        const isNew = state === undefined ? (lastApplied?.rollouts.size ?? 0) > 0 : !state.exists;
        return { unknownRollout: isNew ? "never-rolled-out" : "unknown" };
      };
      // A rollout with another journal may have read the tenant later.
      const fingerprint = (record ?? applied)?.fingerprint ?? getFingerprint(readState());
      const accepting = { environment: requestContext.environment, name: target.name };
      const compare = createIdentityComparator(target.baseUrl, observed);
      const differences = await compareTenant(
        settings,
        observed,
        readLastDeclared,
        getServiceHost(target),
        accepting,
        fingerprint,
      ).catch((error: unknown) => {
        // If rollouts know the tenant by its entries and VIPs, the key is right, and the settings file is another tenant's.
        if (!(error instanceof OtherTenantError) || record === undefined || compare(record.identity) !== true)
          throw error;
        throw new ConfigurationError(
          `The key is the tenant's own, according to the rollout ${record.rollout}, but its settings file doesn't seem to be: ${error.message}`,
        );
      });
      const mismatch = await checkTenantIdentity(target, record, requestContext.environment, compare);
      // Reports the data only after the identity check, because nobody here may see the data of another tenant.
      if (mismatch === undefined) observer?.onObserved(target.name, observed);
      if (mismatch === undefined && observer?.onMail !== undefined) {
        observer.onMail(target.name, await readMailHistory({ client, now: now(), vips: observed.vips.keys() }));
      }
      const identity = getObservedIdentity(target.baseUrl, observed);
      const isNew = applied === undefined && pending === undefined && readState()?.exists !== true;
      const newTenant = { target, desired: buildDesiredState(settings, undefined), observed, identity };
      const formerStack = isNew ? await formerStacks.find(newTenant) : undefined;
      return {
        ...differences,
        readAt: observed.readAt,
        elementCounts: countEntries(observed),
        identity,
        ...omitUndefined({
          formerStack,
          formerAddress,
          mismatch,
          acceptedSeq: record?.acceptedSeq,
          lastRollout: findOtherJournalsRollout(record?.marker ?? cachedState?.marker, applied, lastApplied),
        }),
      };
    },
    onSettled: (target, read) => {
      const other = read.value?.mismatch;
      // If rollouts know the key's tenant by another name, report that first.
      const outcome = other === undefined ? read : { error: other };
      const { error } = outcome;
      const discardTenant = other !== undefined || error instanceof SameTenantError || error instanceof SameKeyError;
      if (discardTenant) observer?.onOtherTenant(target.name);
      tenants.set(target, buildTenantStatus(target, outcome, getStackState(target), lastApplied));
    },
  });
  // Unreachable tenants still have files to lint.
  for (const target of targets) if (!lintedTargets.has(target)) lintTarget(target);
  fileFindings.sortTenants(targets.map(({ name }) => name));
  const tenantStatuses = targets.map(
    (target) =>
      tenants.get(target) ??
      buildTenantStatus(target, { error: new Error("it was not read") }, getStackState(target), lastApplied),
  );
  return {
    format: FLEET_STATUS_FORMAT,
    readAt,
    file,
    project,
    today,
    expiringUntil,
    tenants: tenantStatuses,
    expiring: fileFindings.expiring,
    reviews: fileFindings.reviews,
    findings: fileFindings.findings,
    isJournalRead: lastApplied !== undefined,
    isComplete: tenantStatuses.every(({ error }) => error === undefined),
  };
}

/** Whether a rollout that the journal doesn't know changed the stack after the journal's last one. */
function isChangedByOtherJournal(
  marker: StackMarker | undefined,
  applied: AppliedRollout | undefined,
  lastApplied: LastAppliedRollouts | undefined,
): boolean {
  if (marker === undefined || applied === undefined || lastApplied?.rollouts.has(marker.rollout) === true) return false;
  return marker.seq > applied.stackSeq;
}

/** Returns the stack's last rollout if another journal recorded it. */
function findOtherJournalsRollout(
  marker: StackMarker | undefined,
  applied: AppliedRollout | undefined,
  lastApplied: LastAppliedRollouts | undefined,
): TenantReading["lastRollout"] {
  if (marker === undefined || lastApplied?.rollouts.has(marker.rollout) === true) return undefined;
  const isLast = applied === undefined || isChangedByOtherJournal(marker, applied, lastApplied);
  return isLast ? { id: marker.rollout, finishedAt: marker.at } : undefined;
}

const EMPTY_LISTS: StackLists = { entries: { content: {} }, vips: { content: {} } };

function buildTenantStatus(
  target: Target,
  { value, error }: TenantReadResult<TenantReading>,
  { applied, pending }: StackRollouts,
  lastApplied: LastAppliedRollouts | undefined,
): TenantStatus {
  const skip = lastApplied?.skips.get(target.stack);
  const { name, labels, settings, stack } = target;
  const base = {
    name,
    labels,
    host: getServiceHost(target),
    settings,
    stack,
    syncStatus: value === undefined ? getErrorSyncStatus(error) : getSyncStatus(value),
    ...omitUndefined({
      lastRollout:
        value?.lastRollout ??
        (applied && {
          id: applied.rollout,
          wave: applied.wave,
          state: applied.state,
          finishedAt: new Date(applied.atMs).toISOString(),
        }),
      skipped: skip && {
        skippedAt: new Date(skip.sinceMs).toISOString(),
        reason: skip.reason,
        ...omitUndefined({ skippedBy: skip.by }),
      },
      acceptedSeq: value?.acceptedSeq,
      unappliedRollout: pending && {
        id: pending.rollout,
        wave: pending.wave,
        state: pending.state,
        rolloutState: pending.rolloutState,
      },
    }),
  };
  if (value === undefined) return { ...base, error: buildErrorView(error), drift: [], pendingChanges: [] };
  const { readAt, elementCounts, unchanged, drift, pendingChanges, unclassified, formerStack, formerAddress } = value;
  const extras = {
    ...(unclassified.length === 0 ? {} : { unclassified }),
    ...(formerAddress === undefined ? {} : { formerAddress: formatAddress(formerAddress) }),
    ...(formerStack === undefined ? {} : { formerStack: { stack: formerStack.stack, evidence: formerStack.evidence } }),
  };
  return { ...base, readAt, elementCounts, unchanged, drift, pendingChanges, ...extras };
}

/** Returns the fingerprint of the people that the stack's last run saw. */
function getFingerprint(state: StackState | undefined): string | undefined {
  return state?.lists?.entries.fingerprint ?? state?.lists?.vips.fingerprint;
}

function getSyncStatus({ drift, pendingChanges, unclassified, unknownRollout }: TenantDifferences): SyncStatus {
  if (drift.length > 0) return "drifted";
  if (unclassified.length > 0 && unknownRollout === "unknown") return unknownRollout;
  if (pendingChanges.length > 0) return "behind";
  return unclassified.length > 0 ? "never-rolled-out" : "in-sync";
}

/** Errors of a key that belongs to no tenant, or to another one. */
const KEY_ERROR_CODES: ReadonlySet<string> = new Set([
  "ERR_AUTH",
  "ERR_ROLLOUT_KEY",
  "ERR_ROLLOUT_SAME_KEY",
  "ERR_SAME_TENANT",
  "ERR_OTHER_TENANT",
]);

function getErrorSyncStatus(error: unknown): SyncStatus {
  if (error instanceof EmailSecurityError && KEY_ERROR_CODES.has(error.code)) return "wrong-key";
  return isAddressWideFailure(error) ? "unreachable" : "unusable";
}

function buildErrorView(error: unknown): NonNullable<TenantStatus["error"]> {
  const code = error instanceof EmailSecurityError ? error.code : "Error";
  if (error instanceof SettingsFileError) return { code, message: formatSettingsErrors(error) };
  const message = getErrorMessage(error);
  return { code, message: message.replaceAll(/\n\s*/g, " ") };
}

/** The maximum number of mistakes to show. `lint` shows all of them. */
const MAX_ERRORS = 3;

/** Omits the tenant's own file, so that a mistake in a shared file has the same message for all its tenants. */
function formatSettingsErrors({ findings }: SettingsFileError): string {
  const errors = findings.filter(({ level }) => level === "error");
  const suffix = errors.length > MAX_ERRORS ? ` and ${errors.length - MAX_ERRORS} more; lint shows them` : "";
  return `Its settings files are invalid: ${errors.slice(0, MAX_ERRORS).map(formatFinding).join("; ")}${suffix}`;
}

function countEntries({ rows, vips }: ObservedState): NonNullable<TenantStatus["elementCounts"]> {
  const countOn = (list: string): number => rows.filter((row) => row.list === list).length;
  return {
    allow: countOn("allow"),
    deny: countOn("deny"),
    vips: [...vips.values()].filter(isStoredRow).length,
  };
}

function getServiceHost({ baseUrl }: Target): string {
  return URL.parse(baseUrl)?.host ?? baseUrl;
}

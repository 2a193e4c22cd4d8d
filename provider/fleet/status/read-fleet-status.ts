import { findingText, SettingsFileError } from "../../files/finding";
import { type LintResult, lintSettings } from "../../files/lint";
import type { ReadCache } from "../../files/read-settings";
import type { Settings } from "../../files/settings";
import { desiredOf, type KnownLists } from "../../plan/desired";
import { type EvidenceBase, gatherEvidence } from "../../plan/evidence";
import { identityOfObserved, type Observed, observe } from "../../plan/observed";
import type { OtherTenantError } from "../../resources/lifecycle/errors";
import type { Reached, StackReach } from "../../rollout/journal/reached";
import type { Target } from "../../rollout/model/target";
import type { FormerStack } from "../../rollout/planning/renamed-tenant";
import { isOfAddress } from "../../rollout/probing/address-health";
import type { Reach } from "../../rollout/probing/target-client";
import { refuseNotAllowed } from "../../rollout/targets/not-allowed";
import { compareWith, findReplacedTenant } from "../../rollout/targets/replaced-reason";
import { SameKeyError } from "../../rollout/targets/same-key";
import { type ReadMemory, SameTenantError } from "../../rollout/targets/same-tenant";
import { EmailSecurityError } from "../../settings/email-security-error";
import type { TenantIdentity } from "../../settings/tenant-identity";
import { withoutUndefined } from "../../settings/without-undefined";
import { isStored } from "../../tenant";
import { type Reading, readEach } from "../read-each";
import { AppliedSettings } from "./applied-settings";
import { FilesTold } from "./files-told";
import { FormerStacks } from "./former-stacks";
import type { StackState, StackStates } from "./stack-states";
import { FLEET_STATUS_FORMAT, type FleetStanding, type FleetStatus, type TenantStatus } from "./status-schema";
import { type LastApplied, type TenantDifferences, tenantDifferences } from "./tenant-differences";

/** The options of {@link readFleetStatus}. */
export interface FleetStatusOptions {
  readonly file: string;
  readonly project: string;
  readonly reach: Reach;
  /** The rollouts of the journal; undefined if there is none. */
  readonly reached: Reached | undefined;
  /** Reads the identities of tenants from earlier rollouts. Default: none. */
  readonly memory?: ReadMemory;
  /** Reads the states of stacks. Default: no state can be read. */
  readonly states?: StackStates;
  /** The stacks of all tenants of the targets file. Default: the stacks of the tenants to read. */
  readonly declaredStacks?: ReadonlySet<string>;
  /** How many tenants are read at once. */
  readonly concurrency: number;
  /** The day (UTC) for which expiry is evaluated. */
  readonly today: string;
  /** The last day (UTC) of the expiry dates to report. */
  readonly until: string;
  readonly now?: () => Date;
  /** Receives data that the status doesn't contain. */
  readonly watch?: FleetWatch;
}

/** Receives the data that is read, beyond the status. */
export interface FleetWatch {
  /** Receives the declarations of one tenant's files, if they are valid. */
  files(name: string, settings: Settings): void;
  /** Receives the actual state of one tenant. */
  observed(name: string, onObserved: Observed): void;
  /**
   * Called if a tenant's key opens another tenant. The data reported before belongs to that one. This is known only after all tenants are
   * read.
   */
  isOfAnother(name: string): void;
  /** Receives the evidence from a tenant's mail of the last 30 days. If absent, no mail is read. */
  readonly mail?: ((name: string, onMail: EvidenceBase) => void) | undefined;
}

interface TenantReading extends TenantDifferences {
  readonly identity: TenantIdentity;
  readonly at: string;
  readonly holds: NonNullable<TenantStatus["holds"]>;
  /** Why it is another tenant than the one that its stack was applied to. */
  readonly other?: OtherTenantError;
  /** The stack that it had before it was renamed. */
  readonly former?: FormerStack;
}

/**
 * Reads the status of each tenant once, with ⌈N/200⌉ requests for each list. An unreadable tenant doesn't affect the others. Writes
 * nothing.
 *
 * @throws {NotAllowedError} if the targets ask for something that the run doesn't allow. Nothing has been requested then.
 * @throws {ConfigurationError} if the environment holds a value that makes every request impossible.
 */
export async function readFleetStatus(targets: readonly Target[], options: FleetStatusOptions): Promise<FleetStatus> {
  const { file, project, reach, reached, states, concurrency, today, until, watch } = options;
  const { now = () => new Date(), memory } = options;
  refuseNotAllowed(file, targets, [], reach.environment);
  const at = now().toISOString();
  const cache: ReadCache = new Map();
  const fileFindings = new FilesTold(until);
  const lintedTargets = new Set<Target>();
  // Lints each tenant's files in its turn, while others wait for responses. Keeps only the reported facts, to save memory.
  const lintTarget = (target: Target): LintResult => {
    const result = lintSettings(target.settings, { today, cache, ownDomains: [] });
    if (result.settings !== undefined) {
      fileFindings.add(target.name, result.settings, result.findings);
      watch?.files(target.name, result.settings);
    }
    lintedTargets.add(target);
    return result;
  };
  const appliedSettings = reached && new AppliedSettings(reached.files);
  const { declaredStacks = new Set(targets.map(({ stack }) => stack)) } = options;
  const formerStacks = new FormerStacks({
    declared: declaredStacks,
    reached,
    applied: appliedSettings,
    states,
  });
  const tenants = new Map<Target, TenantStatus>();
  const remembered = memory?.("declared");
  const getStackState = ({ stack }: Target): StackReach => reached?.stacks.get(stack) ?? {};
  await readEach<TenantReading>(targets, {
    reach,
    concurrency,
    sameKeys: "compared",
    identity: ({ identity }) => identity,
    ...withoutUndefined({ memory }),
    read: async (client, target, { answered }) => {
      const { settings, findings } = lintTarget(target);
      if (settings === undefined) throw new SettingsFileError(target.settings, findings);
      const observed = await observe(client, now, answered);
      const { last, next } = getStackState(target);
      let cachedState: StackState | undefined;
      const readState = (): StackState | undefined => {
        cachedState ??= states?.of(target);
        return cachedState;
      };
      const readLastDeclared = async (): Promise<LastApplied> => {
        const declaredLists = last && (await appliedSettings?.of(last));
        const state = declaredLists === undefined ? readState() : undefined;
        const known = declaredLists ?? state?.known;
        if (known !== undefined) return { known };
        if (last !== undefined) return { why: "not-known" };
        // A first rollout has not reached this tenant yet, so nobody has removed the missing entries.
        if (next !== undefined) return { known: EMPTY_LISTS, why: "never-rolled-out" };
        const isNew = state === undefined ? (reached?.rollouts ?? 0) > 0 : !state.isThere;
        return { why: isNew ? "never-rolled-out" : "not-known" };
      };
      const accepting = { environment: reach.environment, name: target.name };
      const differences = await tenantDifferences(
        settings,
        observed,
        readLastDeclared,
        getServiceHost(target),
        accepting,
        last?.fingerprint ?? getFingerprint(readState()),
      );
      // Reports the data only after the identity check, because nobody here may see the data of another tenant.
      watch?.observed(target.name, observed);
      if (watch?.mail !== undefined) {
        watch.mail(target.name, await gatherEvidence({ client, now: now(), vips: observed.vips.keys() }));
      }
      const identity = identityOfObserved(target.baseUrl, observed);
      const isNew = last === undefined && next === undefined && readState()?.isThere !== true;
      const newTenant = { target, desired: desiredOf(settings, undefined), observed, identity };
      const former = isNew ? await formerStacks.of(newTenant) : undefined;
      const optionalFields = withoutUndefined({
        former,
        other: await findReplacedTenant(
          target,
          (await remembered)?.get(target.stack),
          reach.environment,
          compareWith(target.baseUrl, observed),
        ),
      });
      return { ...differences, at: observed.at, holds: countEntries(observed), identity, ...optionalFields };
    },
    settled: (target, read) => {
      const other = read.read?.other;
      // Whose key it is, where rollouts know that tenant by another name, is told first.
      const outcome = other === undefined ? read : { error: other };
      const { error } = outcome;
      const discardTenant = other !== undefined || error instanceof SameTenantError || error instanceof SameKeyError;
      if (discardTenant) watch?.isOfAnother(target.name);
      tenants.set(target, buildTenantStatus(target, outcome, getStackState(target), reached));
    },
  });
  // Unreachable tenants still have files to lint.
  for (const target of targets) if (!lintedTargets.has(target)) lintTarget(target);
  fileFindings.sort(targets.map(({ name }) => name));
  const tenantStatuses = targets.map(
    (target) =>
      tenants.get(target) ??
      buildTenantStatus(target, { error: new Error("it was not read") }, getStackState(target), reached),
  );
  return {
    format: FLEET_STATUS_FORMAT,
    at,
    file,
    project,
    today,
    until,
    tenants: tenantStatuses,
    ends: fileFindings.ends,
    reviews: fileFindings.reviews,
    findings: fileFindings.findings,
    isJournalRead: reached !== undefined,
    isComplete: tenantStatuses.every(({ error }) => error === undefined),
  };
}

const EMPTY_LISTS: KnownLists = { entries: { content: {} }, vips: { content: {} } };

function buildTenantStatus(
  target: Target,
  { read, error }: Reading<TenantReading>,
  { last, next }: StackReach,
  lastApplied: Reached | undefined,
): TenantStatus {
  const skip = lastApplied?.skips.get(target.stack);
  const { name, labels, settings, stack } = target;
  const base = {
    name,
    labels,
    host: getServiceHost(target),
    settings,
    stack,
    standing: read === undefined ? getErrorSyncStatus(error) : getSyncStatus(read),
    ...withoutUndefined({
      lastRollout: last && {
        id: last.rollout,
        wave: last.wave,
        state: last.state,
        at: new Date(last.atMs).toISOString(),
      },
      skipped: skip && {
        since: new Date(skip.sinceMs).toISOString(),
        reason: skip.reason,
        ...withoutUndefined({ by: skip.by }),
      },
      notReachedBy: next && {
        id: next.rollout,
        wave: next.wave,
        state: next.state,
        rolloutState: next.rolloutState,
      },
    }),
  };
  if (read === undefined) return { ...base, error: buildErrorView(error), drift: [], behind: [] };
  const { at, holds, unchanged, drift, behind, unattributed, former } = read;
  const extras = {
    ...(unattributed.length === 0 ? {} : { unattributed }),
    ...(former === undefined ? {} : { formerStack: { stack: former.stack, why: former.why } }),
  };
  return { ...base, readAt: at, holds, unchanged, drift, behind, ...extras };
}

/** The fingerprint of the people that the stack's last run saw. */
function getFingerprint(state: StackState | undefined): string | undefined {
  return state?.known?.entries.fingerprint ?? state?.known?.vips.fingerprint;
}

function getSyncStatus({ drift, behind, unattributed, why }: TenantDifferences): FleetStanding {
  if (drift.length > 0) return "drifted";
  if (unattributed.length > 0 && why === "not-known") return why;
  if (behind.length > 0) return "behind";
  return unattributed.length > 0 ? "never-rolled-out" : "in-step";
}

/** Errors of a key that opens no tenant, or another one. */
const KEY_ERROR_CODES: ReadonlySet<string> = new Set([
  "ERR_AUTH",
  "ERR_ROLLOUT_KEY",
  "ERR_ROLLOUT_SAME_KEY",
  "ERR_SAME_TENANT",
  "ERR_OTHER_TENANT",
]);

function getErrorSyncStatus(error: unknown): FleetStanding {
  if (error instanceof EmailSecurityError && KEY_ERROR_CODES.has(error.code)) return "key-wrong";
  return isOfAddress(error) ? "unreachable" : "unusable";
}

function buildErrorView(error: unknown): NonNullable<TenantStatus["error"]> {
  const code = error instanceof EmailSecurityError ? error.code : "Error";
  if (error instanceof SettingsFileError) return { code, message: formatSettingsErrors(error) };
  const message = error instanceof Error ? error.message : String(error);
  return { code, message: message.replaceAll(/\n\s*/g, " ") };
}

/** The maximum number of mistakes to show. `lint` shows all of them. */
const MAX_ERRORS = 3;

/** Omits the tenant's own file, so that a mistake in a shared file has the same message for all its tenants. */
function formatSettingsErrors({ findings }: SettingsFileError): string {
  const errors = findings.filter(({ level }) => level === "error");
  const suffix = errors.length > MAX_ERRORS ? ` and ${errors.length - MAX_ERRORS} more, which lint tells` : "";
  return `Its settings files can't be used: ${errors.slice(0, MAX_ERRORS).map(findingText).join("; ")}${suffix}`;
}

function countEntries({ rows, vips }: Observed): NonNullable<TenantStatus["holds"]> {
  const countOn = (list: string): number => rows.filter((row) => row.list === list).length;
  return { allow: countOn("allow"), deny: countOn("deny"), vips: [...vips.values()].filter(isStored).length };
}

function getServiceHost({ baseUrl }: Target): string {
  return URL.parse(baseUrl)?.host ?? baseUrl;
}

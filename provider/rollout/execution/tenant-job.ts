import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { EmailSecurityError } from "../../model/email-security-error";
import type { ErrorCode } from "../../model/error-codes";
import { omitUndefined } from "../../model/omit-undefined";
import { isEmptyIdentity, shrinkIdentity } from "../../model/tenant-identity";
import { excerpt, quote } from "../../model/text";
import { getObservedIdentity, isObservedTenant, type ObservedState } from "../../plan/observed-state";
import { requirePulumi } from "../../plan/pulumi-cli";
import { parsePlan } from "../../plan/render/plan-json";
import {
  PLAN_DIGEST_VARIABLE,
  PLAN_FILE_VARIABLE,
  PRECEDING_FILE_VARIABLE,
} from "../../resources/lifecycle/reviewed-plan";
import {
  IDENTITY_FILE_VARIABLE,
  PLANNED_FINGERPRINT_VARIABLE,
  PLANNED_IDENTITY_VARIABLE,
} from "../../resources/tenant-verifier";
import { createScratchDirectory } from "../../system/scratch-directory";
import { isProcessDeath } from "../engine/engine-causes";
import type { EnginePool } from "../engine/engine-pool";
import type { UpResult } from "../engine/up-request";
import type { Journal } from "../journal/journal";
import type { ClaimedJob, RolloutSpec, TenantSummary } from "../journal/rollout-record";
import { getStableIdentity, mayEmptyTenant } from "../journal/stable-identity";
import { RolloutCommands } from "../model/rollout-commands";
import { RolloutError } from "../model/rollout-error";
import type { StackMarker } from "../model/stack-marker";
import type { Target } from "../model/target";
import { useTemporaryDirectory } from "../model/temporary-directory";
import { readTenantLists } from "../planning/plan-target";
import { extractErrorCode } from "../planning/tenant-error";
import { verifyPlan } from "../planning/verify-plan";
import type { AddressHealth } from "../probing/address-health";
import type { RequestContext } from "../probing/target-client";
import type { JobHandler } from "../queue/job-queue";
import type { RateLimitBroker } from "../rate-limit/rate-limit-broker";
import type { NextCommands } from "../report/failure-advice";
import { formatOmittedChanges } from "../report/rollout-report-view";
import { buildExpectedTenantEnv } from "../stack/expected-tenant-env";
import { isOrphanedLock, parseStackLocks } from "../stack/parse-stack-lock";
import { describeTruncatedState } from "../stack/repair-file-backend";
import {
  buildUnlockAdvice,
  getStackFiles,
  removeStackLocks,
  repairStackFiles,
  type StackWorkspace,
  stackExists,
} from "../stack/run-on-stack";
import { buildTenantEnvironment } from "../stack/tenant-environment";
import { readKey } from "../targets/read-key";
import { findServiceLimit } from "../targets/service-limit";
import { createJournaledJob, isStorageError, tryAddNote } from "./journaled-job";
import { assertNoDuplicateTenant, assertNoOtherTenant, wasEmptyWhenPlanned } from "./tenant-identity-checks";

export interface TenantJobOptions {
  readonly journal: Journal;
  /** The commands shown to people. Default: commands that don't name the journal. */
  readonly commands?: RolloutCommands;
  readonly pool: EnginePool;
  readonly rateLimitBroker: RateLimitBroker;
  readonly addressHealth: AddressHealth;
  readonly getWorkspace: (rollout: string, spec: RolloutSpec) => Promise<Workspace>;
  readonly worker: string;
  readonly environment: NodeJS.ProcessEnv;
  /** How long to wait for a stack that another run has locked, in milliseconds. Default: ten minutes. */
  readonly lockWaitMs?: number;
  readonly log?: (line: string) => void;
}

export interface Workspace {
  readonly directory: string;
  /** The environment of the CLI, without any key. */
  readonly environment: NodeJS.ProcessEnv;
}

const DEFAULT_LOCK_WAIT_MS = 10 * 60_000;
const LOCK_POLL_MS = 2_000;
/** Longer than an engine survives its worker: it ends when notified, or when its next rate-limit request fails. */
const ORPHAN_TIMEOUT_MS = 30_000;
/** Far longer than creating a stack takes, including Pulumi's own retries. */
const STACK_CREATION_TIMEOUT_MS = 5 * 60_000;

/**
 * Changes one tenant: runs `pulumi up`, enforces the plan, and checks that the tenant then matches the declared state. Records the outcome
 * in
 * the journal.
 */
export function createTenantJob(options: TenantJobOptions): JobHandler {
  const { addressHealth, commands = new RolloutCommands() } = options;
  const getNextCommands = ({ job, spec }: ClaimedJob): NextCommands => buildNextCommands(job.rollout, spec, commands);
  return createJournaledJob({ ...options, getNextCommands }, async (claimed, secrets, signal) => {
    const { target } = claimed;
    try {
      await addressHealth.assertReachable(target);
      await applyTenantPlan(claimed, secrets, signal, options);
      addressHealth.recordOutcome(target, undefined);
    } catch (error) {
      if (!signal.aborted) addressHealth.recordOutcome(target, error);
      throw error;
    }
  });
}

async function applyTenantPlan(
  claimed: ClaimedJob,
  secrets: string[],
  signal: AbortSignal,
  options: TenantJobOptions,
): Promise<void> {
  const { spec, target, digest, plan, summary, job, attempt } = claimed;
  const { pool, rateLimitBroker, environment } = options;
  const key = await readKey(target, { environment });
  secrets.push(key);
  const engine = await requirePulumi(options.log);
  const workspace = await options.getWorkspace(job.rollout, spec);
  const serviceLimit = findServiceLimit(spec.services, target);
  using scratch = useTemporaryDirectory(() => createScratchDirectory("plan"));
  const grant = await rateLimitBroker.grant(target.baseUrl, serviceLimit, () => !signal.aborted);
  try {
    const planFile = join(scratch.path, "plan.json");
    const { only } = summary;
    const planJson = only === undefined ? plan : JSON.stringify({ ...(JSON.parse(plan) as object), only });
    useTemporaryDirectory(() => writeFileSync(planFile, planJson, { mode: 0o600 }));
    const request = {
      stack: target.stack,
      isExistingStack: summary.isStackThere,
      shouldCheckPending: attempt > 1 || summary.isStackPending === true,
      resourceName: summary.resource,
      provider: summary.provider ?? "dynamic",
      settings: target.settings,
      ...(summary.importSettings === undefined ? {} : { importSettings: summary.importSettings }),
      ...(only === undefined ? {} : { targets: only.targets }),
      ...omitUndefined({ marker: buildStackMarker(claimed) }),
      today: spec.today,
      directory: workspace.directory,
      command: engine.command,
      version: engine.version,
      environment: removeUnsetVariables({
        ...engine.environment(workspace.environment),
        NODE_OPTIONS: addParentWatch(workspace.environment["NODE_OPTIONS"]),
        ...buildTenantEnvironment(target, key, environment),
        ...buildSameTenantEnv(summary),
        ...buildExpectedTenantEnv(target, summary.identity),
        ...grant.environment,
        [PLAN_FILE_VARIABLE]: planFile,
        [PLAN_DIGEST_VARIABLE]: digest,
        [IDENTITY_FILE_VARIABLE]: join(scratch.path, "identity.json"),
        ...(summary.importSettings === undefined ? {} : { [PRECEDING_FILE_VARIABLE]: summary.importSettings }),
      }),
    };
    const stack = { project: spec.project, stack: target.stack, ...workspace };
    const getTokens: RequestContext["getTokens"] = (_target, isAllowed) =>
      rateLimitBroker.getTokens(target.baseUrl, serviceLimit, isAllowed);
    const requestContext = { environment, getTokens, signal };
    const readObserved = async (): Promise<ObservedState> =>
      (await readTenantLists(target, key, requestContext)).observed;
    const assertOwnTenant = async (observed: ObservedState): Promise<void> =>
      await assertNoOtherTenant(claimed, observed, options.journal, environment, workspace.environment);
    // Another key of this tenant may have been used since the planning, and the plan of an earlier release doesn't identify it.
    if (wasEmptyWhenPlanned(summary) || summary.identity === undefined) await assertOwnTenant(await readObserved());
    for (const repair of await repairStackFiles(stack)) await options.journal.addNote(claimed, repair);
    const runUp = async (environment: Readonly<Record<string, string>>): Promise<UpResult> => {
      const up = retryAfterProcessDeath(claimed, options.journal, signal, (mayHavePending) =>
        pool.up({ ...request, environment, shouldCheckPending: request.shouldCheckPending || mayHavePending }, signal),
      );
      return await runWhenUnlocked(claimed, stack, signal, options, up);
    };
    let result = await runUp(request.environment);
    const code = result.ok ? undefined : extractErrorCode(new Error(result.message));
    if (code === "ERR_OTHER_TENANT" || code === "ERR_PLAN_STALE") {
      const observed = await readObserved().catch(() => undefined);
      if (observed !== undefined) await assertOwnTenant(observed);
      const { [PLANNED_IDENTITY_VARIABLE]: plannedIdentity, ...environment } = request.environment;
      const mayBeOwn = observed !== undefined && isPossiblyPlannedTenant(claimed, observed);
      if (code === "ERR_OTHER_TENANT" && plannedIdentity !== undefined && mayBeOwn) {
        await tryAddNote(
          options.journal,
          claimed,
          "Its content has changed since it was planned, but nothing indicates that it is another tenant. Retried.",
        );
        result = await runUp(environment);
      }
    }
    if (!result.ok) throw toProviderError(describeTruncatedState(getStackFiles(stack)) ?? result.message);
    const { mismatches, identity } = await verifyPlan(target, key, parsePlan(plan, "the plan"), requestContext);
    // A tenant that was empty at planning time is identified by its present content.
    if (identity !== undefined) {
      try {
        await options.journal.recordIdentity(claimed, identity);
        if (wasEmptyWhenPlanned(summary)) await assertNoDuplicateTenant(claimed, identity, options.journal);
      } catch (error) {
        // The tenant is changed in any case. The end of the job reports a journal failure.
        if (!isStorageError(error)) throw error;
      }
    }
    if (mismatches.length > 0) throw buildNotConvergedError(target, mismatches);
  } finally {
    grant.revoke();
  }
}

/**
 * Whether a tenant that looks like another one may still be the planned one, because people may have added much to it
 * since.
 */
function isPossiblyPlannedTenant({ target, summary, attempt }: ClaimedJob, observed: ObservedState): boolean {
  const { identity, acceptsEmptyTenant } = summary;
  if (identity === undefined || acceptsEmptyTenant === true) return true;
  // An empty tenant may be any other one.
  const isEmptied = !isEmptyIdentity(identity) && isEmptyIdentity(getObservedIdentity(target.baseUrl, observed));
  if (isEmptied) return attempt > 1 && mayEmptyTenant(summary);
  if (isObservedTenant(identity, target.baseUrl, observed) !== false) return true;
  if (attempt === 1) return false;
  // An interrupted attempt may have removed what identified the tenant, but only items that the plan names.
  const stableIdentity = getStableIdentity(summary);
  return stableIdentity === undefined || isObservedTenant(stableIdentity, target.baseUrl, observed) !== false;
}

/** Builds the marker for the stack's state. Undefined if the stack has none and the rollout's mode doesn't add one. */
export function buildStackMarker({
  job,
  seq,
  spec,
  summary,
}: Pick<ClaimedJob, "job" | "seq" | "spec" | "summary">): StackMarker | undefined {
  const { planned, marker, acceptsEmptyTenant: isAccepted = false } = summary;
  const isChanged = planned.added + planned.changed + planned.removed > 0;
  const source = { rollout: job.rollout, seq };
  const identity = summary.identity && shrinkIdentity(summary.identity);
  const known = omitUndefined({ identity, acceptedSeq: isAccepted ? seq : marker?.acceptedSeq });
  // A stack without a marker, such as a new one, gets one even without a write, because nothing else identifies its
  // tenant.
  if (spec.mode === undefined && (isChanged || marker === undefined)) {
    return { ...source, at: new Date().toISOString(), ...known, ...(isChanged ? {} : { isUnchanged: true }) };
  }
  if (marker === undefined) return undefined;
  // Stacks of an earlier release have no identity. A person may also override a wrong one.
  const isRenewed = identity !== undefined && (isChanged || isAccepted || marker.identity === undefined);
  return { ...marker, ...(isRenewed ? { ...known, identitySource: source } : {}) };
}

/** Builds the provider's environment variables with the tenant's planned state. */
function buildSameTenantEnv({ fingerprint, acceptsEmptyTenant }: TenantSummary): Record<string, string> {
  return {
    ...(fingerprint === undefined ? {} : { [PLANNED_FINGERPRINT_VARIABLE]: fingerprint }),
    ...(acceptsEmptyTenant === true ? { EMAIL_SECURITY_ACCEPT_EMPTY_TENANT: "true" } : {}),
  };
}

/** Retries once after the engine died, with a note in the journal. The retry finds what the first attempt did. */
function retryAfterProcessDeath(
  claimed: ClaimedJob,
  journal: Journal,
  signal: AbortSignal,
  up: (mayHavePending: boolean) => Promise<UpResult>,
): (mayHavePending: boolean) => Promise<UpResult> {
  let hasRetried = false;
  return async (mayHavePending) => {
    const result = await up(mayHavePending || hasRetried);
    if (result.ok || result.isLocked || hasRetried || signal.aborted || !isProcessDeath(result.message)) return result;
    hasRetried = true;
    const [firstLine] = result.message.split("\n");
    await tryAddNote(journal, claimed, `${excerpt(firstLine ?? "", 300)} Retried once.`);
    return await up(true);
  };
}

/** Runs the engine, and waits while another run holds the stack's lock. Removes a lock that a dead process left behind. */
async function runWhenUnlocked(
  claimed: ClaimedJob,
  workspace: StackWorkspace,
  signal: AbortSignal,
  { journal, lockWaitMs = DEFAULT_LOCK_WAIT_MS }: TenantJobOptions,
  up: (isUnlocked: boolean) => Promise<UpResult>,
): Promise<UpResult> {
  const { previousWorker, summary } = claimed;
  const startedAt = Date.now();
  let lockedSince = startedAt;
  let lastOwners: string | undefined;
  let isUnlocked = false;
  for (;;) {
    const result = await up(isUnlocked);
    if (result.ok || !result.isLocked) return result;
    const waitedMs = Date.now() - startedAt;
    const { owners, description: ownersText } = parseStackLocks(result.message);
    if (lastOwners !== ownersText) lockedSince = Date.now();
    const isOrphanedBy = (host: string) =>
      waitedMs > ORPHAN_TIMEOUT_MS && previousWorker?.startsWith(`${host}:`) === true;
    // Pulumi removes all locks of a stack together, so none may belong to a running process.
    const isDead = owners?.every((owner) => isOrphanedLock(owner) || isOrphanedBy(owner.host)) === true;
    const mayNeverExist =
      owners !== undefined && !summary.isStackThere && Date.now() - lockedSince > STACK_CREATION_TIMEOUT_MS;
    const wasNeverCreated = mayNeverExist && !(await stackExists(workspace));
    if (isDead || wasNeverCreated) {
      await tryAddNote(
        journal,
        claimed,
        `the stack's lock was left behind by ${ownersText}, which is no longer running; it is removed`,
      );
      await removeStackLocks(workspace);
      isUnlocked = true;
      continue;
    }
    if (waitedMs >= lockWaitMs) throw await buildStackLockedError(claimed, workspace, ownersText, waitedMs);
    if (lastOwners !== ownersText)
      await tryAddNote(journal, claimed, `the stack is locked by ${ownersText}; waiting for it`);
    lastOwners = ownersText;
    await sleep(LOCK_POLL_MS, undefined, { signal });
  }
}

async function buildStackLockedError(
  { target: { name, stack } }: ClaimedJob,
  workspace: StackWorkspace,
  ownersText: string,
  waitedMs: number,
): Promise<RolloutError> {
  // Pulumi can't unlock a stack that doesn't exist yet. A run that waits longer than the creation takes removes the lock.
  const advice = (await stackExists(workspace))
    ? await buildUnlockAdvice(workspace)
    : `The stack isn't created yet. If that run is gone, this command removes the lock after it waited for ${STACK_CREATION_TIMEOUT_MS / 60_000} min: omit --lock-wait`;
  return new RolloutError(
    "ERR_STACK_LOCKED",
    `The stack ${quote(stack)} of ${quote(name)} is locked by ${ownersText}; this run waited for ${Math.round(waitedMs / 1_000)} s. This tenant was not changed. If that run is still in progress, wait until it ends. ${advice}`,
  );
}

function buildNextCommands(
  id: string,
  { source, rollsBack, mode }: RolloutSpec,
  commands: RolloutCommands,
): NextCommands {
  return {
    resume: commands.resume(id),
    newRollout: rollsBack === undefined ? commands.plan(source, [], mode) : commands.rollback(rollsBack),
  };
}

function toProviderError(message: string): Error {
  // The provider's own code, if the engine reports one.
  return new EmailSecurityError(extractErrorCode(new Error(message)) as ErrorCode, message);
}

const MAX_MISMATCHES = 10;

function buildNotConvergedError({ name }: Target, mismatches: readonly string[]): RolloutError {
  const truncation =
    mismatches.length > MAX_MISMATCHES ? [`  … ${formatOmittedChanges(mismatches.length - MAX_MISMATCHES)}`] : [];
  return new RolloutError(
    "ERR_ROLLOUT_NOT_CONVERGED",
    [
      `Everything was written, but ${quote(name)} doesn't match its files:`,
      ...mismatches.slice(0, MAX_MISMATCHES).map((line) => `  ${line}`),
      ...truncation,
    ].join("\n"),
  );
}

/** Adds a module to Node.js options that ends a provider process when its engine dies. */
function addParentWatch(options = ""): string {
  const file = join(__dirname, "..", "engine", "watch-parent.js").replace(/["\\]/g, "\\$&");
  return `${options} --require "${file}"`.trim();
}

function removeUnsetVariables(environment: NodeJS.ProcessEnv): Record<string, string> {
  return Object.fromEntries(
    Object.entries(environment).filter((entry): entry is [string, string] => entry[1] !== undefined),
  );
}

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { scratchFolder } from "../../machine/scratch-folder";
import { identityOfObserved, isTenantOf, type Observed } from "../../plan/observed";
import { readyPulumi } from "../../plan/pulumi";
import { parsePlan } from "../../plan/render/json";
import { PLAN_DIGEST, PLAN_FILE, PLAN_FIRST } from "../../resources/lifecycle/reviewed-plan";
import { IDENTITY_FILE, PLANNED_FINGERPRINT, PLANNED_IDENTITY } from "../../resources/same-tenant";
import { EmailSecurityError } from "../../settings/email-security-error";
import { shrinkIdentity, type TenantIdentity } from "../../settings/tenant-identity";
import { excerpt, quote } from "../../settings/text";
import { withoutUndefined } from "../../settings/without-undefined";
import { hasDied } from "../engine/engine-causes";
import type { EnginePool } from "../engine/engine-pool";
import type { UpResult } from "../engine/up-request";
import type { Journal } from "../journal/journal";
import { lastingIdentity } from "../journal/lasting-identity";
import type { ClaimedTenant, RolloutSpec, TenantSummary } from "../journal/rollout-record";
import { RolloutCommands } from "../model/commands";
import { RolloutError } from "../model/errors";
import type { StackMarker } from "../model/stack-marker";
import type { Target } from "../model/target";
import { inTemporaryFolder } from "../model/temporary-folder";
import { readTenant } from "../planning/plan-target";
import { notAsPlanned } from "../planning/plan-verification";
import { codeIn } from "../planning/tenant-error";
import type { AddressHealth } from "../probing/address-health";
import type { Reach } from "../probing/target-client";
import type { DoJob } from "../queue/lane";
import type { PermitOffice } from "../rate-limit/permit-office";
import type { NextCommands } from "../report/advice";
import { leftOutText } from "../report/told-rollout";
import {
  isStackThere,
  removeLocks,
  repairStackFiles,
  type StackWithFolder,
  stackFiles,
  unlockAdvice,
} from "../stack/run-on-stack";
import { isLeftBehind, stackLocks } from "../stack/stack-lock";
import { ofTenant } from "../stack/tenant-environment";
import { tornState } from "../stack/torn-files";
import { readKey } from "../targets/read-key";
import { limitOf } from "../targets/service-limit";
import { isOfStorage, journaledJob, noted } from "./journaled-job";
import { assertNoOtherKey, assertNoOtherTenant, expectedTenant, wasEmpty } from "./other-tenant";

/** The options for changing tenants, on any machine. */
export interface TenantJobOptions {
  readonly journal: Journal;
  /** The commands shown to people. Default: commands that don't name the journal. */
  readonly commands?: RolloutCommands;
  readonly pool: EnginePool;
  readonly office: PermitOffice;
  /** The known health of the tenants' addresses. */
  readonly addresses: AddressHealth;
  /** Lays out the project of a rollout on this machine. */
  readonly workFolder: (rollout: string) => Promise<WorkPlace>;
  /** The worker: `host:pid`. */
  readonly worker: string;
  /** The environment that supplies the keys. */
  readonly environment: NodeJS.ProcessEnv;
  /** How long to wait for a stack that another run has locked, in milliseconds. Default: ten minutes. */
  readonly lockWaitMs?: number;
  /** Receives a line about each slow step. */
  readonly log?: (line: string) => void;
}

/** Where a rollout's engine runs. */
export interface WorkPlace {
  readonly folder: string;
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
export function tenantJob(options: TenantJobOptions): DoJob {
  const { addresses, commands = new RolloutCommands() } = options;
  const getNextCommands = ({ job, spec }: ClaimedTenant): NextCommands => nextCommands(job.rollout, spec, commands);
  return journaledJob({ ...options, next: getNextCommands }, async (claimed, secrets, signal) => {
    const { target } = claimed;
    try {
      await addresses.ensureAnswers(target);
      await applyPlan(claimed, secrets, signal, options);
      addresses.learned(target, undefined);
    } catch (error) {
      if (!signal.aborted) addresses.learned(target, error);
      throw error;
    }
  });
}

async function applyPlan(
  claimed: ClaimedTenant,
  secrets: string[],
  signal: AbortSignal,
  options: TenantJobOptions,
): Promise<void> {
  const { spec, target, digest, plan, summary, job, attempt } = claimed;
  const { pool, office, environment } = options;
  const key = await readKey(target, { environment });
  secrets.push(key);
  const engine = await readyPulumi(options.log);
  const workspace = await options.workFolder(job.rollout);
  const serviceLimit = limitOf(spec.services, target);
  using scratch = inTemporaryFolder(() => scratchFolder("plan"));
  const grant = await office.grant(target.baseUrl, serviceLimit, () => !signal.aborted);
  try {
    const planFile = join(scratch.path, "plan.json");
    const { only } = summary;
    const planJson = only === undefined ? plan : JSON.stringify({ ...(JSON.parse(plan) as object), only });
    inTemporaryFolder(() => writeFileSync(planFile, planJson, { mode: 0o600 }));
    const request = {
      stack: target.stack,
      isThere: summary.isStackThere,
      mayBePending: attempt > 1 || summary.isStackPending === true,
      resource: summary.resource,
      front: summary.front ?? "dynamic",
      settings: target.settings,
      ...(summary.first === undefined ? {} : { first: summary.first }),
      ...(only === undefined ? {} : { targets: only.targets }),
      ...withoutUndefined({ marker: buildStackMarker(claimed) }),
      today: spec.today,
      folder: workspace.folder,
      command: engine.command,
      version: engine.version,
      environment: withoutUnsetVariables({
        ...engine.environment(workspace.environment),
        NODE_OPTIONS: withParentWatch(workspace.environment["NODE_OPTIONS"]),
        ...ofTenant(target, key, environment),
        ...buildSameTenantEnv(summary),
        ...expectedTenant(target, summary.identity),
        ...grant.environment,
        [PLAN_FILE]: planFile,
        [PLAN_DIGEST]: digest,
        [IDENTITY_FILE]: join(scratch.path, "identity.json"),
        ...(summary.first === undefined ? {} : { [PLAN_FIRST]: summary.first }),
      }),
    };
    const stack = { project: spec.project, stack: target.stack, ...workspace };
    const getTokens: Reach["permits"] = (_target, isAllowed) => office.permits(target.baseUrl, serviceLimit, isAllowed);
    const requestContext = { environment, permits: getTokens, signal };
    const readObserved = async (): Promise<Observed> => (await readTenant(target, key, requestContext)).observed;
    const identify = (observed: Observed): TenantIdentity => identityOfObserved(target.baseUrl, observed);
    // Another key of this tenant may have been used since the planning.
    if (wasEmpty(summary)) {
      await assertNoOtherTenant(claimed, identify(await readObserved()), options.journal, environment);
    }
    for (const repair of await repairStackFiles(stack)) await options.journal.note(claimed, repair);
    const runUp = async (environment: Readonly<Record<string, string>>): Promise<UpResult> => {
      const up = retryAfterProcessDeath(claimed, options.journal, signal, (mayHavePending) =>
        pool.up({ ...request, environment, mayBePending: request.mayBePending || mayHavePending }, signal),
      );
      return await runWhenUnlocked(claimed, stack, signal, options, up);
    };
    let result = await runUp(request.environment);
    const code = result.ok ? undefined : codeIn(new Error(result.message));
    if (code === "ERR_OTHER_TENANT" || code === "ERR_PLAN_MOVED") {
      const observed = await readObserved().catch(() => undefined);
      if (observed !== undefined) {
        await assertNoOtherTenant(claimed, identify(observed), options.journal, options.environment);
      }
      const { [PLANNED_IDENTITY]: plannedIdentity, ...environment } = request.environment;
      const mayBeOwn = observed !== undefined && mayBePlanned(claimed, observed);
      if (code === "ERR_OTHER_TENANT" && plannedIdentity !== undefined && mayBeOwn) {
        await noted(
          options.journal,
          claimed,
          "It doesn't hold what it held when it was planned, and nothing shows that it is another tenant: retried.",
        );
        result = await runUp(environment);
      }
    }
    if (!result.ok) throw toProviderError(tornState(stackFiles(stack)) ?? result.message);
    const { left, identity } = await notAsPlanned(target, key, parsePlan(plan, "the plan"), requestContext);
    // A tenant that was empty at planning time is identified by its present content.
    if (identity !== undefined) {
      try {
        await options.journal.identify(claimed, identity);
        if (wasEmpty(summary)) await assertNoOtherKey(claimed, identity, options.journal);
      } catch (error) {
        // The tenant is changed in any case. The end of the job reports a journal failure.
        if (!isOfStorage(error)) throw error;
      }
    }
    if (left.length > 0) throw buildNotAsDeclaredError(target, left);
  } finally {
    grant.revoke();
  }
}

/** Whether a tenant that looks like another one may still be the one that was planned: people may have added much to it since. */
function mayBePlanned({ target, summary, attempt }: ClaimedTenant, observed: Observed): boolean {
  const { identity, acceptsEmptyTenant } = summary;
  if (identity === undefined || acceptsEmptyTenant === true) return true;
  if (isTenantOf(identity, target.baseUrl, observed) !== false) return true;
  if (attempt === 1) return false;
  // An attempt that was interrupted may have removed what identified it, but nothing that the plan doesn't name.
  const lasting = lastingIdentity(summary);
  return lasting === undefined || isTenantOf(lasting, target.baseUrl, observed) !== false;
}

/** What the stack's state says of its last rollout from now on. */
function buildStackMarker({ job, seq, spec, summary }: ClaimedTenant): StackMarker | undefined {
  const { added, changed, removed } = summary.planned;
  const isChanged = spec.task === undefined && added + changed + removed > 0;
  const identity = summary.identity && shrinkIdentity(summary.identity);
  const known = withoutUndefined({ identity });
  if (isChanged) return { rollout: job.rollout, seq, at: new Date().toISOString(), ...known };
  // What is remembered is wrong where a person says so.
  return summary.marker && { ...summary.marker, ...(summary.acceptsEmptyTenant === true ? known : {}) };
}

/** The planned state of the tenant, as environment variables of the provider. */
function buildSameTenantEnv({ fingerprint, acceptsEmptyTenant }: TenantSummary): Record<string, string> {
  return {
    ...(fingerprint === undefined ? {} : { [PLANNED_FINGERPRINT]: fingerprint }),
    ...(acceptsEmptyTenant === true ? { EMAIL_SECURITY_ACCEPT_EMPTY_TENANT: "true" } : {}),
  };
}

/** Retries once after the engine died, with a note in the journal. The retry finds what the first attempt did. */
function retryAfterProcessDeath(
  claimed: ClaimedTenant,
  journal: Journal,
  signal: AbortSignal,
  up: (mayHavePending: boolean) => Promise<UpResult>,
): (mayHavePending: boolean) => Promise<UpResult> {
  let hasRetried = false;
  return async (mayHavePending) => {
    const result = await up(mayHavePending || hasRetried);
    if (result.ok || result.isLocked || hasRetried || signal.aborted || !hasDied(result.message)) return result;
    hasRetried = true;
    const [firstLine] = result.message.split("\n");
    await noted(journal, claimed, `${excerpt(firstLine ?? "", 300)} Tried once more.`);
    return await up(true);
  };
}

/** Runs the engine, and waits while another run holds the stack's lock. Removes a lock that a dead process left behind. */
async function runWhenUnlocked(
  claimed: ClaimedTenant,
  workspace: StackWithFolder,
  signal: AbortSignal,
  { journal, lockWaitMs = DEFAULT_LOCK_WAIT_MS }: TenantJobOptions,
  up: (isUnlocked: boolean) => Promise<UpResult>,
): Promise<UpResult> {
  const { takenOverFrom, summary } = claimed;
  const startedAt = Date.now();
  let lockedSince = startedAt;
  let lastOwners: string | undefined;
  let isUnlocked = false;
  for (;;) {
    const result = await up(isUnlocked);
    if (result.ok || !result.isLocked) return result;
    const waitedMs = Date.now() - startedAt;
    const { owners, told: ownersText } = stackLocks(result.message);
    if (lastOwners !== ownersText) lockedSince = Date.now();
    const isOrphanedBy = (host: string) =>
      waitedMs > ORPHAN_TIMEOUT_MS && takenOverFrom?.startsWith(`${host}:`) === true;
    // Pulumi removes all locks of a stack together, so none may belong to a running process.
    const isDead = owners?.every((owner) => isLeftBehind(owner) || isOrphanedBy(owner.host)) === true;
    const mayNeverExist =
      owners !== undefined && !summary.isStackThere && Date.now() - lockedSince > STACK_CREATION_TIMEOUT_MS;
    const wasNeverCreated = mayNeverExist && !(await isStackThere(workspace));
    if (isDead || wasNeverCreated) {
      await noted(
        journal,
        claimed,
        `the stack's lock was left behind by ${ownersText}, which is gone; it is taken away`,
      );
      await removeLocks(workspace);
      isUnlocked = true;
      continue;
    }
    if (waitedMs >= lockWaitMs) throw await buildStackLockedError(claimed, workspace, ownersText, waitedMs);
    if (lastOwners !== ownersText)
      await noted(journal, claimed, `the stack is locked by ${ownersText}; waiting for it`);
    lastOwners = ownersText;
    await sleep(LOCK_POLL_MS, undefined, { signal });
  }
}

async function buildStackLockedError(
  { target: { name, stack } }: ClaimedTenant,
  workspace: StackWithFolder,
  ownersText: string,
  waitedMs: number,
): Promise<RolloutError> {
  // Pulumi can't unlock a stack that doesn't exist yet. A run that waits longer than the creation takes removes the lock.
  const advice = (await isStackThere(workspace))
    ? await unlockAdvice(workspace)
    : `The stack is not made yet. Where that run is gone, the lock is taken away once it was waited for ${STACK_CREATION_TIMEOUT_MS / 60_000} min: leave out --lock-wait`;
  return new RolloutError(
    "ERR_STACK_LOCKED",
    `The stack ${quote(stack)} of ${quote(name)} is locked by ${ownersText}; it was waited for ${Math.round(waitedMs / 1_000)} s. Nothing of this tenant was changed. Where that run still goes on, wait for its end. ${advice}`,
  );
}

/** The commands to continue a rollout in which a tenant failed. */
function nextCommands(id: string, { source, rollsBack, task }: RolloutSpec, commands: RolloutCommands): NextCommands {
  return {
    resume: commands.resume(id),
    anew: rollsBack === undefined ? commands.plan(source, [], task) : commands.rollback(rollsBack),
  };
}

function toProviderError(message: string): Error {
  // The provider's own code, if the engine reports one.
  return new EmailSecurityError(codeIn(new Error(message)), message);
}

const MAX_MISMATCHES = 10;

function buildNotAsDeclaredError({ name }: Target, mismatches: readonly string[]): RolloutError {
  const truncation =
    mismatches.length > MAX_MISMATCHES ? [`  … ${leftOutText(mismatches.length - MAX_MISMATCHES)}`] : [];
  return new RolloutError(
    "ERR_ROLLOUT_NOT_AS_DECLARED",
    [
      `Everything was written, and ${quote(name)} is not as declared:`,
      ...mismatches.slice(0, MAX_MISMATCHES).map((line) => `  ${line}`),
      ...truncation,
    ].join("\n"),
  );
}

/** Adds a module to Node.js options that ends a provider process when its engine dies. */
function withParentWatch(options = ""): string {
  const file = join(__dirname, "..", "engine", "watch-parent.js").replace(/["\\]/g, "\\$&");
  return `${options} --require "${file}"`.trim();
}

function withoutUnsetVariables(environment: NodeJS.ProcessEnv): Record<string, string> {
  return Object.fromEntries(
    Object.entries(environment).filter((entry): entry is [string, string] => entry[1] !== undefined),
  );
}

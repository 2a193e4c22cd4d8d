import { join } from "node:path";
import { ConnectionPool } from "../../client/connection-pool";
import { isEmptyTenantAccepted } from "../../model/mail-domains";
import { omitUndefined } from "../../model/omit-undefined";
import { hashJson } from "../../model/plan-digest";
import { collectSecrets } from "../../model/secrets";
import type { TenantIdentity } from "../../model/tenant-identity";
import type { Plan, PlanBlocker } from "../../plan/plan";
import type { SettingsReadCache } from "../../settings-files/read-settings";
import { removeKeyVariables } from "../../system/child-environment";
import type { Journal } from "../journal/journal";
import type { PackedFiles, PlannedTenant, RolloutSpec } from "../journal/rollout-record";
import type { ReappliedChanges } from "../locks/rollout-locks";
import { READ_CONCURRENCY } from "../model/capacity";
import type { RolloutCommands } from "../model/rollout-commands";
import { RolloutError } from "../model/rollout-error";
import type { StackMarker } from "../model/stack-marker";
import type { Target } from "../model/target";
import { AddressHealth, isAddressWideFailure, type RequestPolicy } from "../probing/address-health";
import { planAllTargets } from "../probing/plan-all-targets";
import { assertRequestEnvironment, createProbe, type RequestContext } from "../probing/target-client";
import type { RateLimitBroker } from "../rate-limit/rate-limit-broker";
import { ChangeTally, type SharedChange } from "../report/shared-changes";
import { getProjectDirectory, type StateBackend } from "../stack/state-backend";
import { findSameKeys, SameKeyError } from "../targets/find-same-keys";
import { findServiceLimit } from "../targets/service-limit";
import {
  addMarkerRecords,
  type ReadIdentityRecords,
  SameTenantError,
  validateTenantIdentities,
} from "../targets/tenant-conflicts";
import { FailureTally } from "../targets/tolerance";
import { addFiles, extractBundle, packFiles } from "./file-bundle";
import { createMovedStackCheck } from "./moved-stack";
import { readOrphanedStacks } from "./orphaned-stacks";
import { buildFailedPlan, type PlanningContext, planTarget, type TargetPlan, type TenantPlanner } from "./plan-target";
import { planWithEvidence } from "./plan-with-evidence";
import { buildPlanningStoppedError, type PlanFailure } from "./planning-stopped-error";
import { readKeys } from "./read-keys";
import { checkReassignedStacks } from "./reassigned-stacks";
import type { OrphanedStack } from "./renamed-tenant";
import { type MailScope, type MailSearchResult, searchTenantMail } from "./search-tenant-mail";
import { buildTenantError } from "./tenant-error";
import { buildTenantChange } from "./tenant-summary";

export interface PlanRolloutOptions {
  readonly journal: Journal;
  readonly commands: RolloutCommands;
  readonly rateLimitBroker: RateLimitBroker;
  readonly backend: StateBackend;
  /** The source of the keys, and of the other variables that the CLI gets. */
  readonly environment: NodeJS.ProcessEnv;
  /** The maximum number of processes at once, such as Pulumi's CLI. */
  readonly concurrency: number;
  /** Settings files of another time, which replace those of the working directory. */
  readonly files?: PackedFiles;
  /** Plans one tenant. Default: plans it by its settings file. */
  readonly planTenant?: TenantPlanner;
  /** Reads what earlier rollouts recorded about tenants; called for each tenant. Default: nothing. */
  readonly readIdentityRecords?: ReadIdentityRecords;
  /**
   * The stacks of all tenants of the targets file. Any other stack may belong to a renamed tenant. Default: no search for renamed tenants.
   */
  readonly declaredStacks?: ReadonlySet<string>;
  /** Aborts the planning with an error (`ERR_ROLLOUT_STOPPED`). */
  readonly stopping?: AbortSignal;
  /**
   * The tenants whose mail is searched for evidence once all are planned. Applies only to rollouts of the settings files. Default: none.
   */
  readonly mail?: MailScope;
  readonly onProgress?: (planned: number, total: number) => void;
  readonly onMail?: (checkedCount: number, total: number) => void;
}

export interface PlannedRollout {
  readonly id: string;
  /** The digest of the plans of all tenants, which identifies the reviewed plan. */
  readonly digest: string;
  /** How many tenants may fail in the whole rollout. Absent: only the waves have limits. */
  readonly tolerated?: number;
  /** The location of the state of all stacks, without credentials. */
  readonly backend: string;
  readonly blockers: readonly { readonly tenant: string; readonly blocker: PlanBlocker }[];
  /** Changes that this plan repeats although a rollback has undone them. Absent: none. */
  readonly reappliedChanges?: readonly ReappliedChanges[];
  /** The changes and their number of tenants, the most important first. */
  readonly changes: readonly SharedChange[];
  readonly formerProjects: ReadonlySet<string>;
  /** The evidence from the mail of some tenants. Absent: no mail was searched. */
  readonly mail?: MailSearchResult;
}

const WRITE_BATCH_SIZE = 20;

/**
 * Plans every tenant, and writes the plans and their files to the journal. A tenant that can't be planned doesn't fail the others, and
 * tenants of an address that is down get no requests. Keeps only a few plans in memory, however many tenants there are.
 *
 * @throws {ConfigurationError} if the environment holds a value that makes every request impossible.
 * @throws {SameKeyError} if two tenants have the same key.
 * @throws {SameTenantError} (`ERR_SAME_TENANT`) if the keys of two tenants belong to the same tenant of the service; (`ERR_OTHER_TENANT`) if a
 * key belongs to a tenant that an earlier rollout read under another name.
 * @throws {PlanningFailedError} (`ERR_ROLLOUT_PLAN`) if more tenants fail than the tolerance allows before all are planned.
 * @throws {RolloutError} (`ERR_ROLLOUT_STOPPED`) if it was stopped.
 */
export async function planRollout(
  spec: RolloutSpec,
  targets: readonly Target[],
  options: PlanRolloutOptions,
): Promise<PlannedRollout> {
  const { journal, rateLimitBroker, backend, environment, concurrency, onProgress } = options;
  const { planTenant = planTarget } = options;
  assertRequestEnvironment(environment, targets);
  const toleranceExceeded = new AbortController();
  const endPlanning = (): void => toleranceExceeded.abort(new Error("more tenants failed than are tolerated"));
  const signal =
    options.stopping === undefined
      ? toleranceExceeded.signal
      : AbortSignal.any([options.stopping, toleranceExceeded.signal]);
  const throwIfStopped = (): void => {
    if (options.stopping?.aborted !== true) return;
    throw new RolloutError("ERR_ROLLOUT_STOPPED", "Planning was stopped. Nothing was changed.");
  };
  const failureTally = new FailureTally(spec);
  const failures: PlanFailure[] = [];
  const recordFailure = (target: Target, error: unknown, key = ""): PlannedTenant => {
    const planned = buildFailedPlan(target, error, [key, ...collectSecrets(environment)]);
    failures.push({ target, error: planned.error, isAddressWide: isAddressWideFailure(error) });
    return planned;
  };
  const { keys, targetsWithoutKey: keyless } = await readKeys(targets, {
    environment,
    concurrency,
    tally: failureTally,
    throwIfEnded: throwIfStopped,
  });
  const sameKeys = findSameKeys(keys);
  if (sameKeys.length > 0) throw new SameKeyError(sameKeys);

  const id = await journal.create(spec, targets);
  const generatedFiles = new Map<string, string>();
  const blockers: { tenant: string; blocker: PlanBlocker }[] = [];
  const changeTally = new ChangeTally();
  const digests = new Map<string, string>();
  const formerProjects = new Set<string>();
  const identities = new Map<Target, TenantIdentity>();
  const markers = new Map<Target, StackMarker>();
  let unwrittenPlans: PlannedTenant[] = [];
  const writePlans = async (planned: readonly PlannedTenant[]): Promise<void> => {
    for (const { name, state, digest, error } of planned) {
      digests.set(name, `${state} ${error?.code ?? digest}`);
    }
    await journal.recordPlans(id, planned);
    onProgress?.(digests.size, targets.length);
  };
  const workDirectory = extractBundle({ bundle: new Map(), directory: "." }, spec.project, backend.url);
  await using connections = new ConnectionPool();
  const oldFiles = options.files === undefined ? undefined : extractBundle(options.files, spec.project, backend.url);
  try {
    const requestContext: RequestContext = {
      environment,
      getTokens: (target, isAllowed) =>
        rateLimitBroker.getTokens(target.baseUrl, findServiceLimit(spec.services, target), isAllowed),
      signal,
      connections,
    };
    const cliEnvironment = buildEngineEnvironment(environment, spec.keyVariables, backend);
    const { declaredStacks } = options;
    let orphansPromise: Promise<readonly OrphanedStack[]> | undefined;
    const readOrphans = async (declaredStackNames: ReadonlySet<string>): Promise<readonly OrphanedStack[]> => {
      const { project } = spec;
      const stackOptions = {
        project,
        directory: workDirectory.path,
        environment: cliEnvironment,
        backend: backend.fingerprint,
      };
      orphansPromise ??= readOrphanedStacks({
        ...stackOptions,
        declaredStacks: declaredStackNames,
        database: journal.database,
        formatUnskip: ({ name }) => options.commands.unskip([name], spec.source),
      });
      return await orphansPromise;
    };
    const newTargets: Target[] = [];
    const partlyMatching = new Map<Target, number>();
    const { readIdentityRecords = async () => new Map() } = options;
    const context: PlanningContext = {
      readIdentityRecords: async () => await readIdentityRecords("declared"),
      // The tenant's identity may be known even though the plan doesn't contain it.
      onReplacedTenant: (target, { identity }) => void identities.set(target, identity),
      onStack: (target, matchCount) => {
        if (matchCount === "new") newTargets.push(target);
        else if (matchCount !== undefined) partlyMatching.set(target, matchCount);
      },
      today: spec.today,
      project: spec.project,
      directory: workDirectory.path,
      ...(oldFiles === undefined ? {} : { settingsRoot: oldFiles.path }),
      environment: cliEnvironment,
      cache: new Map() as SettingsReadCache,
      requestContext,
      checkMovedStack: createMovedStackCheck({ ...spec, journal, commands: options.commands, formerProjects }),
      acceptanceEnvironment: environment,
      files: new Set(),
      ...(declaredStacks === undefined ? {} : { readOrphanedStacks: async () => await readOrphans(declaredStacks) }),
    };
    const getApiKey = (target: Target): string => keys.get(target) ?? "";
    const plannableTargets = [...keys.keys()];
    await writePlans(keyless.map(({ target, error }) => recordFailure(target, error)));
    const addresses = new AddressHealth({
      probe: createProbe(requestContext, (target) => Promise.resolve(getApiKey(target))),
      targets: plannableTargets,
    });
    await planAllTargets<TargetPlan>(plannableTargets, {
      addresses,
      concurrency: Math.max(concurrency, READ_CONCURRENCY),
      processConcurrency: concurrency,
      tally: failureTally,
      signal,
      onToleranceExceeded: endPlanning,
      planTarget: async (target, requestPolicy, runInSlot) =>
        await planTenant(target, getApiKey(target), context, requestPolicy, runInSlot),
      onSettled: async (target, { plan, error }) => {
        for (const [file, text] of plan?.generatedFiles ?? []) generatedFiles.set(file, text);
        if (plan !== undefined) changeTally.add(target.name, plan.changes);
        const identity = plan?.plannedTenant.summary?.identity;
        if (identity !== undefined) identities.set(target, identity);
        const marker = plan?.plannedTenant.summary?.marker;
        if (marker !== undefined) markers.set(target, marker);
        for (const blocker of plan?.blockers ?? []) blockers.push({ tenant: target.name, blocker });
        unwrittenPlans.push(plan?.plannedTenant ?? recordFailure(target, error, getApiKey(target)));
        if (unwrittenPlans.length < WRITE_BATCH_SIZE) return;
        const batch = unwrittenPlans;
        unwrittenPlans = [];
        await writePlans(batch);
      },
    });
    throwIfStopped();
    const reportedTenants = new Set<string>();
    const takenStackOptions = {
      newTargets,
      partialMatches: partlyMatching,
      context,
      database: journal.database,
      backend: backend.fingerprint,
    };
    await checkReassignedStacks(takenStackOptions, async (target, compareStack) => {
      const blocker = await addresses.run(
        target,
        async (requestPolicy) => await compareStack(getApiKey(target), requestPolicy),
      );
      if (blocker === undefined) return;
      blockers.push({ tenant: target.name, blocker });
      reportedTenants.add(target.name);
    });
    const isEmptyTenantAllowed = (name: string): boolean => isEmptyTenantAccepted(environment, name);
    const known = addMarkerRecords(readIdentityRecords, [...identities.keys()], (target) => markers.get(target));
    const conflicts = await validateTenantIdentities(identities, known, isEmptyTenantAllowed);
    const isUnreported = ({ name }: { readonly name: string }): boolean => !reportedTenants.has(name);
    const sameTenants = conflicts.filter(({ targets, records }) => [...targets, ...records].every(isUnreported));
    if (sameTenants.length > 0) throw new SameTenantError(sameTenants);
    await writePlans(unwrittenPlans);
    const unplannedTargets = targets.filter(({ name }) => !digests.has(name));
    if (unplannedTargets.length > 0) {
      throw await buildPlanningStoppedError(
        journal,
        id,
        { failures, unplannedTargets, exceededTolerances: failureTally.exceededTolerances },
        options.commands,
      );
    }
    const digest = computeRolloutDigest(spec, targets, digests);
    const packed = options.files ?? packFiles(context.files, getStackConfigFiles(spec, targets));
    await journal.completePlanning(id, digest, addFiles(packed, generatedFiles));
    const byName = new Map(plannableTargets.map((target) => [target.name, target]));
    const mailResult =
      options.mail === undefined || options.planTenant !== undefined
        ? undefined
        : await searchTenantMail(journal, id, {
            mail: options.mail,
            concurrency,
            planWithEvidence: async (name) => {
              throwIfStopped();
              const target = byName.get(name) as Target;
              const plan = async (requestPolicy: RequestPolicy) =>
                await planWithEvidence(target, getApiKey(target), context, requestPolicy);
              return await addresses.run(target, plan);
            },
            describeError: (tenantName, error) => {
              throwIfStopped();
              const secrets = [getApiKey(byName.get(tenantName) as Target), ...collectSecrets(environment)];
              return buildTenantError(error, "plan", secrets).message;
            },
            onProgress: options.onMail,
          });
    throwIfStopped();
    return {
      id,
      digest,
      blockers: [
        ...blockers.filter(({ tenant }) => mailResult?.blockers.every((blocker) => blocker.tenant !== tenant) ?? true),
        ...(mailResult?.blockers ?? []),
      ],
      ...omitUndefined({ mail: mailResult }),
      changes: await collectChanges(journal, id, mailResult, changeTally),
      backend: backend.displayName,
      ...omitUndefined({ tolerated: spec.tolerated }),
      formerProjects,
    };
  } catch (error) {
    // If the journal fails as well, only the first failure is worth reporting.
    await journal.deleteRollout(id).catch(() => {});
    throw error;
  } finally {
    workDirectory.remove();
    oldFiles?.remove();
  }
}

/** Tallies the changes without the tenants whose mail reveals that their key belongs to another tenant. */
async function collectChanges(
  journal: Journal,
  id: string,
  mailResult: MailSearchResult | undefined,
  allChanges: ChangeTally,
): Promise<readonly SharedChange[]> {
  const mismatchedTenants = new Set(mailResult?.blockers.map(({ tenant }) => tenant));
  if (mismatchedTenants.size === 0) return allChanges.changes;
  const remainingChanges = new ChangeTally();
  for (const { name } of await journal.listTenants(id)) {
    const text = mismatchedTenants.has(name) ? undefined : await journal.readPlan(id, name);
    if (text !== undefined) remainingChanges.add(name, (JSON.parse(text) as Plan).changes.map(buildTenantChange));
  }
  return remainingChanges.changes;
}

/**
 * Computes the digest of everything that a review covers: the outcome of each tenant; the waves with all their
 * conditions; the limits; and the locations of each tenant, its stack and its key. Digests with the prefix `r1` covered
 * fewer parts of the plans.
 */
function computeRolloutDigest(
  spec: RolloutSpec,
  targets: readonly Target[],
  digests: ReadonlyMap<string, string>,
): string {
  const { project, waves, tolerated, services, backend, rollsBack, mode } = spec;
  const tenants = targets.map(({ name, baseUrl, key, stack, resource, settings, provider }) => [
    name,
    baseUrl,
    key,
    stack,
    resource,
    settings,
    digests.get(name),
    ...(provider === undefined ? [] : [provider]),
  ]);
  const taskParts = mode === undefined ? [] : [mode];
  return `r2-${hashJson([project, waves, tolerated, services, backend, rollsBack, tenants, ...taskParts])}`;
}

/** Returns the configuration files of the stacks in the user's project, by their names next to the project file. */
export function getStackConfigFiles(
  { source }: Pick<RolloutSpec, "source">,
  targets: readonly Target[],
): ReadonlyMap<string, string> {
  const directory = getProjectDirectory(source);
  return new Map(
    targets.map(({ stack }) => {
      const name = `Pulumi.${stack.split("/").at(-1)}.yaml`;
      return [name, join(directory, name)] as const;
    }),
  );
}

/** Builds the environment of the CLI, with the state backend and without any tenant's key. */
export function buildEngineEnvironment(
  environment: NodeJS.ProcessEnv,
  keyVariables: readonly string[] | undefined,
  { url }: Pick<StateBackend, "url">,
): NodeJS.ProcessEnv {
  const cleanEnvironment = removeKeyVariables(environment, keyVariables);
  return url === undefined ? cleanEnvironment : { ...cleanEnvironment, PULUMI_BACKEND_URL: url };
}

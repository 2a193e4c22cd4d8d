import { join } from "node:path";
import type { SettingsClient } from "../../client";
import { getHost } from "../../gitops/plan-tenant";
import { isEmptyTenantAccepted } from "../../model/mail-domains";
import { omitUndefined } from "../../model/omit-undefined";
import { matchesEarlierIdentity, type TenantIdentity } from "../../model/tenant-identity";
import { quote } from "../../model/text";
import { buildDesiredState, type DesiredState } from "../../plan/desired-state";
import {
  findOnlyTenantSettings,
  findUndeclaredResources,
  getStackProvider,
  hasPendingOperations,
  isStackUpToDate,
} from "../../plan/exported-stack";
import { buildEmptyEvidence } from "../../plan/mail-evidence";
import { type MailEvidence, makePlan } from "../../plan/make-plan";
import { getObservedIdentity, type ObservedState, readObservedState } from "../../plan/observed-state";
import type { Plan, PlanBlocker } from "../../plan/plan";
import { isOtherTenantPlan, redactOtherTenantPlan } from "../../plan/plan-redaction";
import { requirePulumi } from "../../plan/pulumi-cli";
import { formatPlanJson } from "../../plan/render/plan-json";
import { exportStack, parseStackLists } from "../../plan/stack-lists";
import { computeTenantFingerprint } from "../../plan/tenant-mismatch";
import { type Finding, SettingsFileError } from "../../settings-files/finding";
import { lintSettings } from "../../settings-files/lint";
import type { SettingsReadCache } from "../../settings-files/read-settings";
import type { Settings } from "../../settings-files/settings-model";
import type { PlannedTenant, TenantSummary } from "../journal/rollout-record";
import { buildStableIdentity } from "../journal/stable-identity";
import { RolloutError } from "../model/rollout-error";
import type { TenantChange } from "../model/rollout-report";
import { readStackMarker, type StackMarker } from "../model/stack-marker";
import type { Target } from "../model/target";
import type { RequestPolicy } from "../probing/address-health";
import type { RunInSlot } from "../probing/plan-all-targets";
import { type RequestContext, useTargetClient } from "../probing/target-client";
import { describeTruncatedState, removeTruncatedAttributes } from "../stack/repair-file-backend";
import { createStackCommands } from "../stack/stack-commands";
import { readStateFile } from "../stack/state-file";
import { type IdentityRecords, selectIdentityRecord } from "../targets/tenant-conflicts";
import { formatDifferentTenantReason } from "../targets/tenant-replacement";
import type { MovedStackCheck } from "./moved-stack";
import {
  buildRenamedTenantBlocker,
  type FormerStack,
  findFormerStack,
  getPartialMatchCount,
  type NewTenant,
  type OrphanedStack,
} from "./renamed-tenant";
import { findReplacedTenantBlocker, type ReplacedTenant } from "./replaced-tenant";
import { buildTenantError } from "./tenant-error";
import { buildTenantChange, buildTenantSummary } from "./tenant-summary";

export interface PlanningContext {
  /** The day (UTC) for which `expires` is evaluated. */
  readonly today: string;
  readonly project: string;
  readonly directory: string;
  /** The directory that settings files are relative to. Default: the working directory. */
  readonly settingsRoot?: string;
  /** The environment of the Pulumi CLI, without any key. */
  readonly environment: NodeJS.ProcessEnv;
  /** Avoids reading a settings file again for each tenant that includes it. */
  readonly cache: SettingsReadCache;
  readonly requestContext: RequestContext;
  /** The environment that says which tenants of this run may be empty, or may have users with other domains. */
  readonly acceptanceEnvironment: NodeJS.ProcessEnv;
  /** Reads the stacks that may belong to renamed tenants, once, when a tenant has a new stack. Default: there are none. */
  readonly readOrphanedStacks?: () => Promise<readonly OrphanedStack[]>;
  /** Checks whether a stack was moved from another project. Default: no check. */
  readonly checkMovedStack?: MovedStackCheck;
  /** Reads the identities that rollouts recorded. Default: none. */
  readonly readIdentityRecords?: () => Promise<IdentityRecords>;
  /** Called for each tenant whose stack seems to have belonged to another tenant. */
  readonly onReplacedTenant?: (target: Target, replaced: ReplacedTenant) => void;
  /**
   * Receives each tenant's stack: `"new"`, or how many of the stack's declared entries and VIPs the tenant holds. Undefined if the tenant
   * holds all of them.
   */
  readonly onStack?: (target: Target, matchCount: "new" | number | undefined) => void;
  /** Collects the settings files that are read, to keep them with the rollout. */
  readonly files: Set<string>;
}

export interface TargetPlan {
  readonly plannedTenant: PlannedTenant;
  readonly blockers: readonly PlanBlocker[];
  /** All changes. The summary has only the first few. */
  readonly changes: readonly TenantChange[];
  /** Generated files to keep with the rollout, by their path relative to the working directory. */
  readonly generatedFiles?: ReadonlyMap<string, string>;
}

export type TenantPlanner = typeof planTarget;

/**
 * Plans one tenant: reads its settings, the state of its stack, and its lists. Writes nothing, but removes files of a
 * killed process that prevent reading the state.
 *
 * @param runInSlot runs the Pulumi CLI when a slot is free.
 * @throws any error that prevents the plan, caused by this tenant or its address.
 */
export async function planTarget(
  target: Target,
  key: string,
  context: PlanningContext,
  requestPolicy: RequestPolicy,
  runInSlot: RunInSlot,
): Promise<TargetPlan> {
  const comparison = await preparePlan(target, key, context, requestPolicy, runInSlot);
  const { stack, desired, observed } = comparison;
  const identification = buildTenantIdentification(target, desired, observed, comparison.plan);
  const { entries, vips } = stack.known;
  const hasStack = entries.exists === true || vips.exists === true;
  const tenant = { target, hasStack, desired, observed, identity: identification.identity };
  if (!hasStack) context.onStack?.(target, "new");
  // A declared entry that the tenant lacks shows up as a change, unless the files no longer declare it.
  else if (comparison.plan.changes.length > 0) context.onStack?.(target, getPartialMatchCount(tenant, stack.known));
  const isRolledOut = hasStack && comparison.before !== undefined;
  const former = isRolledOut ? undefined : await findFormerStackOfTenant(tenant, context, runInSlot);
  const blocker = former && buildRenamedTenantBlocker(tenant, former, await createStackCommands(context));
  const plan =
    blocker === undefined ? comparison.plan : { ...comparison.plan, blockers: [...comparison.plan.blockers, blocker] };
  const isUpToDate =
    !isMarkerWrong(target, stack.marker, identification.identity, context) &&
    isStackUpToDate(stack.state, desired, plan, stack.provider);
  return buildTargetPlan(target, plan, stack, isUpToDate, context, identification);
}

/** Whether the user accepts that the stack's marker identifies another tenant. The run then replaces the marker. */
function isMarkerWrong(
  { name }: Target,
  marker: StackMarker | undefined,
  identity: TenantIdentity,
  { acceptanceEnvironment }: PlanningContext,
): boolean {
  if (marker?.identity === undefined || !isEmptyTenantAccepted(acceptanceEnvironment, name)) return false;
  return !matchesEarlierIdentity(identity, marker.identity);
}

/** Finds the stack that the tenant had under another name. Undefined if there is none. */
async function findFormerStackOfTenant(
  tenant: NewTenant,
  { readOrphanedStacks }: PlanningContext,
  runInSlot: RunInSlot,
): Promise<FormerStack | undefined> {
  if (readOrphanedStacks === undefined) return undefined;
  return findFormerStack(tenant, await runInSlot(readOrphanedStacks));
}

export function buildTenantIdentification(
  { baseUrl }: Target,
  desired: DesiredState,
  observed: ObservedState,
  { changes }: Pick<Plan, "changes">,
): Pick<TenantSummary, "fingerprint" | "stableIdentity"> & { readonly identity: TenantIdentity } {
  return {
    ...omitUndefined({
      fingerprint: computeTenantFingerprint(desired, observed),
      stableIdentity: buildStableIdentity(baseUrl, observed, changes),
    }),
    identity: getObservedIdentity(baseUrl, observed),
  };
}

/**
 * Reads the basis of every plan: a tenant's settings, the state of its stack, its lists, and the differences between them. Throws the same
 * errors as {@link planTarget}.
 */
export async function preparePlan(
  target: Target,
  key: string,
  context: PlanningContext,
  requestPolicy: RequestPolicy,
  runInSlot: RunInSlot,
) {
  const { settings, findings } = readTargetSettings(target, context);
  const stack = await runInSlot(async () => await readTargetStack(target, context));
  const desired = buildDesiredState(settings, stack.known, findings);
  const { observed, host } = await readTenantLists(target, key, context.requestContext, requestPolicy);
  const comparison = buildTenantPlan(target, settings, desired, observed, host, context);
  const recordedByStack = await context.readIdentityRecords?.();
  const before = selectIdentityRecord(target, recordedByStack?.get(target.stack), stack.marker);
  const blocker = await findReplacedTenantBlocker(target, observed, stack.known, before, context.acceptanceEnvironment);
  if (blocker !== undefined && before !== undefined) {
    const identity = getObservedIdentity(target.baseUrl, observed);
    context.onReplacedTenant?.(target, { reason: formatDifferentTenantReason(before.rollout), identity });
  }
  const blockers = [blocker, await context.checkMovedStack?.(target, stack.marker)].filter(
    (candidate) => candidate !== undefined,
  );
  const plan = blockers.length === 0 ? comparison : { ...comparison, blockers: [...comparison.blockers, ...blockers] };
  return { settings, stack, desired, observed, host, plan, before };
}

/**
 * Reads a tenant's settings files, and collects them for the rollout.
 *
 * @throws {SettingsFileError} with every mistake in them.
 */
export function readTargetSettings(
  target: Target,
  { today, cache, settingsRoot, files }: PlanningContext,
): { readonly settings: Settings; readonly findings: readonly Finding[] } {
  const file = settingsRoot === undefined ? target.settings : join(settingsRoot, target.settings);
  files.add(file);
  const { settings, findings, files: readFiles } = lintSettings(file, { today, cache, ownDomains: [] });
  for (const path of readFiles) files.add(path);
  if (settings === undefined) throw new SettingsFileError(file, findings);
  return { settings, findings };
}

/**
 * Builds the result of planning one tenant. If the key seems to belong to another tenant, the result contains nothing else about it.
 *
 * @param isDone whether nothing is left to do for the tenant.
 */
export function buildTargetPlan(
  target: Target,
  fullPlan: Plan,
  { resource, exists, isPending, marker, provider }: Awaited<ReturnType<typeof readTargetStack>>,
  isDone: boolean,
  context: PlanningContext,
  summaryFields: Pick<
    TenantSummary,
    "importSettings" | "unreverted" | "fingerprint" | "identity" | "stableIdentity" | "only" | "drift"
  > = {},
): TargetPlan {
  const plan = redactOtherTenantPlan(fullPlan);
  const summary: TenantSummary = {
    ...buildTenantSummary(plan, context.settingsRoot),
    resource,
    isStackThere: exists,
    isStackPending: isPending,
    ...omitUndefined({ marker }),
    ...(provider === "dynamic" ? {} : { provider }),
    ...(isEmptyTenantAccepted(context.acceptanceEnvironment, target.name) ? { acceptsEmptyTenant: true } : {}),
    ...(isOtherTenantPlan(plan) ? {} : summaryFields),
  };
  return {
    plannedTenant: {
      name: target.name,
      state: isDone ? "unchanged" : "pending",
      digest: plan.digest,
      summary,
      ...(isDone ? {} : { plan: formatPlanJson({ ...plan, unmanaged: [], findings: [] }) }),
    },
    blockers: plan.blockers,
    changes: plan.changes.map(buildTenantChange),
  };
}

export function buildFailedPlan({ name }: Target, error: unknown, secrets: readonly string[] = []): PlannedTenant {
  return { name, state: "failed", digest: "", error: buildTenantError(error, "plan", secrets) };
}

/**
 * Reads the state of a tenant's stack.
 *
 * @throws {RolloutError} (`ERR_STACK_FOREIGN`) if a run would delete resources that the settings file doesn't create; (`ERR_PULUMI`) if the
 * state is damaged.
 */
export async function readTargetStack(
  target: Target,
  { project, directory, environment }: Pick<PlanningContext, "project" | "directory" | "environment">,
) {
  const files = { backend: environment["PULUMI_BACKEND_URL"], project, stack: target.stack };
  removeTruncatedAttributes(files);
  await ensurePulumiReady(environment);
  const exported =
    readStateFile(files) ??
    (await exportStack(target.stack, { directory, baseEnvironment: environment }).catch((error: unknown) => {
      const tornStateMessage = describeTruncatedState(files);
      throw tornStateMessage === undefined ? error : new RolloutError("ERR_PULUMI", tornStateMessage, { cause: error });
    }));
  const state = exported ?? {};
  const resource = target.resource ?? findOnlyTenantSettings(state) ?? target.name;
  const foreignUrns = findUndeclaredResources(state, resource);
  if (foreignUrns.length > 0) {
    const visibleUrns = foreignUrns.slice(0, 5).map((urn) => `  ${quote(urn, 300)}`);
    const suffixLines = foreignUrns.length > 5 ? [`  … and ${foreignUrns.length - 5} more`] : [];
    throw new RolloutError(
      "ERR_STACK_FOREIGN",
      [
        `The stack ${quote(target.stack)} contains resources that don't come from the settings file of ${quote(target.name)}; a rollout would delete them. Nothing was changed.`,
        ...visibleUrns,
        ...suffixLines,
      ].join("\n"),
    );
  }
  return {
    state,
    resource,
    exists: exported !== undefined,
    isPending: hasPendingOperations(state),
    ...omitUndefined({ marker: readStackMarker(state) }),
    provider: target.provider ?? getStackProvider(state) ?? "dynamic",
    known: parseStackLists(state, target.stack, resource),
  };
}

/** One check per environment, because all tenants of a planning share it. */
const READY_CHECKS = new WeakMap<NodeJS.ProcessEnv, Promise<unknown>>();

/** Fails before any change if the CLI can't run, even if reading the states doesn't need it. */
async function ensurePulumiReady(environment: NodeJS.ProcessEnv): Promise<void> {
  const readyCheck = READY_CHECKS.get(environment) ?? requirePulumi();
  READY_CHECKS.set(environment, readyCheck);
  await readyCheck;
}

export async function readTenantLists(
  target: Target,
  apiKey: string,
  requestContext: RequestContext,
  requestPolicy?: RequestPolicy,
): Promise<{ readonly observed: ObservedState; readonly host: string }> {
  const readLists = async (client: SettingsClient) => ({
    observed: await readObservedState(client, undefined, requestPolicy?.onAnswer),
    host: getHost(client),
  });
  return await useTargetClient(target, apiKey, requestContext, readLists, requestPolicy);
}

export function buildTenantPlan(
  target: Target,
  settings: Settings,
  desired: DesiredState,
  observed: ObservedState,
  host: string,
  { acceptanceEnvironment }: Pick<PlanningContext, "acceptanceEnvironment">,
  fingerprints: readonly string[] = [],
  mailEvidence: MailEvidence = buildEmptyEvidence(observed.readAt, "The tenant's mail was not checked."),
): Plan {
  const { name, stack, resource } = target;
  return makePlan({
    desired,
    observed,
    tenant: { host, name },
    source: { kind: "files", files: settings.files, ...omitUndefined({ stack, resource }) },
    mail: mailEvidence,
    fingerprints,
    acceptance: { environment: acceptanceEnvironment, name },
  });
}

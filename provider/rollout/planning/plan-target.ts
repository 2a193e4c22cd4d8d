import { join } from "node:path";
import type { SettingsClient } from "../../client";
import { type Finding, SettingsFileError } from "../../files/finding";
import { lintSettings } from "../../files/lint";
import type { ReadCache } from "../../files/read-settings";
import type { Settings } from "../../files/settings";
import { hostOf } from "../../gitops/plan-tenant";
import { type Desired, desiredOf } from "../../plan/desired";
import { withoutEvidence } from "../../plan/mail-evidence";
import { type MailEvidence, makePlan } from "../../plan/make-plan";
import { identityOfObserved, type Observed, observe } from "../../plan/observed";
import type { Guard, Plan } from "../../plan/plan";
import { readyPulumi } from "../../plan/pulumi";
import { planJson } from "../../plan/render/json";
import { seenFingerprint } from "../../plan/same-tenant";
import { foreignResources, frontOf, hasPendingOperations, onlySettings, stackHolds } from "../../plan/stack-holds";
import { exportStack, knownLists } from "../../plan/stack-state";
import { isOfAnother, withheld } from "../../plan/withheld";
import { isStillTenant, type TenantIdentity } from "../../settings/tenant-identity";
import { acceptsEmptyTenant } from "../../settings/tenant-people";
import { quote } from "../../settings/text";
import { withoutUndefined } from "../../settings/without-undefined";
import { readLastingIdentity } from "../journal/lasting-identity";
import type { PlannedTenant, TenantSummary } from "../journal/rollout-record";
import { RolloutError } from "../model/errors";
import type { TenantChange } from "../model/rollout-report";
import { readStackMarker, type StackMarker } from "../model/stack-marker";
import type { Target } from "../model/target";
import type { Asking } from "../probing/address-health";
import type { AtPlace } from "../probing/plan-each";
import { type Reach, withTargetClient } from "../probing/target-client";
import { stackCommands } from "../stack/stack-command";
import { readStateFile } from "../stack/state-file";
import { removeTornAttributes, tornState } from "../stack/torn-files";
import { replacedReason } from "../targets/replaced-reason";
import { type RememberedTenants, rememberedByMarker } from "../targets/same-tenant";
import {
  type FormerStack,
  findFormerStack,
  heldOfStack,
  type NewTenant,
  type OrphanedStack,
  renamedTenantGuard,
} from "./renamed-tenant";
import { type ReplacedTenant, replacedTenantGuard } from "./replaced-tenant";
import { tenantError } from "./tenant-error";
import { summaryOf, toldChange } from "./tenant-summary";

/** The context that the planning of all tenants shares. */
export interface PlanningContext {
  /** The day (UTC) for which `expires` is evaluated. */
  readonly today: string;
  /** The Pulumi project, and its directory. */
  readonly project: string;
  readonly folder: string;
  /** The directory that settings files are relative to. Default: the working directory. */
  readonly root?: string;
  /** The environment of the Pulumi CLI, without any key. */
  readonly environment: NodeJS.ProcessEnv;
  /** Avoids reading a settings file again for each tenant that includes it. */
  readonly cache: ReadCache;
  readonly reach: Reach;
  /** Whether the engine runs even if there is nothing to do. */
  readonly alwaysRunEngine: boolean;
  /** The environment that says which tenants of this run may be empty, or may have people with other domains. */
  readonly accepting: NodeJS.ProcessEnv;
  /** Reads the stacks that may belong to renamed tenants, once, when a tenant has a new stack. Default: there are none. */
  readonly orphans?: () => Promise<readonly OrphanedStack[]>;
  /** What rollouts read of tenants. Default: nothing. */
  readonly remembered?: () => Promise<RememberedTenants>;
  /** Told of each tenant whose stack was another one's before, as it seems. */
  readonly onReplaced?: (target: Target, replaced: ReplacedTenant) => void;
  /**
   * Receives each tenant's stack: `"new"`, or how many of the stack's declared entries and VIPs the tenant holds. Undefined if the tenant
   * holds all of them.
   */
  readonly onStack?: (target: Target, matchCount: "new" | number | undefined) => void;
  /** Collects the settings files that are read, to keep them with the rollout. */
  readonly files: Set<string>;
}

/** The result of planning one tenant, and the guards that block the rollout. */
export interface TargetPlan {
  readonly planned: PlannedTenant;
  readonly guards: readonly Guard[];
  /** All changes. The summary has only the first few. */
  readonly changes: readonly TenantChange[];
  /** Generated files to keep with the rollout, by their path relative to the working directory. */
  readonly made?: ReadonlyMap<string, string>;
}

/** Plans one tenant, like {@link planTarget}. */
export type PlanTenant = typeof planTarget;

/**
 * Plans one tenant: reads its settings, the state of its stack, and its lists. Writes nothing, but removes the remains of a killed process
 * that prevent reading the state.
 *
 * @param runInSlot runs the Pulumi CLI when a place is free.
 * @throws any error that prevents the plan, caused by this tenant or its address.
 */
export async function planTarget(
  target: Target,
  key: string,
  context: PlanningContext,
  requestPolicy: Asking,
  runInSlot: AtPlace,
): Promise<TargetPlan> {
  const comparison = await comparedTarget(target, key, context, requestPolicy, runInSlot);
  const { stack, desired, observed } = comparison;
  const identification = seenIn(target, desired, observed, comparison.plan);
  const tenant = { target, desired, observed, identity: identification.identity };
  const { entries, vips } = stack.known;
  const isNew = !(entries.isThere || vips.isThere);
  if (isNew) context.onStack?.(target, "new");
  // A declared entry that the tenant lacks shows up as a change, unless the files no longer declare it.
  else if (comparison.plan.changes.length > 0) context.onStack?.(target, heldOfStack(tenant, stack.known));
  const former = isNew ? await formerStack(tenant, context, runInSlot) : undefined;
  const guard = former && renamedTenantGuard(target, former, await stackCommands(context));
  const plan =
    guard === undefined ? comparison.plan : { ...comparison.plan, guards: [...comparison.plan.guards, guard] };
  const runsEngine = context.alwaysRunEngine || isMarkerWrong(target, stack.marker, identification.identity, context);
  const isUpToDate = !runsEngine && stackHolds(stack.state, desired, plan, stack.front);
  return targetPlan(target, plan, stack, isUpToDate, context, identification);
}

/** Whether a person says that what the stack's state remembers of the tenant is wrong: then it is to be replaced. */
function isMarkerWrong(
  { name }: Target,
  marker: StackMarker | undefined,
  identity: TenantIdentity,
  { accepting }: PlanningContext,
): boolean {
  if (marker?.identity === undefined || !acceptsEmptyTenant(accepting, name)) return false;
  return !isStillTenant(identity, marker.identity);
}

/** The stack that the tenant had under another name; undefined where none is found. */
async function formerStack(
  tenant: NewTenant,
  { orphans }: PlanningContext,
  runInSlot: AtPlace,
): Promise<FormerStack | undefined> {
  if (orphans === undefined) return undefined;
  return findFormerStack(tenant, await runInSlot(orphans));
}

/** Returns the part of the summary by which later runs recognize the tenant. */
export function seenIn(
  { baseUrl }: Target,
  desired: Desired,
  observed: Observed,
  { changes }: Pick<Plan, "changes">,
): Pick<TenantSummary, "fingerprint" | "lasting"> & { readonly identity: TenantIdentity } {
  return {
    ...withoutUndefined({
      fingerprint: seenFingerprint(desired, observed),
      lasting: readLastingIdentity(baseUrl, observed, changes),
    }),
    identity: identityOfObserved(baseUrl, observed),
  };
}

/**
 * Reads the basis of every plan: a tenant's settings, the state of its stack, its lists, and the differences between them. Throws the same
 * errors as {@link planTarget}.
 */
export async function comparedTarget(
  target: Target,
  key: string,
  context: PlanningContext,
  requestPolicy: Asking,
  runInSlot: AtPlace,
) {
  const { settings, findings } = settingsOf(target, context);
  const stack = await runInSlot(async () => await stackOf(target, context));
  const desired = desiredOf(settings, stack.known, findings);
  const { observed, host } = await readTenant(target, key, context.reach, requestPolicy);
  const comparison = planOf(target, settings, desired, observed, host, context);
  const before = (await context.remembered?.())?.get(target.stack) ?? rememberedByMarker(target, stack.marker);
  const guard = await replacedTenantGuard(target, observed, stack.known, before, context.accepting);
  if (guard !== undefined && before !== undefined) {
    const identity = identityOfObserved(target.baseUrl, observed);
    context.onReplaced?.(target, { reason: replacedReason(before.rollout), identity });
  }
  const plan = guard === undefined ? comparison : { ...comparison, guards: [...comparison.guards, guard] };
  return { settings, stack, desired, observed, host, plan };
}

/**
 * Reads a tenant's settings files, and collects them for the rollout.
 *
 * @throws {SettingsFileError} with every mistake in them.
 */
export function settingsOf(
  target: Target,
  { today, cache, root, files }: PlanningContext,
): { readonly settings: Settings; readonly findings: readonly Finding[] } {
  const file = root === undefined ? target.settings : join(root, target.settings);
  files.add(file);
  const { settings, findings, files: readFiles } = lintSettings(file, { today, cache, ownDomains: [] });
  for (const path of readFiles) files.add(path);
  if (settings === undefined) throw new SettingsFileError(file, findings);
  return { settings, findings };
}

/**
 * Builds the result of planning one tenant. If the key seems to open another tenant, the result contains nothing else about it.
 *
 * @param isDone whether nothing is left to do for the tenant.
 * @param summaryFields additional fields of the summary.
 */
export function targetPlan(
  target: Target,
  fullPlan: Plan,
  { resource, isThere, isPending, marker, front }: Awaited<ReturnType<typeof stackOf>>,
  isDone: boolean,
  context: PlanningContext,
  summaryFields: Pick<TenantSummary, "first" | "left" | "fingerprint" | "identity" | "lasting" | "only" | "drift"> = {},
): TargetPlan {
  const plan = withheld(fullPlan);
  const summary: TenantSummary = {
    ...summaryOf(plan, context.root),
    resource,
    isStackThere: isThere,
    isStackPending: isPending,
    ...withoutUndefined({ marker }),
    ...(front === "dynamic" ? {} : { front }),
    ...(acceptsEmptyTenant(context.accepting, target.name) ? { acceptsEmptyTenant: true } : {}),
    ...(isOfAnother(plan) ? {} : summaryFields),
  };
  return {
    planned: {
      name: target.name,
      state: isDone ? "unchanged" : "pending",
      digest: plan.digest,
      summary,
      ...(isDone ? {} : { plan: planJson({ ...plan, unmanaged: [], findings: [] }) }),
    },
    guards: plan.guards,
    changes: plan.changes.map(toldChange),
  };
}

/** Builds the result for a tenant that can't be planned. */
export function failedPlan({ name }: Target, error: unknown, secrets: readonly string[] = []): PlannedTenant {
  return { name, state: "failed", digest: "", error: tenantError(error, "plan", secrets) };
}

/**
 * Reads the state of a tenant's stack.
 *
 * @throws {RolloutError} (`ERR_STACK_FOREIGN`) if a run would delete resources that the settings file doesn't create; (`ERR_PULUMI`) if the
 * state is damaged.
 */
export async function stackOf(
  target: Target,
  { project, folder, environment }: Pick<PlanningContext, "project" | "folder" | "environment">,
) {
  const files = { backend: environment["PULUMI_BACKEND_URL"], project, stack: target.stack };
  removeTornAttributes(files);
  await ensurePulumiReady(environment);
  const exported =
    readStateFile(files) ??
    (await exportStack(target.stack, { folder, base: environment }).catch((error: unknown) => {
      const tornStateMessage = tornState(files);
      throw tornStateMessage === undefined ? error : new RolloutError("ERR_PULUMI", tornStateMessage, { cause: error });
    }));
  const state = exported ?? {};
  const resource = target.resource ?? onlySettings(state) ?? target.name;
  const foreignUrns = foreignResources(state, resource);
  if (foreignUrns.length > 0) {
    const visibleUrns = foreignUrns.slice(0, 5).map((urn) => `  ${quote(urn, 300)}`);
    const suffixLines = foreignUrns.length > 5 ? [`  … and ${foreignUrns.length - 5} more`] : [];
    throw new RolloutError(
      "ERR_STACK_FOREIGN",
      [
        `The stack ${quote(target.stack)} holds what the settings file of ${quote(target.name)} does not make; a rollout would delete it. Nothing was changed.`,
        ...visibleUrns,
        ...suffixLines,
      ].join("\n"),
    );
  }
  return {
    state,
    resource,
    isThere: exported !== undefined,
    isPending: hasPendingOperations(state),
    ...withoutUndefined({ marker: readStackMarker(state) }),
    front: target.front ?? frontOf(state) ?? "dynamic",
    known: knownLists(state, target.stack, resource),
  };
}

/** One check for each environment, because all tenants of a planning share it. */
const READY_CHECKS = new WeakMap<NodeJS.ProcessEnv, Promise<unknown>>();

/** Fails before any change if the CLI can't run, even if reading the states doesn't need it. */
async function ensurePulumiReady(environment: NodeJS.ProcessEnv): Promise<void> {
  const readyCheck = READY_CHECKS.get(environment) ?? readyPulumi();
  READY_CHECKS.set(environment, readyCheck);
  await readyCheck;
}

export async function readTenant(
  target: Target,
  apiKey: string,
  requestContext: Reach,
  requestPolicy?: Asking,
): Promise<{ readonly observed: Observed; readonly host: string }> {
  const readLists = async (client: SettingsClient) => ({
    observed: await observe(client, undefined, requestPolicy?.answered),
    host: hostOf(client),
  });
  return await withTargetClient(target, apiKey, requestContext, readLists, requestPolicy);
}

export function planOf(
  target: Target,
  settings: Settings,
  desired: Desired,
  observed: Observed,
  host: string,
  { accepting }: Pick<PlanningContext, "accepting">,
  fingerprints: readonly string[] = [],
  mailEvidence: MailEvidence = withoutEvidence(observed.at, "The tenant's mail was not looked at."),
): Plan {
  const { name, stack, resource } = target;
  return makePlan({
    desired,
    observed,
    tenant: { host, name },
    source: { kind: "files", files: settings.files, ...withoutUndefined({ stack, resource }) },
    mail: mailEvidence,
    fingerprints,
    accepting: { environment: accepting, name },
  });
}

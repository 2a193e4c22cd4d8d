import type { RawArguments } from "../model/arguments";
import { encodeEntry } from "../model/encoded-list";
import { createPruneFilter } from "../model/list-protection";
import { TENANT_SETTINGS_TYPE } from "../model/tenant-settings-type";
import { allowDenyListLifecycle } from "../resources/lifecycle/allow-deny-list";
import type { Lifecycle } from "../resources/lifecycle/lifecycle";
import { vipListLifecycle } from "../resources/lifecycle/vip-list";
import {
  getResourceType,
  getUrnName,
  getUrnTypes,
  PROVIDER_KINDS,
  type ProviderKind,
} from "../resources/resource-type";
import { type DesiredList, type DesiredState, getListKind } from "./desired-state";
import type { Plan } from "./plan";

interface StackResource {
  readonly urn: string;
  readonly type: string;
  readonly delete?: boolean;
  readonly initErrors?: readonly string[];
  readonly inputs?: Record<string, unknown>;
  readonly outputs?: Record<string, unknown>;
}

interface ExportedStack {
  readonly deployment?: {
    readonly resources?: readonly StackResource[] | null;
    readonly pending_operations?: readonly unknown[] | null;
  } | null;
}

const LIST_TYPES = { entry: "AllowDenyList", vip: "VipList" } as const;

/** The types of resources that Pulumi adds to a stack: the stack itself and its providers. */
const BUILTIN_TYPES = /^(pulumi:pulumi:Stack|pulumi:providers:(pulumi-nodejs|email-security))$/;

/**
 * Returns whether a run of the engine would change neither the tenant nor the state, and would not fail: the plan is empty, the tenant
 * doesn't contradict a declaration, and check and diff of the lists find no change to the state.
 *
 * @param provider the provider of the run; a stack of the other provider needs a migration.
 */
export function isStackUpToDate(state: unknown, desired: DesiredState, plan: Plan, provider: ProviderKind): boolean {
  if (plan.changes.length > 0 || plan.blockers.length > 0) return false;
  // The tenant allows what the stack denies. The refresh of the run would find it and fail the run.
  if (plan.findings.some(({ code, level }) => code === "contradicted" && level === "warning")) return false;
  return (
    isDesiredStateApplied(state, desired, plan.tenant.host, provider) &&
    !desired.lists.some((list) => wouldPruneMore(list, plan))
  );
}

/** Returns whether the last run of the stack applied the desired state and finished. If so, any difference at the tenant is drift. */
export function isDesiredStateApplied(
  state: unknown,
  { lists }: DesiredState,
  host: string,
  provider: ProviderKind,
): boolean {
  const resources = (state as ExportedStack).deployment?.resources ?? [];
  if (hasPendingOperations(state)) return false;
  if (resources.some((resource) => resource.delete === true || (resource.initErrors ?? []).length > 0)) return false;
  return lists.every((list) =>
    resources.some(
      (resource) =>
        resource.type === getResourceType(provider, LIST_TYPES[list.kind]) &&
        isResourceAsDeclared(resource, list, host),
    ),
  );
}

export function hasPendingOperations(state: unknown): boolean {
  return ((state as ExportedStack).deployment?.pending_operations ?? []).length > 0;
}

/**
 * Returns the URNs of resources that the settings files don't declare, and that a run of these files alone would delete.
 */
export function findUndeclaredResources(state: unknown, resource: string): readonly string[] {
  const resources = (state as ExportedStack).deployment?.resources ?? [];
  const isOwnResource = ({ type, urn }: StackResource): boolean =>
    BUILTIN_TYPES.test(type) ||
    ((type === TENANT_SETTINGS_TYPE ||
      (getUrnTypes(urn).at(-2) === TENANT_SETTINGS_TYPE && getListProvider(type) !== undefined)) &&
      getUrnName(urn) === resource);
  return resources.filter((stackResource) => !isOwnResource(stackResource)).map(({ urn }) => urn);
}

export function getStackProvider(state: unknown): ProviderKind | undefined {
  const resources = (state as ExportedStack).deployment?.resources ?? [];
  return resources.map(({ type }) => getListProvider(type)).find((provider) => provider !== undefined);
}

function getListProvider(type: string): ProviderKind | undefined {
  return PROVIDER_KINDS.find((provider) =>
    Object.values(LIST_TYPES).some((kind) => type === getResourceType(provider, kind)),
  );
}

/** Returns the name of the only `TenantSettings` in a stack; undefined if there are none or several. */
export function findOnlyTenantSettings(state: unknown): string | undefined {
  const resources = (state as ExportedStack).deployment?.resources ?? [];
  const [first, ...others] = resources.filter(({ type }) => type === TENANT_SETTINGS_TYPE);
  return first === undefined || others.length > 0 ? undefined : getUrnName(first.urn);
}

/** Returns whether a refresh of a pruning list would show, and so remove, further entries. */
function wouldPruneMore(list: DesiredList, { unmanaged }: Plan): boolean {
  const isPruned = createPruneFilter(getListKind(list), list.options);
  return unmanaged.some(
    ({ kind, key, before }) => kind === list.kind && isPruned(key, encodeEntry({ list: before.list ?? "" })),
  );
}

function isResourceAsDeclared({ inputs, outputs }: StackResource, list: DesiredList, host: string): boolean {
  if (inputs === undefined || outputs === undefined) return false;
  const lifecycle = (list.kind === "entry" ? allowDenyListLifecycle : vipListLifecycle) as unknown as Lifecycle<
    RawArguments,
    RawArguments
  >;
  const { __provider: _serializedProvider, ...previous } = inputs;
  const { __provider: _previousProvider, tenant, people: _people, ...before } = outputs;
  const declared = { ...list.options, [getListKind(list).property]: list.declared };
  const { inputs: checkedInputs, failures } = lifecycle.check(declared, previous);
  if (tenant !== host || failures.length > 0) return false;
  return lifecycle.diff(before, lifecycle.complete(checkedInputs)).length === 0;
}

import { isEmptyTenantAccepted } from "../../model/mail-domains";
import { omitUndefined } from "../../model/omit-undefined";
import { isEmptyIdentity, type TenantIdentity } from "../../model/tenant-identity";
import { getObservedIdentity, type ObservedState } from "../../plan/observed-state";
import type { Journal } from "../journal/journal";
import type { ClaimedJob, TenantSummary } from "../journal/rollout-record";
import { readIdentityRecords } from "../journal/tenant-identity-records";
import { listStackNames, readMarkerFile } from "../stack/state-file";
import {
  addMarkerRecords,
  findTenantConflicts,
  SameTenantError,
  validateTenantIdentities,
} from "../targets/tenant-conflicts";
import { checkTenantIdentity, createIdentityComparator } from "../targets/tenant-replacement";

/*
 * When a rollout is resumed, a key may belong to a different tenant than at planning time. The writing process already compares the
 * state that it reads with the planned one. Only if they differ does this module look up which tenant it is.
 */

/** Whether the tenant had no identifying content at planning time, so that it couldn't be compared with others. */
export function wasEmptyWhenPlanned({ identity }: TenantSummary): boolean {
  return identity !== undefined && isEmptyIdentity(identity);
}

/**
 * Asserts that what was read isn't what rollouts read of another tenant, nor a tenant that no rollout read. The plan of an earlier release
 * doesn't say whose tenant it is, so that the tenant is also compared with earlier rollouts.
 *
 * @param environment may say that what rollouts remember of the tenant is wrong.
 * @param stateEnvironment of the Pulumi CLI, with the state backend.
 * @throws {SameTenantError} (`ERR_OTHER_TENANT`)
 * @throws {OtherTenantError}
 */
export async function assertNoOtherTenant(
  { job, target, spec: { project, backend }, summary, attempt }: ClaimedJob,
  observed: ObservedState,
  journal: Journal,
  environment: NodeJS.ProcessEnv,
  stateEnvironment: NodeJS.ProcessEnv,
): Promise<void> {
  const identity = getObservedIdentity(target.baseUrl, observed);
  if (isEmptyIdentity(identity)) return;
  const scope = { project, ...omitUndefined({ backend }) };
  const stackFiles = { backend: stateEnvironment["PULUMI_BACKEND_URL"], project };
  const otherStacks = listStackNames(stackFiles).filter((stack) => stack !== target.stack);
  const readRecords = addMarkerRecords(
    async () => await readIdentityRecords(journal.database, scope, [], "all"),
    [target, ...otherStacks.map((stack) => ({ stack }))],
    ({ stack }) => readMarkerFile({ ...stackFiles, stack }) ?? (stack === target.stack ? summary.marker : undefined),
  );
  const records = await readRecords("all");
  const isIdentified = summary.identity !== undefined;
  // Without an identity, the tenant may be new, and one of the past with a new name.
  const tenants = isIdentified ? [] : await journal.listTenants(job.rollout);
  const stacks = new Set(tenants.map((tenant) => tenant.target.stack));
  const currentRecords = isIdentified ? records : new Map([...records].filter(([stack]) => stacks.has(stack)));
  const duplicates = await validateTenantIdentities(
    new Map([[target, identity]]),
    async (names) => (names === "declared" ? currentRecords : records),
    (name) => isEmptyTenantAccepted(environment, name),
  );
  if (duplicates.length > 0) throw new SameTenantError(duplicates, "Nothing was written to it.");
  // An attempt that was interrupted may have replaced what identified the tenant.
  if (isIdentified || attempt > 1) return;
  const compare = createIdentityComparator(target.baseUrl, observed);
  const error = await checkTenantIdentity(target, records.get(target.stack), environment, compare);
  if (error !== undefined) throw error;
}

/**
 * Asserts that two keys don't belong to the same tenant. Planning can't detect this for an empty tenant.
 *
 * @throws {SameTenantError} (`ERR_SAME_TENANT`)
 */
export async function assertNoDuplicateTenant(
  claimed: ClaimedJob,
  identity: TenantIdentity,
  journal: Journal,
): Promise<void> {
  const { target } = claimed;
  const otherIdentities = await journal.findSimilarIdentities(claimed, identity);
  const duplicates = findTenantConflicts(new Map([[target, identity], ...otherIdentities]));
  const ownDuplicates = duplicates.filter(({ targets }) => targets.includes(target));
  if (ownDuplicates.length > 0)
    throw new SameTenantError(
      ownDuplicates,
      "The tenant was empty when it was planned, and this rollout has written to it.",
    );
}

import { join, posix } from "node:path";
import { omitUndefined } from "../../model/omit-undefined";
import { isEmptyIdentity } from "../../model/tenant-identity";
import { formatFirstItems, quote } from "../../model/text";
import type { Plan, PlanBlocker } from "../../plan/plan";
import { parsePlan } from "../../plan/render/plan-json";
import type { Journal } from "../journal/journal";
import { readRollbackProgress } from "../journal/rollback-progress";
import type { PackedFiles, RolloutRecord, SkippedTenant, TenantRecord } from "../journal/rollout-record";
import { getStableIdentity, mayEmptyTenant } from "../journal/stable-identity";
import { getStackRollbackStatus } from "../journal/stack-rollback-status";
import type { RolloutCommands } from "../model/rollout-commands";
import { RolloutError } from "../model/rollout-error";
import type { StackMarker } from "../model/stack-marker";
import type { Target } from "../model/target";
import type { Wave } from "../model/wave";
import { planTarget, type TenantPlanner } from "../planning/plan-target";
import { formatExcludedTenants, ROLLBACK_COMPARISON_OPTIONS } from "../report/remaining-rollback-advice";
import { excludeSkipped } from "../skipping/exclude-skipped";
import { assertSameProject } from "../targets/assert-same-project";
import { compareTargets } from "../targets/compare-targets";
import { readTargets } from "../targets/read-targets";
import type { TargetSelection } from "../targets/select-targets";
import { planTenantRollback } from "./plan-tenant-rollback";
import { formatCurrentName, selectRollbackTargets } from "./select-rollback-targets";

/** The settings files of another point in time, and their name: `the files of the revision HEAD~1`. */
export interface RevisionFiles {
  readonly files: PackedFiles;
  readonly name: string;
}

export interface Rollback {
  readonly targets: readonly Target[];
  readonly waves: readonly Wave[];
  readonly restoredState: string;
  readonly planTenant: TenantPlanner;
  /** The settings files of another point in time, for the tenants that are planned by them. */
  readonly files: PackedFiles | undefined;
  readonly declared: readonly Target[];
  /** The changes in the targets file that affect tenants of the rollback, one sentence each. */
  readonly notes: readonly string[];
  /** The tenants that keep the changes of the rollout: a person skips them, or the targets file no longer names them. Absent: none. */
  readonly skipped?: readonly SkippedTenant[];
}

/** The directory of the generated settings files, which declare the previous state of each tenant. */
const ROLLBACK_DIRECTORY = ".email-security/rollback";

/**
 * Prepares the rollback of a rollout: restores the previous state of each tenant that the rollout changed or tried to
 * change. Keeps the order of the tenants, the concurrency, and the failure tolerance. By default, drops soak times,
 * health checks, gates and closed hours: the previous state was good enough before, and the present one has to be
 * replaced soon. With files of another point in time, the rollback is a change like any other, and keeps them.
 *
 * Writes only to tenants that the targets file still names, with the same address and stack, and with their present
 * key. Omits the others, and names them.
 *
 * Adds a blocker for each tenant that a rollout of another journal has changed since. It blocks the whole rollback.
 *
 * A skipped tenant keeps the changes of the rollout until it is unskipped.
 *
 * Also omits a tenant whose key now belongs to another tenant of the service. Only the planning finds that out. It adds the
 * tenant to `replaced`, and the caller then plans the rollback again.
 *
 * @param to the files of another point in time. A tenant without a file there returns to its state before the rollout.
 * @param replaced the reasons, by stack, why a tenant isn't the one that the rollout changed. Default: none.
 * @throws {RolloutError} (`ERR_ROLLOUT_NOT_FOUND`) if nothing is left to roll back, or the targets file has another project; (`ERR_ROLLBACK_UNAVAILABLE`) if a
 * tenant's previous state is unknown, for example because another rollout of this journal has changed it since;
 * (`ERR_ROLLOUT_SKIPPED`) if a skipped tenant is selected by name, or all remaining tenants are skipped.
 */
export async function prepareRollback(
  journal: Journal,
  { id, spec }: RolloutRecord,
  to: RevisionFiles | undefined,
  selection: TargetSelection,
  commands: RolloutCommands,
  replaced: Map<string, string> = new Map(),
): Promise<Rollback> {
  const startedTenants = (await journal.listTenants(id)).filter(({ attempt }) => attempt > 0);
  if (startedTenants.length === 0) {
    throw new RolloutError(
      "ERR_ROLLOUT_NOT_FOUND",
      `The rollout ${id} changed no tenant; there is nothing to roll back.`,
    );
  }
  const declared = readTargets(spec.source);
  assertSameProject(id, spec.project, declared, "Otherwise, revert the files, and start a new rollout.");
  const recorded = startedTenants.map(({ target }) => target);
  const comparison = compareTargets(recorded, declared, ROLLBACK_COMPARISON_OPTIONS);
  const excludedStacks = new Map([...replaced, ...comparison.excludedStacks]);
  const { targets: presentTargets, excludedTenants } = selectRollbackTargets(
    id,
    recorded,
    comparison,
    declared,
    excludedStacks,
    selection,
  );
  const context = { commands, source: spec.source };
  const { targets, skipped = [] } = await excludeSkipped(journal.database, spec, presentTargets, selection, context);
  // A tenant may have another name by now.
  const currentTargets = new Map(targets.map((target) => [target.stack, target]));
  const selectedTenants = startedTenants.filter(({ target }) => currentTargets.has(target.stack));
  const keptTenants = [...skipped, ...excludedTenants];
  const hasFile = ({ target }: TenantRecord): boolean =>
    to !== undefined && containsSettings(to.files, target.settings);
  const tenantsWithoutFile = selectedTenants.filter((tenant) => !hasFile(tenant));
  const formatName = ({ name, target }: TenantRecord): string =>
    formatCurrentName(name, currentTargets.get(target.stack)?.name);
  const tenantsToRestore = await findTenantsToRestore(
    journal,
    id,
    tenantsWithoutFile,
    keptTenants,
    commands,
    formatName,
  );
  const [first] = tenantsToRestore;
  if (first !== undefined && spec.prunedAtMs !== undefined) {
    throw new RolloutError(
      "ERR_ROLLBACK_UNAVAILABLE",
      `The rollout ${id} was pruned, and with it the previous state of ${formatName(first)}. Nothing was changed. Specify a git revision to return to (--to REVISION), or leave the tenant out (--only, --label).`,
    );
  }
  const restoredNames = new Set(tenantsToRestore.map(({ target }) => target.stack));
  const remaining = selectedTenants.filter((tenant) => hasFile(tenant) || restoredNames.has(tenant.target.stack));
  const records = new Map(remaining.map((tenant) => [tenant.target.stack, tenant]));
  const currentName = new Map(
    remaining.map(({ name, target }) => [name, currentTargets.get(target.stack)?.name ?? name]),
  );
  return {
    targets: remaining.map(({ target: recorded }) => {
      const target = currentTargets.get(recorded.stack) ?? recorded;
      return restoredNames.has(target.stack)
        ? { ...target, settings: `${ROLLBACK_DIRECTORY}/${target.name}.yaml` }
        : target;
    }),
    waves: spec.waves
      .map(({ unreviewed: _unreviewed, health, closed, ...wave }): Wave => {
        const tenants = wave.tenants.flatMap((name) => currentName.get(name) ?? []);
        if (to === undefined) return { ...wave, tenants, soakMs: 0, gate: false };
        return { ...wave, tenants, ...omitUndefined({ health, closed }) };
      })
      .filter(({ tenants }) => tenants.length > 0),
    restoredState: to?.name ?? "each tenant's previous state",
    planTenant: async (target, key, shared, requestPolicy, runInSlot) => {
      const { name } = target;
      const context: typeof shared = {
        ...shared,
        onReplacedTenant: (tenant, other) => {
          replaced.set(tenant.stack, other.reason);
          shared.onReplacedTenant?.(tenant, other);
        },
      };
      const record = records.get(target.stack);
      if (record === undefined || !restoredNames.has(target.stack)) {
        return await planTarget(target, key, context, requestPolicy, runInSlot);
      }
      const { state, summary } = record;
      const { fingerprint, marker: markerBefore } = summary ?? {};
      const plan = await readStoredPlan(journal, id, record, formatName(record));
      const fingerprints = fingerprint === undefined ? [] : [fingerprint];
      const hadStack = state === "done" || markerBefore !== undefined;
      // If a tenant was changed only in part, the items that the plan removes or replaces may be gone.
      const identity = state === "done" ? summary?.identity : summary && getStableIdentity(summary);
      const tenantsToRestore = {
        rollout: id,
        plan,
        fingerprints,
        hadStack,
        ...omitUndefined({ identity }),
        wasNeverEmpty:
          state !== "done" &&
          summary?.identity !== undefined &&
          !isEmptyIdentity(summary.identity) &&
          !mayEmptyTenant(summary),
      };
      const planned = await planTenantRollback(target, key, tenantsToRestore, context, requestPolicy, runInSlot);
      const marker = planned.plannedTenant.summary?.marker;
      const blocker = await buildChangedElsewhereBlocker(journal, id, {
        name,
        marker,
        previousMarker: markerBefore,
      });
      return blocker === undefined ? planned : { ...planned, blockers: [...planned.blockers, blocker] };
    },
    files: to?.files,
    declared: declared.targets,
    notes: comparison.notes,
    ...(keptTenants.length === 0 ? {} : { skipped: keptTenants }),
  };
}

interface TenantMarkers {
  readonly name: string;
  /** The marker that the stack's state holds now. */
  readonly marker: StackMarker | undefined;
  /** The marker that it held when the rollout was planned. */
  readonly previousMarker: StackMarker | undefined;
}

/** Builds a blocker if a rollout of another journal has changed a tenant since. Undefined otherwise. */
async function buildChangedElsewhereBlocker(
  journal: Journal,
  id: string,
  { name: tenant, marker, previousMarker }: TenantMarkers,
): Promise<PlanBlocker | undefined> {
  if (marker === undefined || marker.rollout === id || marker.isUnchanged === true) return undefined;
  // The rollout failed before it changed the stack.
  if (marker.rollout === previousMarker?.rollout && marker.at === previousMarker.at) return undefined;
  // The caller has already compared the rollouts of this journal.
  if ((await journal.getLastEvent(marker.rollout)) !== undefined) return undefined;
  return {
    code: "changed-since",
    message: `The rollout ${marker.rollout} of another journal has changed ${quote(tenant)} since ${id} (${marker.at}), so the state before ${id} is no longer the one to return to. Specify a git revision (--to REVISION), or leave the tenant out (--except).`,
  };
}

function containsSettings({ bundle, directory }: PackedFiles, settings: string): boolean {
  return bundle.has(posix.normalize(join(directory, settings).replaceAll("\\", "/")));
}

async function readStoredPlan(
  journal: Journal,
  id: string,
  { name }: TenantRecord,
  currentName: string,
): Promise<Plan> {
  const json = await journal.readPlan(id, name);
  if (json !== undefined) return parsePlan(json, `the plan of ${currentName}`);
  throw new RolloutError(
    "ERR_ROLLBACK_UNAVAILABLE",
    `The journal doesn't record what the rollout ${id} did to ${currentName}. Nothing was changed. Specify a git revision to return to (--to REVISION), or leave the tenant out (--except).`,
  );
}

/**
 * Finds the tenants in which the changes of the rollout have not been rolled back yet.
 *
 * @param keptTenants tenants that the rollback omits.
 * @throws {RolloutError} (`ERR_ROLLOUT_NOT_FOUND`) if all of them are rolled back already; (`ERR_ROLLBACK_UNAVAILABLE`) if
 * a later rollout has changed one of them and was not rolled back itself.
 */
async function findTenantsToRestore(
  journal: Journal,
  id: string,
  tenants: readonly TenantRecord[],
  keptTenants: readonly SkippedTenant[],
  commands: RolloutCommands,
  formatName: (tenant: TenantRecord) => string,
): Promise<readonly TenantRecord[]> {
  const laterChanges = Map.groupBy(await journal.listLaterChanges(id), ({ stack }) => stack);
  const rolledBackBy = new Set<string>();
  const tenantsToRestore: TenantRecord[] = [];
  const changedTenants: (readonly [name: string, rollout: string])[] = [];
  for (const tenant of tenants) {
    const { rolledBackBy: rollbackId, laterRollouts } = getStackRollbackStatus(
      id,
      laterChanges.get(tenant.target.stack) ?? [],
    );
    const [latestRollout] = laterRollouts.slice(-1);
    if (rollbackId !== undefined) rolledBackBy.add(rollbackId);
    else if (latestRollout === undefined) tenantsToRestore.push(tenant);
    else changedTenants.push([formatName(tenant), latestRollout]);
  }
  const [first] = changedTenants;
  if (first !== undefined) {
    const names = formatFirstItems(changedTenants, ([name]) => name);
    throw new RolloutError(
      "ERR_ROLLBACK_UNAVAILABLE",
      `The rollout ${first[1]} has changed ${names} since ${id}, so the state before ${id} is no longer the one to return to. Nothing was changed. Leave these tenants out (--except), specify a git revision (--to REVISION), or roll that one back first: \`${commands.rollback(first[1])}\``,
    );
  }
  if (tenantsToRestore.length === 0 && rolledBackBy.size > 0) {
    const { remainingTenants } = await readRollbackProgress(journal, id);
    const remaining = new Set(remainingTenants.map(({ target }) => target.stack));
    const notRolledBack = keptTenants.filter(({ stack = "" }) => remaining.has(stack));
    throw new RolloutError(
      "ERR_ROLLOUT_NOT_FOUND",
      `The rollout ${id} was already rolled back by ${[...rolledBackBy].join(", ")}, ${notRolledBack.length === 0 ? "and nothing is left to roll back" : `but not in ${formatExcludedTenants(notRolledBack)}`}. Nothing was changed.`,
    );
  }
  return tenantsToRestore;
}

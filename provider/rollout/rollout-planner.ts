import { dirname } from "node:path";
import { formatAcceptAdvice } from "../model/mail-domains";
import { omitUndefined } from "../model/omit-undefined";
import { quoteShellWord } from "../model/shell-word";
import { quote } from "../model/text";
import type { Finding } from "../settings-files/finding";
import { shortenBusyTimeoutOnStop } from "./database/busy-timeout";
import { wrapErrorBeforeChanges } from "./execution/journal-failure";
import type { RolloutRecord, RolloutSpec } from "./journal/rollout-record";
import { readIdentityRecords } from "./journal/tenant-identity-records";
import { listSkips } from "./journal/tenant-skips";
import { addUnreviewedTenants } from "./locks/add-unreviewed-tenants";
import { getEngineCapacity } from "./model/capacity";
import { readOrigin } from "./model/origin";
import { RolloutError } from "./model/rollout-error";
import type { RolloutMode } from "./model/rollout-mode";
import type { Target } from "./model/target";
import { getReceivers } from "./notify/receivers";
import {
  getStackConfigFiles,
  type PlannedRollout,
  type PlanRolloutOptions,
  planRollout,
} from "./planning/plan-rollout";
import type { TenantPlanner } from "./planning/plan-target";
import { getReappliedChanges } from "./planning/reapplied-changes";
import { RateLimitBroker } from "./rate-limit/rate-limit-broker";
import { prepareRollback, type RevisionFiles, type Rollback } from "./rollback/rollback";
import { buildRolloutRunningError } from "./rollout-conflicts";
import type { RolloutContext } from "./rollout-context";
import { excludeSkipped, type UnskippedTargets } from "./skipping/exclude-skipped";
import { assertPassphrase, getProjectDirectory, resolveStateBackend } from "./stack/state-backend";
import { readMarkerFile } from "./stack/state-file";
import { getKeyVariables } from "./stack/tenant-environment";
import { findAddressChanges } from "./targets/address-changes";
import { assertRunPermissions } from "./targets/assert-run-permissions";
import { assignWaves } from "./targets/assign-waves";
import { readTargets } from "./targets/read-targets";
import { selectTargets, type TargetSelection } from "./targets/select-targets";
import type { ReadIdentityRecords } from "./targets/tenant-conflicts";
import { addMarkerRecords, SameTenantError } from "./targets/tenant-conflicts";
import { formatDifferentTenantReason } from "./targets/tenant-replacement";
import { getToleratedFailures } from "./targets/tolerance";

export interface PlanRequest
  extends TargetSelection,
    Pick<PlanRolloutOptions, "mail" | "onProgress" | "onMail" | "stopping"> {
  readonly file: string;
  /** How many tenants are planned at once, and changed at once in each wave. Overrides the waves. */
  readonly maxConcurrent?: number;
  /** The day (UTC) for which `expires` is evaluated. Default: today. */
  readonly today?: string;
  /** The purpose of the rollout. Default: to apply the files. */
  readonly mode?: RolloutMode;
  /** Restricts the selection to these tenants, by name. Default: no restriction. */
  readonly among?: readonly string[];
}

export type RollbackRequest = TargetSelection & Pick<PlanRequest, "maxConcurrent" | "onProgress" | "stopping">;

export interface RolloutPlanResult extends PlannedRollout {
  readonly findings: readonly Finding[];
}

export class RolloutPlanner {
  readonly #context: RolloutContext;

  constructor(context: RolloutContext) {
    this.#context = context;
  }

  /** Reads the targets, assigns them to waves, and plans each of them. Writes only to the journal. */
  async plan(request: PlanRequest): Promise<RolloutPlanResult> {
    const { file, maxConcurrent, mode, today = new Date().toISOString().slice(0, 10) } = request;
    const targets = readTargets(file);
    const tenantNames = request.among && new Set(request.among);
    const { targets: selected, skipped } = await this.#excludeSkipped(
      file,
      targets.project,
      selectTargets(targets.targets, request).filter(({ name }) => tenantNames?.has(name) !== false),
      request,
    );
    // Receivers that can't be notified must fail the rollout before it begins.
    getReceivers(targets.notify, this.#context.environment);
    const { waves, findings } = assignWaves(targets.waves, selected);
    const { project, services, failureTolerance, notify } = targets;
    const spec: Omit<RolloutSpec, "backend"> = {
      source: file,
      project,
      today,
      waves: maxConcurrent === undefined ? waves : waves.map((wave) => ({ ...wave, maxConcurrent })),
      ...(failureTolerance === undefined ? {} : { tolerated: getToleratedFailures(failureTolerance, selected.length) }),
      services: [...services],
      ...(notify === undefined ? {} : { notify }),
      keyVariables: getKeyVariables(targets.targets),
      ...omitUndefined({ skipped }),
      ...(mode === undefined ? {} : { mode }),
    };
    const planTenant = mode === undefined ? {} : { planTenant: await loadModePlanner(mode) };
    const readIdentities = this.#buildIdentityReader(file, project, targets.targets);
    const declaredStacks = new Set(targets.targets.map(({ stack }) => stack));
    const known = { readIdentityRecords: readIdentities, declaredStacks };
    const plannedRollout = await this.#plan(spec, selected, { ...request, ...planTenant, ...known });
    const addressFindings = findAddressChanges(selected, await readIdentities("declared"));
    return { ...plannedRollout, findings: [...targets.findings, ...findings, ...addressFindings] };
  }

  /**
   * Plans to roll back a rollout, for the tenants that it changed or tried to change.
   *
   * @param to settings files of another point in time, and their name. Default: the state of each tenant before the
   * rollout.
   */
  async planRollback(id: string, to: RevisionFiles | undefined, request: RollbackRequest): Promise<PlannedRollout> {
    const { journal, commands } = this.#context;
    const record = await journal.getRollout(id);
    if (await this.#context.isLocked(id)) throw buildRolloutRunningError(id, commands);
    const replaced = new Map<string, string>();
    const undecided = new Set<string>();
    let known = 0;
    let accepting = "";
    for (;;) {
      const rollback = await prepareRollback(journal, record, to, request, commands, replaced).catch(
        (error: unknown) => {
          if (accepting === "" || !(error instanceof RolloutError)) throw error;
          throw new RolloutError(error.code, `${error.message}\n${accepting}`, { cause: error });
        },
      );
      if (known === 0) for (const note of rollback.notes) this.#context.log(note);
      const planned = await this.#planRollbackOnce(record, rollback, request).catch((error: unknown) => {
        if (error instanceof SameTenantError) addReplaced(error, replaced, undecided);
        if (replaced.size === known) throw error;
        return undefined;
      });
      if (planned !== undefined && replaced.size === known) {
        if (accepting !== "") this.#context.log(accepting);
        return planned;
      }
      // A key belongs to another tenant now. The next attempt plans the rollback without that tenant.
      if (planned !== undefined) await journal.deleteRollout(planned.id);
      known = replaced.size;
      const names = rollback.declared.flatMap(({ name, stack }) =>
        replaced.has(stack) && !undecided.has(stack) ? [quoteShellWord(name)] : [],
      );
      const condition = "if all of the tenant's previous content was replaced";
      const advice = formatAcceptAdvice(condition, this.#context.environment, names.join(","));
      accepting = names.length === 0 ? "" : `Left out, because a key belongs to another tenant. ${advice}`;
    }
  }

  async #planRollbackOnce(
    { id, spec }: RolloutRecord,
    rollback: Rollback,
    request: RollbackRequest,
  ): Promise<PlannedRollout> {
    const { targets, waves, planTenant, files, restoredState: rollbackTarget, skipped, declared } = rollback;
    const {
      backend: _backend,
      directory: _directory,
      prunedAtMs: _prunedAtMs,
      skipped: _skipped,
      keyVariables: _keyVariables,
      mode: _mode,
      ...rest
    } = spec;
    const { maxConcurrent } = request;
    return await this.#plan(
      {
        ...rest,
        waves: maxConcurrent === undefined ? waves : waves.map((wave) => ({ ...wave, maxConcurrent })),
        keyVariables: getKeyVariables(declared),
        rollsBack: id,
        rollsBackTo: rollbackTarget,
        ...omitUndefined({ skipped }),
      },
      targets,
      {
        ...request,
        planTenant,
        readIdentityRecords: this.#buildIdentityReader(spec.source, spec.project, declared),
        ...omitUndefined({ files }),
      },
    );
  }

  async #plan(
    spec: Omit<RolloutSpec, "backend">,
    targets: readonly Target[],
    request: Pick<PlanRequest, "maxConcurrent" | "mail" | "onProgress" | "onMail" | "stopping"> &
      Pick<PlanRolloutOptions, "files" | "planTenant" | "readIdentityRecords" | "declaredStacks">,
  ): Promise<PlannedRollout> {
    const { environment, journal, commands } = this.#context;
    assertRunPermissions(spec.source, targets, spec.waves, environment);
    const backend = resolveStateBackend(environment, getProjectDirectory(spec.source));
    const fingerprint = { ...spec, backend: backend.fingerprint };
    assertPassphrase(environment, backend, [...getStackConfigFiles(fingerprint, targets).values()]);
    using locks = this.#context.openLocks(spec);
    const lockFindings = await locks.summarize(new Set([spec.project]), spec.mode);
    const waves = spec.rollsBack === undefined ? addUnreviewedTenants(spec.waves, targets, lockFindings) : spec.waves;
    const directories = new Set([spec.source, ...targets.map(({ settings }) => dirname(settings))]);
    const fullSpec: RolloutSpec = {
      ...fingerprint,
      waves,
      origin: await readOrigin(environment, [...directories]),
    };
    const broker = new RateLimitBroker(journal.database);
    shortenBusyTimeoutOnStop(journal.database, request);
    try {
      const { maxConcurrent, mail, onProgress, onMail, stopping } = request;
      const { files, planTenant, readIdentityRecords, declaredStacks } = request;
      const plannedRollout = await planRollout(fullSpec, targets, {
        journal,
        commands,
        rateLimitBroker: broker,
        backend,
        environment,
        concurrency: maxConcurrent ?? getEngineCapacity(),
        ...omitUndefined({ mail, onProgress, onMail, stopping }),
        ...omitUndefined({ files, planTenant, readIdentityRecords, declaredStacks }),
      });
      const projects = new Set([spec.project, ...plannedRollout.formerProjects]);
      const rolledBack = projects.size === 1 ? lockFindings : await locks.summarize(projects, spec.mode);
      const reappliedChanges =
        spec.rollsBack === undefined ? await getReappliedChanges(journal, plannedRollout.id, rolledBack) : [];
      return { ...plannedRollout, ...(reappliedChanges.length === 0 ? {} : { reappliedChanges }) };
    } catch (error) {
      throw wrapErrorBeforeChanges(error);
    } finally {
      await broker.close();
    }
  }

  async #excludeSkipped(
    source: string,
    project: string,
    targets: readonly Target[],
    selection: TargetSelection,
  ): Promise<UnskippedTargets> {
    const { journal, environment, commands } = this.#context;
    const { database } = journal;
    if ((await listSkips(database)).length === 0) return { targets };
    const { fingerprint } = resolveStateBackend(environment, getProjectDirectory(source));
    const scope = { project, backend: fingerprint };
    return await excludeSkipped(database, scope, targets, selection, { commands, source });
  }

  /**
   * Returns a function that reads the identities that earlier rollouts recorded: from the journal, and for other stacks
   * from state files that are readable here. Reads those of the declared tenants once.
   */
  #buildIdentityReader(source: string, project: string, declaredTargets: readonly Target[]): ReadIdentityRecords {
    const { journal, environment } = this.#context;
    const read: ReadIdentityRecords = async (targets) => {
      const { fingerprint: backend, url } = resolveStateBackend(environment, getProjectDirectory(source));
      const readFromJournal: ReadIdentityRecords = async (scope) =>
        await readIdentityRecords(journal.database, { project, backend }, declaredTargets, scope);
      const readMarker = ({ stack }: Target) => readMarkerFile({ backend: url, project, stack });
      return await addMarkerRecords(readFromJournal, declaredTargets, readMarker)(targets);
    };
    let declaredRecords: ReturnType<ReadIdentityRecords> | undefined;
    return async (scope) => {
      if (scope === "all") return await read(scope);
      declaredRecords ??= read(scope);
      return await declaredRecords;
    };
  }
}

/**
 * Adds the tenants that were read by a wrong key. Where it isn't known which of several keys is wrong, adds the tenants of all of them.
 *
 * @param undecided receives the stacks of the latter, which no person can accept.
 */
function addReplaced({ groups }: SameTenantError, replaced: Map<string, string>, undecided: Set<string>): void {
  for (const { targets, records, mismatch, wrongTargets } of groups) {
    const owners = [...records, ...targets.filter((target) => !wrongTargets.includes(target))];
    for (const target of wrongTargets) {
      const { stack } = target;
      const others = owners.length > 0 ? owners : wrongTargets.filter((other) => other !== target);
      const names = others.map(({ name }) => quote(name)).join(", ");
      const reason =
        mismatch === undefined
          ? `its key belongs to ${owners.length > 0 ? "the tenant of" : "the same tenant as the key of"} ${names}`
          : `${formatDifferentTenantReason(mismatch.rollout)}: ${mismatch.reason}`;
      replaced.set(stack, reason);
      if (targets.length > 1 && owners.length === 0) undecided.add(stack);
    }
  }
}

async function loadModePlanner(mode: RolloutMode): Promise<TenantPlanner> {
  return mode === "only-expired"
    ? (await import("./planning/plan-expired-removals.js")).planExpiredRemovals
    : (await import("./planning/plan-drift-revert.js")).planDriftRevert;
}

import { dirname } from "node:path";
import type { Finding } from "../files/finding";
import { shellWord } from "../settings/shell-word";
import { acceptingIt } from "../settings/tenant-people";
import { quote } from "../settings/text";
import { withoutUndefined } from "../settings/without-undefined";
import { hurriedBy } from "./database/patience";
import { beforeAnything } from "./execution/ended-by-journal";
import { rememberedIdentities } from "./journal/remembered-identities";
import type { RolloutRecord, RolloutSpec } from "./journal/rollout-record";
import { allSkips } from "./journal/skips";
import { withUnseen } from "./locks/with-unseen";
import { engineCapacity } from "./model/capacity";
import { RolloutError } from "./model/errors";
import { originOf } from "./model/origin";
import type { Target } from "./model/target";
import type { Task } from "./model/task";
import { receiversOf } from "./notify/receivers";
import type { MailOf } from "./planning/ask-mail";
import { type PlannedRollout, type PlanRolloutOptions, planRollout, stackFilesOf } from "./planning/plan-rollout";
import type { PlanTenant } from "./planning/plan-target";
import { getReappliedChanges } from "./planning/reapplied-changes";
import { PermitOffice } from "./rate-limit/permit-office";
import { type FilesOf, type Rollback, rollbackOf } from "./rollback/rollback";
import { underWayError } from "./rollout-conflicts";
import type { RolloutContext } from "./rollout-context";
import { type WithoutSkipped, withoutSkipped } from "./skipping/without-skipped";
import { projectFolder, requirePassphrase, stateBackend } from "./stack/state-backend";
import { readMarkerFile } from "./stack/state-file";
import { keyVariablesOf } from "./stack/tenant-environment";
import { assignWaves } from "./targets/assign-waves";
import { refuseNotAllowed } from "./targets/not-allowed";
import { readTargets } from "./targets/read-targets";
import { replacedReason } from "./targets/replaced-reason";
import { type ReadMemory, SameTenantError, withMarkers } from "./targets/same-tenant";
import { type Selection, selectTargets } from "./targets/select-targets";
import { toleratedOf } from "./targets/tolerance";

/** The options of {@link RolloutPlanner.plan}. */
export interface PlanRequest extends Selection {
  readonly file: string;
  /** How many tenants are planned at once, and changed at once in each wave. Overrides the waves. */
  readonly maxConcurrent?: number;
  /** The day (UTC) for which `expires` is evaluated. Default: today. */
  readonly today?: string;
  readonly alwaysRunEngine?: boolean;
  /** The tenants whose mail is searched for evidence about the changes. Default: none. */
  readonly mail?: MailOf;
  /** The purpose of the rollout. Default: to apply the files. */
  readonly task?: Task;
  /** Restricts the selection to these tenants, by name. Default: no restriction. */
  readonly among?: readonly string[];
  readonly onProgress?: (planned: number, total: number) => void;
  readonly onMail?: (checkedCount: number, total: number) => void;
  /** Aborts the planning with an error (`ERR_ROLLOUT_STOPPED`). */
  readonly stopping?: AbortSignal;
}

/** The options of {@link RolloutPlanner.planRollback}. */
export type RollbackRequest = Selection & Pick<PlanRequest, "maxConcurrent" | "onProgress" | "stopping">;

/** A planned rollout, with the findings about its targets file. */
export interface PlannedRequest extends PlannedRollout {
  readonly findings: readonly Finding[];
}

export class RolloutPlanner {
  readonly #context: RolloutContext;

  constructor(context: RolloutContext) {
    this.#context = context;
  }

  /** Reads the targets, assigns them to waves, and plans each of them. Writes only to the journal. */
  async plan(request: PlanRequest): Promise<PlannedRequest> {
    const { file, maxConcurrent, task, today = new Date().toISOString().slice(0, 10) } = request;
    const targets = readTargets(file);
    const tenantNames = request.among && new Set(request.among);
    const { targets: selected, skipped } = await this.#excludeSkipped(
      file,
      targets.project,
      selectTargets(targets.targets, request).filter(({ name }) => tenantNames?.has(name) !== false),
      request,
    );
    // Receivers that can't be notified must fail the rollout before it begins.
    receiversOf(targets.notify, this.#context.environment);
    const { waves, findings } = assignWaves(targets.waves, selected);
    const { project, services, failureTolerance, notify } = targets;
    const spec: Omit<RolloutSpec, "backend"> = {
      source: file,
      project,
      today,
      waves: maxConcurrent === undefined ? waves : waves.map((wave) => ({ ...wave, maxConcurrent })),
      ...(failureTolerance === undefined ? {} : { tolerated: toleratedOf(failureTolerance, selected.length) }),
      services: [...services],
      ...(notify === undefined ? {} : { notify }),
      keyVariables: keyVariablesOf(targets.targets),
      ...withoutUndefined({ skipped }),
      ...(task === undefined ? {} : { task }),
    };
    const planTenant = task === undefined ? {} : { planTenant: await loadModePlanner(task) };
    const readIdentities = this.#buildIdentityReader(file, project, targets.targets);
    const declaredStacks = new Set(targets.targets.map(({ stack }) => stack));
    const known = { memory: readIdentities, declaredStacks };
    const plannedRollout = await this.#plan(spec, selected, { ...request, ...planTenant, ...known });
    return { ...plannedRollout, findings: [...targets.findings, ...findings] };
  }

  /**
   * Plans to roll back a rollout, for the tenants that it changed or tried to change.
   *
   * @param to settings files of another time, and their name. Default: the state of each tenant before the rollout.
   */
  async planRollback(id: string, to: FilesOf | undefined, request: RollbackRequest): Promise<PlannedRollout> {
    const { journal, commands } = this.#context;
    const record = await journal.record(id);
    if (await this.#context.isHeld(id)) throw underWayError(id, commands);
    const replaced = new Map<string, string>();
    let known = 0;
    let accepting = "";
    for (;;) {
      const rollback = await rollbackOf(journal, record, to, request, commands, replaced).catch((error: unknown) => {
        if (accepting === "" || !(error instanceof RolloutError)) throw error;
        throw new RolloutError(error.code, `${error.message}\n${accepting}`, { cause: error });
      });
      if (known === 0) for (const note of rollback.notes) this.#context.log(note);
      const planned = await this.#planRollbackOnce(record, rollback, request).catch((error: unknown) => {
        const isAttributed = error instanceof SameTenantError && addReplaced(error, replaced);
        if (!isAttributed || replaced.size === known) throw error;
        return undefined;
      });
      if (planned !== undefined && replaced.size === known) {
        if (accepting !== "") this.#context.log(accepting);
        return planned;
      }
      // Its key opens another tenant now: what is left is planned without it.
      if (planned !== undefined) await journal.forget(planned.id);
      known = replaced.size;
      const names = rollback.declared.flatMap(({ name, stack }) => (replaced.has(stack) ? [shellWord(name)] : []));
      const condition = "where all that the tenant held then was replaced since";
      accepting = `Left out, because a key opens another tenant. ${acceptingIt(condition, this.#context.environment, names.join(","))}`;
    }
  }

  async #planRollbackOnce(
    { id, spec }: RolloutRecord,
    rollback: Rollback,
    request: RollbackRequest,
  ): Promise<PlannedRollout> {
    const { targets, waves, planTenant, files, to: rollbackTarget, skipped, declared } = rollback;
    const {
      backend: _backend,
      folder: _directory,
      prunedAtMs: _prunedAtMs,
      skipped: _skipped,
      keyVariables: _keyVariables,
      task: _mode,
      ...rest
    } = spec;
    const { maxConcurrent } = request;
    return await this.#plan(
      {
        ...rest,
        waves: maxConcurrent === undefined ? waves : waves.map((wave) => ({ ...wave, maxConcurrent })),
        keyVariables: keyVariablesOf(declared),
        rollsBack: id,
        rollsBackTo: rollbackTarget,
        ...withoutUndefined({ skipped }),
      },
      targets,
      {
        ...request,
        planTenant,
        memory: this.#buildIdentityReader(spec.source, spec.project, declared),
        ...withoutUndefined({ files }),
      },
    );
  }

  async #plan(
    spec: Omit<RolloutSpec, "backend">,
    targets: readonly Target[],
    request: Pick<PlanRequest, "maxConcurrent" | "alwaysRunEngine" | "mail" | "onProgress" | "onMail" | "stopping"> &
      Pick<PlanRolloutOptions, "files" | "planTenant" | "memory" | "declaredStacks">,
  ): Promise<PlannedRollout> {
    const { environment, journal, commands } = this.#context;
    refuseNotAllowed(spec.source, targets, spec.waves, environment);
    const backend = stateBackend(environment, projectFolder(spec.source));
    const fingerprint = { ...spec, backend: backend.fingerprint };
    requirePassphrase(environment, backend, [...stackFilesOf(fingerprint, targets).values()]);
    using locks = this.#context.marks(spec);
    const lockFindings = await locks.look(spec.project, spec.task);
    const waves = spec.rollsBack === undefined ? withUnseen(spec.waves, targets, lockFindings) : spec.waves;
    const directories = new Set([spec.source, ...targets.map(({ settings }) => dirname(settings))]);
    const fullSpec: RolloutSpec = {
      ...fingerprint,
      waves,
      origin: await originOf(environment, [...directories]),
    };
    const broker = new PermitOffice(journal.database);
    hurriedBy(journal.database, request);
    try {
      const { maxConcurrent, alwaysRunEngine, mail, onProgress, onMail, stopping } = request;
      const { files, planTenant, memory, declaredStacks } = request;
      const plannedRollout = await planRollout(fullSpec, targets, {
        journal,
        commands,
        office: broker,
        backend,
        environment,
        concurrency: maxConcurrent ?? engineCapacity(),
        ...withoutUndefined({ alwaysRunEngine, mail, onProgress, onMail, stopping }),
        ...withoutUndefined({ files, planTenant, memory, declaredStacks }),
      });
      const reappliedChanges =
        spec.rollsBack === undefined ? await getReappliedChanges(journal, plannedRollout.id, lockFindings) : [];
      return { ...plannedRollout, ...(reappliedChanges.length === 0 ? {} : { again: reappliedChanges }) };
    } catch (error) {
      throw beforeAnything(error);
    } finally {
      await broker.close();
    }
  }

  /** Leaves out the tenants that a person chose to skip. */
  async #excludeSkipped(
    source: string,
    project: string,
    targets: readonly Target[],
    selection: Selection,
  ): Promise<WithoutSkipped> {
    const { journal, environment, commands } = this.#context;
    const { database } = journal;
    if ((await allSkips(database)).length === 0) return { targets };
    const { fingerprint } = stateBackend(environment, projectFolder(source));
    const scope = { project, backend: fingerprint };
    return await withoutSkipped(database, scope, targets, selection, { commands, source });
  }

  /**
   * Returns a function that reads what earlier rollouts recorded about tenants: in the journal, and for stacks that it doesn't know, in
   * states that can be read here.
   *
   * @param declaredTargets all tenants of the targets file.
   */
  #buildIdentityReader(source: string, project: string, declaredTargets: readonly Target[]): ReadMemory {
    const { journal, environment } = this.#context;
    return async (targets) => {
      const { fingerprint: backend, url } = stateBackend(environment, projectFolder(source));
      const readMemory: ReadMemory = async (scope) =>
        await rememberedIdentities(journal.database, { project, backend }, declaredTargets, scope);
      const readMarker = ({ stack }: Target) => readMarkerFile({ backend: url, project, stack });
      return await withMarkers(readMemory, declaredTargets, readMarker)(targets);
    };
  }
}

/**
 * Adds the tenants that were read by a wrong key.
 *
 * @returns whether it is known of each which they are.
 */
function addReplaced({ groups }: SameTenantError, replaced: Map<string, string>): boolean {
  for (const { read, known, unknown, wrong } of groups) {
    if (wrong.length === 0 || (read.length > 1 && wrong.length === read.length)) return false;
    const owners = [...known, ...read.filter((target) => !wrong.includes(target))].map(({ name }) => quote(name));
    const reason =
      unknown === undefined
        ? `its key opens the tenant of ${owners.join(", ")}`
        : `${replacedReason(unknown.rollout)}: ${unknown.why}`;
    for (const { stack } of wrong) replaced.set(stack, reason);
  }
  return true;
}

async function loadModePlanner(mode: Task): Promise<PlanTenant> {
  return mode === "only-expired"
    ? (await import("./planning/plan-expired.js")).planExpired
    : (await import("./planning/plan-mending.js")).planMending;
}

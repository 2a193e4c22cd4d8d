import { hostname } from "node:os";
import { EmailSecurityError, formatErrorWithCode } from "../model/email-security-error";
import { omitUndefined } from "../model/omit-undefined";
import { minimalEnv } from "../system/child-environment";
import { shortenBusyTimeoutOnStop } from "./database/busy-timeout";
import { EnginePool } from "./engine/engine-pool";
import { runRollout } from "./execution/coordinator";
import { buildLockLostError, wrapErrorBeforeChanges } from "./execution/journal-failure";
import { createTenantJob } from "./execution/tenant-job";
import { WorkspaceCache } from "./execution/workspace-cache";
import type { CurrentTargets } from "./journal/journal";
import { formatRollbackProgress, readRollbackProgress } from "./journal/rollback-progress";
import type { RolloutRecord, RolloutSpec } from "./journal/rollout-record";
import type { RolloutLocks } from "./locks/rollout-locks";
import { getOperatorName } from "./model/origin";
import type { RolloutCommands } from "./model/rollout-commands";
import { RolloutError } from "./model/rollout-error";
import type { RolloutEvent } from "./model/rollout-event";
import type { RolloutReport } from "./model/rollout-report";
import { getMarkerSequence } from "./model/stack-marker";
import type { Target, Targets } from "./model/target";
import type { RolloutState } from "./model/wave";
import { RolloutNotifier } from "./notify/rollout-notifier";
import { AddressHealth } from "./probing/address-health";
import { assertRequestEnvironment, createProbe, type RequestContext } from "./probing/target-client";
import type { JobQueue } from "./queue/job-queue";
import { LocalQueue } from "./queue/local-queue";
import { RateLimitBroker } from "./rate-limit/rate-limit-broker";
import { buildRolloutReport } from "./report/build-rollout-report";
import { buildRolloutConflictError, buildRolloutRunningError } from "./rollout-conflicts";
import type { RolloutContext } from "./rollout-context";
import { assertSameBackend, getProjectDirectory, resolveStateBackend } from "./stack/state-backend";
import { getKeyVariables } from "./stack/tenant-environment";
import { assertRunPermissions } from "./targets/assert-run-permissions";
import { assertSameProject } from "./targets/assert-same-project";
import { compareTargets, type TargetComparison } from "./targets/compare-targets";
import { readCurrentTenantNames } from "./targets/current-tenant-names";
import { describeWaveChanges } from "./targets/describe-wave-changes";
import { readTargets } from "./targets/read-targets";
import { findServiceLimit } from "./targets/service-limit";

export interface RunRequest {
  /** The wave after which the rollout pauses until a person resumes it. */
  readonly until?: string;
  readonly retry: boolean;
  /** Whether the rollout ignores the hours in which waves are closed. Default: false. */
  readonly anyTime?: boolean;
  /** How many tenants this machine changes at once, regardless of its cores and memory. */
  readonly maxConcurrent?: number;
  /** How long to wait for a stack that another run has locked, in milliseconds. Default: ten minutes. */
  readonly lockWaitMs?: number;
  /** Called once when the rollout has begun, before it changes anything. Receives the report at that time. */
  readonly onBegun?: (report: RolloutReport) => Promise<void>;
  readonly onEvent: (event: RolloutEvent) => void;
  /** Receives a line about each step that takes long. Default: the log that was passed when the journal was opened. */
  readonly log?: (line: string) => void;
  /** Stops the rollout from beginning more tenants. Tenants in progress are finished. */
  readonly stopping: AbortSignal;
  readonly aborted: AbortSignal;
}

export class RolloutRun {
  readonly #context: RolloutContext;

  constructor(context: RolloutContext) {
    this.#context = context;
  }

  /** @returns the state in which the run ended. */
  async run(id: string, request: RunRequest): Promise<RolloutState> {
    const { journal, environment, commands } = this.#context;
    const lockLost = new AbortController();
    let state: RolloutState;
    shortenBusyTimeoutOnStop(journal.database, request);
    this.#context.log = request.log ?? this.#context.defaultLog;
    const lock = await journal.database.lock(`rollout-${id}`, (reason) => lockLost.abort(new Error(reason)));
    if (lock === undefined) {
      throw new RolloutError(
        "ERR_ROLLOUT_BUSY",
        `Another run is executing the rollout ${id}; \`${commands.status(id)}\` shows its progress.`,
      );
    }
    try {
      const record = await journal.getRollout(id);
      if (record.digest === "") {
        throw new RolloutError(
          "ERR_ROLLOUT_NOT_FOUND",
          `The planning of the rollout ${id} was interrupted. Nothing was changed. Start a new one.`,
        );
      }
      if (record.spec.prunedAtMs !== undefined) {
        throw new RolloutError(
          "ERR_ROLLOUT_PRUNED",
          `The rollout ${id} was pruned: its files and plans were removed. Nothing was changed. Start a new one: \`${commands.plan(record.spec.source, [], record.spec.mode)}\``,
        );
      }
      const recordedTargets = (await journal.listTenants(id)).map(({ target }) => target);
      const current = compareWithCurrentTargets(record, recordedTargets, commands);
      assertRolloutUsable(record.spec, current?.targets ?? recordedTargets, current?.excludedStacks, environment);
      for (const note of current?.notes ?? []) this.#context.log(note);
      const notices = new RolloutNotifier(
        record.spec.notify,
        environment,
        async () => await buildRolloutReport(journal, id, false, commands),
      );
      const leavesLocks = await this.#beginRollout(record, request, current).catch((error: unknown) => {
        throw wrapErrorBeforeChanges(error);
      });
      await request.onBegun?.(await buildRolloutReport(journal, id, true, commands));
      const aborted = AbortSignal.any([request.aborted, lockLost.signal]);
      const onEvent = (event: RolloutEvent): void => {
        request.onEvent(event);
        notices.handleEvent(event);
      };
      try {
        state = await this.#runWaves(record, { ...request, aborted, onEvent }, leavesLocks);
      } finally {
        for (const problem of await notices.flush(aborted)) this.#context.log(problem);
      }
      if (lockLost.signal.aborted) throw buildLockLostError(id, lockLost.signal.reason, commands);
      if (leavesLocks) await this.#updateLocks(record);
    } finally {
      await lock.release();
    }
    return state;
  }

  /**
   * Marks a rollout as running, unless another rollout uses the same stacks.
   *
   * @returns whether the rollout leaves a lock next to the stacks. A new rollout that changes nothing leaves none.
   */
  async #beginRollout(
    { id }: RolloutRecord,
    { until, retry, stopping }: RunRequest,
    current: CurrentTargets | undefined,
  ): Promise<boolean> {
    const { journal, environment, commands, isWorkerMode } = this.#context;
    const { spec, startedAtMs } = await journal.getRollout(id);
    assertSameBackend(id, spec, resolveStateBackend(environment, getProjectDirectory(spec.source)));
    if (until !== undefined && !spec.waves.some(({ name }) => name === until)) {
      const names = spec.waves.map(({ name }) => name).join(", ");
      throw new RolloutError("ERR_ROLLOUT_NOT_FOUND", `The rollout ${id} has no wave "${until}"; it has ${names}.`);
    }
    let beginLock = await journal.database.lock("begin", () => {});
    for (; beginLock === undefined; beginLock = await journal.database.lock("begin", () => {})) {
      if (stopping.aborted) {
        throw new RolloutError("ERR_ROLLOUT_STOPPED", "It was stopped before it started. Nothing was changed.");
      }
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    try {
      const [rival] = await journal.findConflictingRollouts(id);
      if (rival !== undefined) throw await buildRolloutConflictError(rival, this.#context);
      const { rollsBack } = spec;
      if (rollsBack !== undefined && (await this.#context.isLocked(rollsBack)))
        throw buildRolloutRunningError(rollsBack, commands);
      const tenants = await journal.listTenants(id);
      const isNew = startedAtMs === undefined;
      const leavesLocks = !isNew || tenants.some(({ state }) => state === "pending");
      using locks = this.#context.openLocks(spec);
      const nextSequences = tenants.map(({ summary }) => (summary?.marker ? getMarkerSequence(summary.marker) + 1 : 1));
      const minSequence = Math.max(await journal.getNextSequence(), ...nextSequences);
      const sequence = leavesLocks ? await locks.begin(await journal.getRollout(id), minSequence) : minSequence;
      try {
        const startedBy = getOperatorName(environment);
        // The original can't be resumed from now on, because this rollback reverts its changes.
        const reason = `It is being rolled back by ${id}.`;
        const rollback = rollsBack === undefined ? {} : { rollsBack: { id: rollsBack, reason } };
        const start = async (): Promise<void> => {
          if (!isWorkerMode) await this.#reclaimDead(id);
          await journal.start(id, { until, retry, by: startedBy, current, seq: sequence, ...rollback });
        };
        if (rollsBack === undefined || !leavesLocks) await start();
        else await locks.close(rollsBack, { state: "rolled-back", reason }, start);
      } catch (error) {
        // A rollout that never began leaves no lock.
        if (leavesLocks && isNew) await locks.withdraw(id);
        throw error;
      }
      return leavesLocks;
    } finally {
      await beginLock.release();
    }
  }

  /** Releases the service slots of processes on this machine that have ended without releasing them. */
  async #reclaimDead(ownId: string): Promise<void> {
    const { journal } = this.#context;
    for (const { id, state } of await journal.listRollouts()) {
      if (id === ownId || (state === "running" && !(await this.#context.isLocked(id))))
        await journal.resetInterrupted(id);
    }
  }

  async #runWaves(record: RolloutRecord, request: RunRequest, leavesLocks: boolean): Promise<RolloutState> {
    const { journal, environment, commands, log, database, isWorkerMode } = this.#context;
    const { id, spec } = record;
    const broker = new RateLimitBroker(journal.database);
    const enginePool = new EnginePool(minimalEnv(environment));
    const workspaces = new WorkspaceCache(journal, environment);
    const requestContext: RequestContext = {
      environment,
      getTokens: (target, isAllowed) =>
        broker.getTokens(target.baseUrl, findServiceLimit(spec.services, target), isAllowed),
      signal: request.aborted,
    };
    const addressHealth = new AddressHealth({ probe: createProbe(requestContext) });
    const killEngines = (): void => enginePool.kill();
    request.aborted.addEventListener("abort", killEngines);
    const runJob = createTenantJob({
      journal,
      commands,
      pool: enginePool,
      rateLimitBroker: broker,
      addressHealth,
      environment,
      log,
      worker: `${hostname()}:${process.pid}`,
      getWorkspace: (rolloutId, spec) => workspaces.get(rolloutId, spec),
      ...omitUndefined({ lockWaitMs: request.lockWaitMs }),
    });
    const queue: JobQueue = isWorkerMode
      ? await (await import("./queue/pg-boss-queue.js")).openPgBossQueue(database, { log })
      : new LocalQueue(runJob, request.aborted);
    try {
      // Workers keep the jobs that they have. Jobs lost between workers are queued again.
      if (isWorkerMode) await journal.enqueueUnfinished(id, queue);
      using locks = this.#context.openLocks(spec);
      return await runRollout(id, {
        ...request,
        journal,
        commands,
        queue,
        ...(leavesLocks ? { beforeWave: this.#createWaveCheck(id, locks) } : {}),
        capacity: this.#context.getCapacity(request.maxConcurrent),
        health: {
          rollout: id,
          requestContext,
          addressHealth,
          now: Date.now,
          aborted: request.aborted,
        },
      });
    } finally {
      request.aborted.removeEventListener("abort", killEngines);
      await queue.drain();
      enginePool.close();
      await broker.close();
      workspaces.close();
    }
  }

  /** Returns a check to call before each wave. A sentence that it returns prevents the wave. */
  #createWaveCheck(id: string, locks: RolloutLocks): () => Promise<string | undefined> {
    const checkLock = locks.createWaveCheck(id);
    return async () => (await this.#rereadTargets(id)) ?? (await checkLock());
  }

  /**
   * Updates the tenants to the present targets file, since a person may have removed one while the wave before soaked.
   *
   * @returns a sentence if the file can't be used, because nobody knows then which tenants it still names.
   */
  async #rereadTargets(id: string): Promise<string | undefined> {
    const { journal, environment, commands } = this.#context;
    const { spec } = await journal.getRollout(id);
    const recordedTargets = (await journal.listTenants(id)).map(({ target }) => target);
    let current: ComparedTargets;
    try {
      current = compareWithFile(id, spec, recordedTargets, commands);
      assertRolloutUsable(spec, current.targets, current.excludedStacks, environment);
    } catch (error) {
      if (!(error instanceof EmailSecurityError)) throw error;
      return `The targets file can't be used for the next wave: ${formatErrorWithCode(error)}`;
    }
    for (const note of current.notes) this.#context.log(note);
    await journal.updateTargets(id, current);
    return undefined;
  }

  /** Updates the lock next to the stacks, and records how much of the original rollout is rolled back. */
  async #updateLocks({ id, spec }: RolloutRecord): Promise<void> {
    const { journal } = this.#context;
    const { rollsBack } = spec;
    try {
      using locks = this.#context.openLocks(spec);
      if (rollsBack !== undefined)
        await journal.markRolledBack(
          rollsBack,
          formatRollbackProgress(
            await readRollbackProgress(journal, rollsBack),
            readCurrentTenantNames(spec.source)?.names,
          ),
        );
      await locks.update(id);
    } catch (error) {
      this.#context.defaultLog(
        `The rollout's result could not be written next to the stacks: ${formatErrorWithCode(error)} The next run with this journal writes it; until then, runs with other journals treat the rollout as in progress.`,
      );
    }
  }
}

/**
 * Compares the tenants of a resumed rollout with the present targets file. Undefined for a new rollout, which was just planned from that
 * file.
 *
 * @throws {TargetsFileError} if the file can't be read, because nobody knows then which tenants it still names.
 */
function compareWithCurrentTargets(
  { id, spec, startedAtMs }: RolloutRecord,
  recordedTargets: readonly Target[],
  commands: RolloutCommands,
): ComparedTargets | undefined {
  if (startedAtMs === undefined) return undefined;
  const current = compareWithFile(id, spec, recordedTargets, commands);
  const waveDifferences =
    spec.rollsBack === undefined ? describeWaveChanges(spec.waves, current.targets, current.declared) : undefined;
  const keptWavesNote = `The rollout keeps its reviewed waves, which differ from ${spec.source}: ${waveDifferences}.`;
  return waveDifferences === undefined ? current : { ...current, notes: [...current.notes, keptWavesNote] };
}

interface ComparedTargets extends TargetComparison, CurrentTargets {
  readonly declared: Targets;
}

/**
 * @throws {TargetsFileError} if the file can't be read.
 * @throws {RolloutError} if it has another project.
 */
function compareWithFile(
  id: string,
  { source, project, rollsBack }: RolloutSpec,
  recordedTargets: readonly Target[],
  commands: RolloutCommands,
): ComparedTargets {
  const declared = readTargets(source);
  assertSameProject(id, project, declared, `Otherwise, abandon the rollout: \`${commands.abandon(id)}\``);
  const comparison = compareTargets(recordedTargets, declared, { ignoreSettings: rollsBack !== undefined });
  return { ...comparison, declared, keyVariables: getKeyVariables(declared.targets) };
}

/** Write access to the journal must not permit more than write access to the targets file. */
function assertRolloutUsable(
  { source, waves }: RolloutSpec,
  targets: readonly Target[],
  excludedStacks: ReadonlyMap<string, string> | undefined,
  environment: NodeJS.ProcessEnv,
): void {
  const includedTargets = targets.filter(({ stack }) => excludedStacks?.has(stack) !== true);
  assertRunPermissions(source, includedTargets, waves, environment);
  assertRequestEnvironment(environment, includedTargets);
}

import { hostname } from "node:os";
import { leanEnvironment } from "../machine/child-environment";
import { withCode } from "../settings/email-security-error";
import { withoutUndefined } from "../settings/without-undefined";
import { hurriedBy } from "./database/patience";
import { EnginePool } from "./engine/engine-pool";
import { conduct } from "./execution/coordinator";
import { beforeAnything, holdLost } from "./execution/ended-by-journal";
import { tenantJob } from "./execution/tenant-job";
import { WorkPlaces } from "./execution/work-places";
import type { CurrentTargets } from "./journal/journal";
import type { RolloutRecord } from "./journal/rollout-record";
import { takenBackSoFar, takenBackText } from "./journal/taken-back";
import { RolloutError } from "./model/errors";
import { nameOfWho } from "./model/origin";
import type { RolloutEvent } from "./model/rollout-event";
import type { RolloutReport } from "./model/rollout-report";
import type { Target } from "./model/target";
import type { RolloutState } from "./model/wave";
import { RolloutNotices } from "./notify/rollout-notices";
import { AddressHealth } from "./probing/address-health";
import { checkReach, lookWith, type Reach } from "./probing/target-client";
import type { Lane } from "./queue/lane";
import { LocalLane } from "./queue/local-lane";
import { PermitOffice } from "./rate-limit/permit-office";
import { reportOf } from "./report/report-of";
import { rivalError, underWayError } from "./rollout-conflicts";
import type { RolloutContext } from "./rollout-context";
import { projectFolder, requireSameBackend, stateBackend } from "./stack/state-backend";
import { keyVariablesOf } from "./stack/tenant-environment";
import { compareTargets, type TargetComparison } from "./targets/compare-targets";
import { compareWaves } from "./targets/compare-waves";
import { refuseNotAllowed } from "./targets/not-allowed";
import { readTargets } from "./targets/read-targets";
import { limitOf } from "./targets/service-limit";

/** The options of {@link RolloutRun.run}. */
export interface RunRequest {
  /** The wave after which the rollout pauses until a person resumes it. */
  readonly until?: string;
  /** Whether failed tenants are retried. */
  readonly retry: boolean;
  /** Whether the rollout ignores the hours in which waves are closed. Default: false. */
  readonly anyTime?: boolean;
  /** How many tenants this machine changes at once, regardless of its cores and memory. */
  readonly maxConcurrent?: number;
  /** How long to wait for a stack that another run holds, in milliseconds. Default: ten minutes. */
  readonly lockWaitMs?: number;
  /** Called once when the rollout has begun, before it changes anything. Gets the report of that moment. */
  readonly onBegun?: (report: RolloutReport) => Promise<void>;
  readonly onEvent: (event: RolloutEvent) => void;
  /** Receives a line about each step that takes long. Default: the log that was passed when the journal was opened. */
  readonly log?: (line: string) => void;
  /** Stops the rollout from beginning more tenants. Tenants in progress are finished. */
  readonly stopping: AbortSignal;
  /** Ends the run immediately. */
  readonly aborted: AbortSignal;
}

/** One run of a rollout, until it is done, stopped, paused or interrupted. */
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
    hurriedBy(journal.database, request);
    this.#context.log = request.log ?? this.#context.defaultLog;
    const lock = await journal.database.hold(`rollout-${id}`, (reason) => lockLost.abort(new Error(reason)));
    if (lock === undefined) {
      throw new RolloutError(
        "ERR_ROLLOUT_BUSY",
        `Another run is at the rollout ${id}; \`${commands.status(id)}\` shows how far it is.`,
      );
    }
    try {
      const record = await journal.record(id);
      if (record.digest === "") {
        throw new RolloutError(
          "ERR_ROLLOUT_NOT_FOUND",
          `The planning of the rollout ${id} was interrupted, and nothing was written: begin a new one.`,
        );
      }
      if (record.spec.prunedAtMs !== undefined) {
        throw new RolloutError(
          "ERR_ROLLOUT_NOT_KNOWN",
          `The rollout ${id} was pruned: the files and plans that it would go on with are gone. Nothing was changed. Begin a new one: \`${commands.plan(record.spec.source, [], record.spec.task)}\``,
        );
      }
      const recordedTargets = (await journal.tenants(id)).map(({ target }) => target);
      const current = currentTargets(record, recordedTargets);
      const targets = (current?.targets ?? recordedTargets).filter(({ stack }) => current?.leftOut.has(stack) !== true);
      // Write access to the journal must not permit more than write access to the targets file.
      refuseNotAllowed(record.spec.source, targets, record.spec.waves, environment);
      checkReach(environment, targets);
      for (const note of current?.notes ?? []) this.#context.log(note);
      const notices = new RolloutNotices(
        record.spec.notify,
        environment,
        async () => await reportOf(journal, id, false, commands),
      );
      const leavesLocks = await this.#beginRollout(record, request, current).catch((error: unknown) => {
        throw beforeAnything(error);
      });
      await request.onBegun?.(await reportOf(journal, id, true, commands));
      const aborted = AbortSignal.any([request.aborted, lockLost.signal]);
      const onEvent = (event: RolloutEvent): void => {
        request.onEvent(event);
        notices.happened(event);
      };
      try {
        state = await this.#conductWaves(record, { ...request, aborted, onEvent }, leavesLocks);
      } finally {
        for (const problem of await notices.end(aborted)) this.#context.log(problem);
      }
      if (lockLost.signal.aborted) throw holdLost(id, lockLost.signal.reason, commands);
      if (leavesLocks) await this.#updateLocks(record);
    } finally {
      await lock.release();
    }
    return state;
  }

  /**
   * Marks a rollout as running, unless another rollout uses the same stacks.
   *
   * @returns whether the rollout leaves a lock beside the stacks. A new rollout that changes nothing leaves none.
   */
  async #beginRollout(
    { id }: RolloutRecord,
    { until, retry, stopping }: RunRequest,
    current: CurrentTargets | undefined,
  ): Promise<boolean> {
    const { journal, environment, commands, isForWorkers } = this.#context;
    const { spec, startedAtMs } = await journal.record(id);
    requireSameBackend(id, spec, stateBackend(environment, projectFolder(spec.source)));
    if (until !== undefined && !spec.waves.some(({ name }) => name === until)) {
      const names = spec.waves.map(({ name }) => name).join(", ");
      throw new RolloutError("ERR_ROLLOUT_NOT_FOUND", `The rollout ${id} has no wave "${until}"; it has ${names}.`);
    }
    let beginLock = await journal.database.hold("begin", () => {});
    for (; beginLock === undefined; beginLock = await journal.database.hold("begin", () => {})) {
      if (stopping.aborted) {
        throw new RolloutError("ERR_ROLLOUT_STOPPED", "It was stopped before it began. Nothing was changed.");
      }
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    try {
      const [rival] = await journal.rivals(id);
      if (rival !== undefined) throw await rivalError(rival, this.#context);
      const { rollsBack } = spec;
      if (rollsBack !== undefined && (await this.#context.isHeld(rollsBack))) throw underWayError(rollsBack, commands);
      const tenants = await journal.tenants(id);
      const isNew = startedAtMs === undefined;
      const leavesLocks = !isNew || tenants.some(({ state }) => state === "pending");
      using locks = this.#context.marks(spec);
      const nextSequences = tenants.map(({ summary }) => (summary?.marker?.seq ?? 0) + 1);
      const minSequence = Math.max(await journal.nextSequence(), ...nextSequences);
      const sequence = leavesLocks ? await locks.begin(await journal.record(id), minSequence) : minSequence;
      try {
        const startedBy = nameOfWho(environment);
        // The original can't be resumed from now on, because this rollback reverts its changes.
        const reason = `It is being rolled back by ${id}.`;
        const rollback = rollsBack === undefined ? {} : { rollsBack: { id: rollsBack, reason } };
        const start = async (): Promise<void> => {
          if (!isForWorkers) await this.#reclaimDead(id);
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

  /** Releases the places at services that processes of this machine still occupy although they have ended. */
  async #reclaimDead(ownId: string): Promise<void> {
    const { journal } = this.#context;
    for (const { id, state } of await journal.records()) {
      if (id === ownId || (state === "running" && !(await this.#context.isHeld(id)))) await journal.reclaim(id);
    }
  }

  async #conductWaves(record: RolloutRecord, request: RunRequest, leavesLocks: boolean): Promise<RolloutState> {
    const { journal, environment, commands, log, database, isForWorkers } = this.#context;
    const { id, spec } = record;
    const broker = new PermitOffice(journal.database);
    const enginePool = new EnginePool(leanEnvironment(environment));
    const workspaces = new WorkPlaces(journal, environment);
    const requestContext: Reach = {
      environment,
      permits: (target, isAllowed) => broker.permits(target.baseUrl, limitOf(spec.services, target), isAllowed),
      signal: request.aborted,
    };
    const addresses = new AddressHealth({ look: lookWith(requestContext) });
    const killEngines = (): void => enginePool.kill();
    request.aborted.addEventListener("abort", killEngines);
    const runJob = tenantJob({
      journal,
      commands,
      pool: enginePool,
      office: broker,
      addresses,
      environment,
      log,
      worker: `${hostname()}:${process.pid}`,
      workFolder: (rolloutId) => workspaces.of(rolloutId),
      ...withoutUndefined({ lockWaitMs: request.lockWaitMs }),
    });
    const queue: Lane = isForWorkers
      ? await (await import("./queue/pg-boss-lane.js")).openPgBossLane(database, { log })
      : new LocalLane(runJob, request.aborted);
    try {
      // Workers keep the jobs that they have. Jobs that got lost between workers are queued again.
      if (isForWorkers) await journal.handOutOpen(id, queue);
      using locks = this.#context.marks(spec);
      return await conduct(id, {
        ...request,
        journal,
        commands,
        lane: queue,
        ...(leavesLocks ? { beforeWave: locks.beforeWave(id) } : {}),
        capacity: this.#context.capacity(request.maxConcurrent),
        health: {
          rollout: id,
          reach: requestContext,
          addresses,
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

  /** Updates the lock beside the stacks, and records how much of the original rollout is rolled back. */
  async #updateLocks({ id, spec }: RolloutRecord): Promise<void> {
    const { journal } = this.#context;
    const { rollsBack } = spec;
    try {
      using locks = this.#context.marks(spec);
      if (rollsBack !== undefined)
        await journal.rollBack(rollsBack, takenBackText(await takenBackSoFar(journal, rollsBack)));
      await locks.update(id);
    } catch (error) {
      this.#context.defaultLog(
        `What the rollout came to could not be written beside the stacks: ${withCode(error)} The next run with this journal does it; until then runs with other journals take it for one that is under way.`,
      );
    }
  }
}

/**
 * Compares the tenants of a resumed rollout with the present targets file. Undefined for a new rollout, which was just planned from that
 * file.
 *
 * @param recordedTargets the rollout's tenants in the journal.
 * @throws {TargetsFileError} if the file can't be read, because nobody knows then which tenants it still names.
 */
function currentTargets(
  { spec, startedAtMs }: RolloutRecord,
  recordedTargets: readonly Target[],
): (TargetComparison & CurrentTargets) | undefined {
  if (startedAtMs === undefined) return undefined;
  const declared = readTargets(spec.source);
  const isRollback = spec.rollsBack !== undefined;
  const comparison = compareTargets(recordedTargets, declared, { ignoreSettings: isRollback });
  const waveDifferences = isRollback ? undefined : compareWaves(spec.waves, comparison.targets, declared);
  const keptWavesNote = `The rollout keeps the waves that were reviewed: in ${spec.source}, ${waveDifferences}.`;
  return {
    ...comparison,
    notes: waveDifferences === undefined ? comparison.notes : [...comparison.notes, keptWavesNote],
    keyVariables: keyVariablesOf(declared.targets),
  };
}

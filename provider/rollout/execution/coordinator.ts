import { setTimeout as sleep } from "node:timers/promises";
import type { Journal } from "../journal/journal";
import type { RolloutSpec } from "../journal/rollout-record";
import { createSkipLookup } from "../journal/tenant-skips";
import { chooseNextStep, type RolloutStep, type RunState } from "../model/next-step";
import { RolloutCommands } from "../model/rollout-commands";
import type { RolloutEvent } from "../model/rollout-event";
import type { RolloutState } from "../model/wave";
import type { JobQueue } from "../queue/job-queue";
import { buildJournalFailureError, getJournalFailure } from "./journal-failure";
import { checkHealth, type HealthContext } from "./wave-health";

export interface CoordinatorOptions {
  readonly journal: Journal;
  readonly queue: JobQueue;
  /** The commands shown to people. Default: commands that don't name the journal. */
  readonly commands?: RolloutCommands;
  readonly health: HealthContext;
  readonly capacity: number;
  /** Called before each wave begins. A returned sentence prevents the wave and stops the rollout. Default: always allowed. */
  readonly beforeWave?: () => Promise<string | undefined>;
  /** Receives events in order, from this process and others. */
  readonly onEvent: (event: RolloutEvent) => void;
  /** Whether to ignore the hours in which waves are closed. Default: false. */
  readonly anyTime?: boolean | undefined;
  /** Asks to start nothing more. Running tenants finish. */
  readonly stopping: AbortSignal;
  readonly aborted: AbortSignal;
  /** How often to read the journal, in milliseconds. Default: 200. */
  readonly pollMs?: number;
}

const POLL_MS = 200;

/**
 * Runs a rollout until it is done, stops, waits for a person, or is interrupted. Returns its final state.
 * All its knowledge is in the journal, so another process can continue it.
 *
 * @throws {JournalError} if the journal fails, with the true state of each tenant that the journal doesn't record correctly.
 * Nothing is running here any more then.
 * @throws {DatabaseError} likewise.
 */
export async function runRollout(id: string, options: CoordinatorOptions): Promise<RolloutState> {
  const { journal, queue } = options;
  const lastKnown: { spec?: RolloutSpec; view?: RunState } = {};
  try {
    lastKnown.spec = (await journal.getRollout(id)).spec;
    return await runSteps(id, options, (runState) => {
      lastKnown.view = runState;
    });
  } catch (error) {
    // Nothing more starts. Running tenants finish and report their outcome.
    await queue.drain();
    const failure = getJournalFailure(error);
    if (failure === undefined) throw error;
    const { unrecorded = [] } = queue;
    // The failure may have been brief. In that case the journal's current state counts, and readers find the reason there.
    journal.database.shortenBusyTimeout(0);
    const runState = await journal.readRunState(id, 0).catch(() => undefined);
    if (runState !== undefined && runState.state !== "running" && unrecorded.length === 0) return runState.state;
    if (runState?.state === "running") {
      await journal.recordInterruption(id, `Its journal failed: ${failure.message}`).catch(() => {});
    }
    throw buildJournalFailureError(failure, {
      commands: options.commands ?? new RolloutCommands(),
      id,
      spec: lastKnown.spec,
      runState: runState ?? lastKnown.view,
      unrecorded,
    });
  }
}

async function runSteps(
  id: string,
  options: CoordinatorOptions,
  onRunState: (runState: RunState) => void,
): Promise<RolloutState> {
  const { journal, queue, capacity, anyTime = false, stopping, aborted, pollMs = POLL_MS } = options;
  const events = new EventTail(id, options);
  for (;;) {
    const runState = await journal.readRunState(id, 0);
    onRunState(runState);
    await events.emitNew();
    // A job that was aborted ends by itself once its outcome can no longer be reported.
    if (aborted.aborted) await queue.drain();
    // No one works on these tenants any more, but the journal still lists them as running.
    const [unrecorded] = queue.unrecorded ?? [];
    if (unrecorded !== undefined) throw unrecorded;
    if (runState.state !== "running" || aborted.aborted) return runState.state;
    const busy = runState.waves.reduce((total, { counts }) => total + counts.queued + counts.running, 0);
    const isBusy = busy > 0;
    if (stopping.aborted && !isBusy) {
      await queue.drain();
      await journal.recordInterruption(id, "It was interrupted; the tenants in progress are finished.");
      await events.emitNew();
      return runState.state;
    }
    // Doesn't wait for tenants that no worker has started, for example because none can.
    if (stopping.aborted) await journal.resetReleased(id);
    const remaining = stopping.aborted ? 0 : Math.max(0, capacity - busy);
    const step = chooseNextStep({ ...runState, anyTime, capacity: remaining }, Date.now());
    if (step.kind === "pause" && !stopping.aborted) {
      await journal.recordInterruption(id, step.reason, step.untilMs);
      await events.emitNew();
      return runState.state;
    }
    // After Ctrl-C, soaks and checks are left to the resumed run.
    if (step.kind === "wait" || step.kind === "pause" || stopping.aborted) await sleepUntilAborted(pollMs, aborted);
    else await executeStep(id, step, options);
  }
}

async function executeStep(
  id: string,
  step: Exclude<RolloutStep, { kind: "wait" | "pause" }>,
  options: CoordinatorOptions,
): Promise<void> {
  const { journal, queue, health, aborted } = options;
  switch (step.kind) {
    case "begin": {
      const blockReason = await options.beforeWave?.();
      return blockReason === undefined
        ? await journal.setWaveState(id, step.wave, "running")
        : await journal.stop(id, blockReason);
    }
    case "dispatch":
      return await journal.dispatch(id, step.wave, step.tenants, queue);
    case "soak":
      return await journal.setWaveState(id, step.wave, "soaking", { soakUntilMs: step.untilMs });
    case "check": {
      const { spec } = await journal.getRollout(id);
      const wave = spec.waves[step.wave];
      if (wave === undefined) return;
      const tenants = await journal.listTenants(id);
      const unreviewed = new Map((wave.unreviewed ?? []).map(({ name, sinceMs }) => [name, sinceMs]));
      const findSkip = createSkipLookup(spec.skipped);
      const changed = tenants
        .filter((tenant) => tenant.wave === step.wave && findSkip(tenant.target) === undefined)
        .filter((tenant) => tenant.state === "done" || unreviewed.has(tenant.name))
        .map((tenant) => ({ ...tenant, finishedAtMs: tenant.finishedAtMs ?? unreviewed.get(tenant.name) }));
      const result = await checkHealth(wave, changed, health);
      // An aborted check says nothing about the wave.
      if (aborted.aborted) return;
      return await journal.setWaveState(id, step.wave, "checking", { health: result });
    }
    case "settle":
      return await journal.setWaveState(id, step.wave, "done");
    case "hand-over":
      return await journal.recordWaiting(id, step.wave, step.reason);
    case "stop":
      return await journal.stop(id, step.reason);
    case "finish":
      return await journal.finishRollout(id);
  }
}

async function sleepUntilAborted(ms: number, signal: AbortSignal): Promise<void> {
  await sleep(ms, undefined, { signal }).catch(() => {});
}

/** Reads the events of a rollout as they arrive. */
class EventTail {
  readonly #id: string;
  readonly #options: Pick<CoordinatorOptions, "journal" | "onEvent">;
  #seq: number | undefined;

  constructor(id: string, options: Pick<CoordinatorOptions, "journal" | "onEvent">) {
    this.#id = id;
    this.#options = options;
  }

  async emitNew(): Promise<void> {
    const { journal, onEvent } = this.#options;
    // Earlier runs already reported their events.
    this.#seq ??= await journal.getLastStart(this.#id);
    for (;;) {
      const events = await journal.listEvents(this.#id, this.#seq);
      for (const event of events) {
        this.#seq = event.seq;
        onEvent(event);
      }
      if (events.length < 1_000) return;
    }
  }
}

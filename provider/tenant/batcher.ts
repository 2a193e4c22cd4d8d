import { type Deadline, getCurrentDeadline, runInDeadlineContext } from "../client/deadline-context";
import type { ScheduleBatch } from "./time";

export interface BatchMember<Answer> {
  readonly item: string;
  readonly resolve: (answer: Answer) => void;
  readonly reject: (error: unknown) => void;
  /** The deadlines of its callers. Undefined for a caller without one. */
  readonly deadlines: readonly (Deadline | undefined)[];
}

export interface BatcherOptions<Answer> {
  /** Returns the key of an item. Items with the same key are sent once. */
  readonly getKey: (item: string) => string;
  readonly maxSize: number;
  /** Sends a batch and settles its members. If it throws, the remaining members are rejected. */
  readonly send: (batch: ReadonlyMap<string, BatchMember<Answer>>) => Promise<void>;
  readonly scheduleBatch: ScheduleBatch;
}

/**
 * Collects concurrent requests and sends them in as few batches as possible. While batches are in flight, new requests
 * collect for the next ones. A batch omits expired requests. A batch in flight is abandoned when all its members have
 * expired.
 */
export class Batcher<Answer> {
  readonly #options: BatcherOptions<Answer>;
  #waitingMembers = new Map<string, WaitingMember<Answer>>();
  #isScheduled = false;
  #inFlight: Promise<unknown> | undefined;

  constructor(options: BatcherOptions<Answer>) {
    this.#options = options;
  }

  submit(item: string): Promise<Answer> {
    const key = this.#options.getKey(item);
    const waitingMember = this.#waitingMembers.get(key) ?? createMember<Answer>(item);
    waitingMember.deadlines.push(getCurrentDeadline());
    this.#waitingMembers.set(key, waitingMember);
    if (!this.#isScheduled) {
      this.#isScheduled = true;
      runInDeadlineContext(undefined, () => this.#options.scheduleBatch(() => void this.#sendWaiting()));
    }
    return waitingMember.answer;
  }

  async #sendWaiting(): Promise<void> {
    await this.#inFlight;
    const waitingMember = [...this.#waitingMembers];
    this.#waitingMembers = new Map();
    this.#isScheduled = false;
    const wantedMembers = waitingMember.filter(([, member]) => hasActiveCaller(member));
    for (const [, member] of waitingMember) {
      if (!hasActiveCaller(member)) member.reject(new Error("it is no longer needed"));
    }
    const batches: Promise<void>[] = [];
    for (let index = 0; index < wantedMembers.length; index += this.#options.maxSize) {
      batches.push(this.#send(new Map(wantedMembers.slice(index, index + this.#options.maxSize))));
    }
    this.#inFlight = Promise.all(batches);
  }

  async #send(batch: ReadonlyMap<string, BatchMember<Answer>>): Promise<void> {
    try {
      await runInDeadlineContext(combineDeadlines([...batch.values()]), () => this.#options.send(batch));
    } catch (error) {
      for (const member of batch.values()) member.reject(error);
    }
  }
}

export function hasActiveCaller({ deadlines }: Pick<BatchMember<never>, "deadlines">): boolean {
  return deadlines.some((deadline) => deadline?.isExpired() !== true);
}

/** Combines the deadlines of several members. The result expires when all of them have expired. */
function combineDeadlines(members: readonly Pick<BatchMember<never>, "deadlines">[]): Deadline | undefined {
  const deadlines = members.flatMap((member) => member.deadlines);
  if (deadlines.every((deadline) => deadline === undefined)) return undefined;
  return {
    isExpired: () => !members.some(hasActiveCaller),
    recordRequest(requestText) {
      for (const deadline of deadlines) deadline?.recordRequest(requestText);
    },
  };
}

interface WaitingMember<Answer> extends BatchMember<Answer> {
  readonly deadlines: (Deadline | undefined)[];
  readonly answer: Promise<Answer>;
}

function createMember<Answer>(item: string): WaitingMember<Answer> {
  let resolve: BatchMember<Answer>["resolve"] = () => {};
  let reject: BatchMember<Answer>["reject"] = () => {};
  const answer = new Promise<Answer>((onResolve, onReject) => {
    resolve = onResolve;
    reject = onReject;
  });
  return { item, resolve, reject, answer, deadlines: [] };
}

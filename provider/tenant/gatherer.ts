import { type Bound, bounded, currentBound } from "../client/bound";
import type { Gather } from "./time";

/** One request of a batch, with the callbacks that settle it. */
export interface Member<Answer> {
  readonly asked: string;
  readonly resolve: (answer: Answer) => void;
  readonly reject: (error: unknown) => void;
  /** The deadlines of its callers; undefined for a caller without one. */
  readonly bounds: readonly (Bound | undefined)[];
}

export interface GathererOptions<Answer> {
  /** What is asked for twice is asked for once: the same key is the same thing. */
  readonly key: (item: string) => string;
  /** The most members of a batch. */
  readonly most: number;
  /** Sends a batch and settles its members; if it throws, the remaining members are rejected. */
  readonly send: (batch: ReadonlyMap<string, Member<Answer>>) => Promise<void>;
  readonly gather: Gather;
}

/**
 * Collects concurrent requests and sends them in as few batches as possible. While batches are in flight, new requests collect
 * for the next ones. A batch leaves out expired requests; a batch in flight is abandoned when all its members have expired.
 */
export class Gatherer<Answer> {
  readonly #options: GathererOptions<Answer>;
  #waitingMembers = new Map<string, WaitingMember<Answer>>();
  #isScheduled = false;
  #inFlight: Promise<unknown> | undefined;

  constructor(options: GathererOptions<Answer>) {
    this.#options = options;
  }

  /** The answer for what is asked, out of the batch that it goes in. */
  ask(item: string): Promise<Answer> {
    const key = this.#options.key(item);
    const waitingMember = this.#waitingMembers.get(key) ?? createMember<Answer>(item);
    waitingMember.bounds.push(currentBound());
    this.#waitingMembers.set(key, waitingMember);
    if (!this.#isScheduled) {
      this.#isScheduled = true;
      bounded(undefined, () => this.#options.gather(() => void this.#sendWaiting()));
    }
    return waitingMember.answer;
  }

  async #sendWaiting(): Promise<void> {
    await this.#inFlight;
    const waitingMember = [...this.#waitingMembers];
    this.#waitingMembers = new Map();
    this.#isScheduled = false;
    const wantedMembers = waitingMember.filter(([, member]) => isWanted(member));
    for (const [, member] of waitingMember) {
      if (!isWanted(member)) member.reject(new Error("nobody waits for it any more"));
    }
    const batches: Promise<void>[] = [];
    for (let index = 0; index < wantedMembers.length; index += this.#options.most) {
      batches.push(this.#send(new Map(wantedMembers.slice(index, index + this.#options.most))));
    }
    this.#inFlight = Promise.all(batches);
  }

  async #send(batch: ReadonlyMap<string, Member<Answer>>): Promise<void> {
    try {
      await bounded(combineDeadlines([...batch.values()]), () => this.#options.send(batch));
    } catch (error) {
      for (const member of batch.values()) member.reject(error);
    }
  }
}

/** Whether any caller of the request still has time. */
export function isWanted({ bounds }: Pick<Member<never>, "bounds">): boolean {
  return bounds.some((deadline) => deadline?.isOver() !== true);
}

/** The bound of what is sent for several: as long as one of them wants it. */
function combineDeadlines(members: readonly Pick<Member<never>, "bounds">[]): Bound | undefined {
  const deadlines = members.flatMap((member) => member.bounds);
  if (deadlines.every((deadline) => deadline === undefined)) return undefined;
  return {
    isOver: () => !members.some(isWanted),
    sends(requestText) {
      for (const deadline of deadlines) deadline?.sends(requestText);
    },
  };
}

interface WaitingMember<Answer> extends Member<Answer> {
  readonly bounds: (Bound | undefined)[];
  readonly answer: Promise<Answer>;
}

function createMember<Answer>(item: string): WaitingMember<Answer> {
  let resolve: Member<Answer>["resolve"] = () => {};
  let reject: Member<Answer>["reject"] = () => {};
  const answer = new Promise<Answer>((onResolve, onReject) => {
    resolve = onResolve;
    reject = onReject;
  });
  return { asked: item, resolve, reject, answer, bounds: [] };
}

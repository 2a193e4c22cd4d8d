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
  /** Returns the key of a request. Requests with the same key are sent once. */
  readonly key: (asked: string) => string;
  /** The maximum number of members in a batch. */
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
  #waiting = new Map<string, Waiting<Answer>>();
  #isGathering = false;
  #onTheWay: Promise<unknown> | undefined;

  constructor(options: GathererOptions<Answer>) {
    this.#options = options;
  }

  /** Returns the answer to one request, sent as part of a batch. */
  ask(asked: string): Promise<Answer> {
    const key = this.#options.key(asked);
    const waiting = this.#waiting.get(key) ?? newMember<Answer>(asked);
    waiting.bounds.push(currentBound());
    this.#waiting.set(key, waiting);
    if (!this.#isGathering) {
      this.#isGathering = true;
      bounded(undefined, () => this.#options.gather(() => void this.#sendGathered()));
    }
    return waiting.answer;
  }

  async #sendGathered(): Promise<void> {
    await this.#onTheWay;
    const waiting = [...this.#waiting];
    this.#waiting = new Map();
    this.#isGathering = false;
    const gathered = waiting.filter(([, member]) => isWanted(member));
    for (const [, member] of waiting) {
      if (!isWanted(member)) member.reject(new Error("nobody waits for it any more"));
    }
    const batches: Promise<void>[] = [];
    for (let at = 0; at < gathered.length; at += this.#options.most) {
      batches.push(this.#send(new Map(gathered.slice(at, at + this.#options.most))));
    }
    this.#onTheWay = Promise.all(batches);
  }

  async #send(batch: ReadonlyMap<string, Member<Answer>>): Promise<void> {
    try {
      await bounded(boundOf([...batch.values()]), () => this.#options.send(batch));
    } catch (error) {
      for (const member of batch.values()) member.reject(error);
    }
  }
}

/** Whether any caller of the request still has time. */
export function isWanted({ bounds }: Pick<Member<never>, "bounds">): boolean {
  return bounds.some((bound) => bound?.isOver() !== true);
}

/** Returns the deadline of a shared request: it lasts as long as any of its callers wants it. */
function boundOf(members: readonly Pick<Member<never>, "bounds">[]): Bound | undefined {
  const bounds = members.flatMap((member) => member.bounds);
  if (bounds.every((bound) => bound === undefined)) return undefined;
  return {
    isOver: () => !members.some(isWanted),
    sends(what) {
      for (const bound of bounds) bound?.sends(what);
    },
  };
}

interface Waiting<Answer> extends Member<Answer> {
  readonly bounds: (Bound | undefined)[];
  readonly answer: Promise<Answer>;
}

function newMember<Answer>(asked: string): Waiting<Answer> {
  let resolve: Member<Answer>["resolve"] = () => {};
  let reject: Member<Answer>["reject"] = () => {};
  const answer = new Promise<Answer>((yes, no) => {
    resolve = yes;
    reject = no;
  });
  return { asked, resolve, reject, answer, bounds: [] };
}

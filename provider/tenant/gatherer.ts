import { type Bound, bounded, currentBound } from "../client/bound";
import type { Gather } from "./time";

/** One of those who asked: what it asked for, and how it is told. */
export interface Member<Answer> {
  readonly asked: string;
  readonly resolve: (answer: Answer) => void;
  readonly reject: (error: unknown) => void;
  /** The bounds of those who asked for it; undefined for one without. */
  readonly bounds: readonly (Bound | undefined)[];
}

export interface GathererOptions<Answer> {
  /** What is asked for twice is asked for once: the same key is the same thing. */
  readonly key: (asked: string) => string;
  /** The most members of a batch. */
  readonly most: number;
  /** Sends a batch and tells its members; when it fails, those not told yet are told so. */
  readonly send: (batch: ReadonlyMap<string, Member<Answer>>) => Promise<void>;
  readonly gather: Gather;
}

/**
 * Gathers what is asked for at the same time and sends it in as few batches as there can be. While batches are on
 * their way, newcomers are gathered for the next ones. Who has no time any more when its batch is sent, is not in it; a batch
 * under way is given up when none of its members has.
 */
export class Gatherer<Answer> {
  readonly #options: GathererOptions<Answer>;
  #waiting = new Map<string, Waiting<Answer>>();
  #isGathering = false;
  #onTheWay: Promise<unknown> | undefined;

  constructor(options: GathererOptions<Answer>) {
    this.#options = options;
  }

  /** The answer for what is asked, out of the batch that it goes in. */
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

/** Whether any of those who asked for it still has time. */
export function isWanted({ bounds }: Pick<Member<never>, "bounds">): boolean {
  return bounds.some((bound) => bound?.isOver() !== true);
}

/** The bound of what is sent for several: as long as one of them wants it. */
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

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
  readonly key: (item: string) => string;
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

/** Whether any of those who asked for it still has time. */
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

import type { NoticeKind } from "../model/notify";
import { bodyFor } from "./bodies";
import { deliver } from "./deliver";
import type { Notice } from "./notice";
import type { Receiver } from "./receivers";

/** Tells receivers, in the order of notices to each. What fails is told at the end, and fails nothing else. */
export class Notifier {
  readonly #receivers: readonly Receiver[];
  readonly #ending = new AbortController();
  readonly #problems = new Set<string>();
  readonly #queues = new Map<Receiver, Promise<void>>();

  constructor(receivers: readonly Receiver[]) {
    this.#receivers = receivers;
  }

  /** Whether anybody is to be told of this. */
  isWanted(kind: NoticeKind): boolean {
    return this.#receivers.some((receiver) => isFor(receiver, kind));
  }

  /**
   * @param id the same whenever the same thing is told, also by another run.
   * @param notice made only where somebody is to be told.
   */
  tell(kind: NoticeKind, id: string, notice: () => Promise<Notice>): void {
    const made = this.isWanted(kind) ? notice() : undefined;
    if (made === undefined) return;
    // Its failure is heard of in each queue, maybe late.
    made.catch(() => {});
    for (const receiver of this.#receivers) {
      if (!isFor(receiver, kind)) continue;
      const before = this.#queues.get(receiver) ?? Promise.resolve();
      this.#queues.set(
        receiver,
        before.then(async () => await this.#send(receiver, id, made)),
      );
    }
  }

  /**
   * Waits until all is sent.
   *
   * @param waitMs how long at most, in milliseconds.
   * @returns why something was not, a sentence for people; undefined when all was.
   */
  async end(waitMs = 30_000): Promise<string | undefined> {
    const timer = setTimeout(() => this.#ending.abort(), waitMs);
    await Promise.all(this.#queues.values());
    clearTimeout(timer);
    return this.#problems.size === 0
      ? undefined
      : `Not everybody could be told: ${[...this.#problems].join("; ")}.`;
  }

  async #send(receiver: Receiver, id: string, made: Promise<Notice>): Promise<void> {
    const problem = await made
      .then(async ({ changes, ...notice }) => {
        const whole = receiver.changes && changes !== undefined ? { ...notice, changes } : notice;
        return await deliver(receiver, id, bodyFor(receiver.name, whole), { signal: this.#ending.signal });
      })
      .catch((error: unknown) => `${receiver.name} (${error instanceof Error ? error.name : "an error"})`);
    if (problem !== undefined) this.#problems.add(problem);
  }
}

/** Whoever hears of what stopped hears of what stopped for being unhealthy. */
function isFor({ kinds }: Receiver, kind: NoticeKind): boolean {
  return kinds.has(kind) || (kind === "unhealthy" && kinds.has("stopped"));
}

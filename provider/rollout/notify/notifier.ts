import type { NoticeKind } from "../model/notification-settings";
import { deliverNotice } from "./deliver-notice";
import type { Notice } from "./notice";
import { buildNoticeBody } from "./notice-body";
import type { Receiver } from "./receivers";

/** Sends notices to receivers, in order for each receiver. Failures are reported at the end and affect nothing else. */
export class Notifier {
  readonly #receivers: readonly Receiver[];
  readonly #abortController = new AbortController();
  readonly #problems = new Set<string>();
  readonly #queues = new Map<Receiver, Promise<void>>();

  constructor(receivers: readonly Receiver[]) {
    this.#receivers = receivers;
  }

  isWanted(kind: NoticeKind): boolean {
    return this.#receivers.some((receiver) => acceptsKind(receiver, kind));
  }

  /**
   * @param id stable for the same event, even across runs.
   * @param buildNotice builds the notice. Called only if a receiver wants it.
   */
  notify(kind: NoticeKind, id: string, buildNotice: () => Promise<Notice>): void {
    const pendingNotice = this.isWanted(kind) ? buildNotice() : undefined;
    if (pendingNotice === undefined) return;
    // Each queue handles the rejection, but possibly too late for Node.js.
    pendingNotice.catch(() => {});
    for (const receiver of this.#receivers) {
      if (!acceptsKind(receiver, kind)) continue;
      const previous = this.#queues.get(receiver) ?? Promise.resolve();
      this.#queues.set(
        receiver,
        previous.then(async () => await this.#send(receiver, id, pendingNotice)),
      );
    }
  }

  /**
   * Waits until all notices are sent.
   *
   * @returns a sentence about undelivered notices, for people. Undefined if all were delivered.
   */
  async flush(timeoutMs = 30_000): Promise<string | undefined> {
    const timer = setTimeout(() => this.#abortController.abort(), timeoutMs);
    await Promise.all(this.#queues.values());
    clearTimeout(timer);
    return this.#problems.size === 0
      ? undefined
      : `Some notices could not be delivered: ${[...this.#problems].join("; ")}.`;
  }

  async #send(receiver: Receiver, id: string, pendingNotice: Promise<Notice>): Promise<void> {
    const problem = await pendingNotice
      .then(async ({ changes, ...notice }) => {
        const visibleNotice = receiver.includesChanges && changes !== undefined ? { ...notice, changes } : notice;
        return await deliverNotice(receiver, id, buildNoticeBody(receiver.name, visibleNotice), {
          signal: this.#abortController.signal,
        });
      })
      .catch((error: unknown) => `${receiver.name} (${error instanceof Error ? error.name : "an error"})`);
    if (problem !== undefined) this.#problems.add(problem);
  }
}

/** A receiver of `stopped` notices also gets those about unhealthy waves. */
function acceptsKind({ kinds }: Receiver, kind: NoticeKind): boolean {
  return kinds.has(kind) || (kind === "unhealthy" && kinds.has("stopped"));
}

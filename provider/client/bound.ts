import { AsyncLocalStorage } from "node:async_hooks";

/** For how long requests are made for those who want something. */
export interface Bound {
  /** Whether nothing more is to be sent for them. */
  isOver(): boolean;
  /** Told of each request just before it is sent, as a message names it. */
  sends(requestText: string): void;
}

const deadlineStorage = new AsyncLocalStorage<Bound | undefined>();

/**
 * Does work whose requests are made within a bound: what is not sent when it is over, fails and is not sent. What is under way
 * then goes on to its end.
 */
export function bounded<T>(deadline: Bound | undefined, work: () => T): T {
  return deadline === deadlineStorage.getStore() ? work() : deadlineStorage.run(deadline, work);
}

/** The bound of the work that asks; undefined for one without. */
export function currentBound(): Bound | undefined {
  return deadlineStorage.getStore();
}

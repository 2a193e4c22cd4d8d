import { AsyncLocalStorage } from "node:async_hooks";

/** The deadline of the callers that requests are made for. */
export interface Deadline {
  /** Whether to stop sending requests. */
  isExpired(): boolean;
  /** Told of each request just before it is sent, as a message names it. */
  recordRequest(requestText: string): void;
}

const deadlineStorage = new AsyncLocalStorage<Deadline | undefined>();

/**
 * Does work whose requests are made within a bound: what is not sent when it is over, fails and is not sent. What is under way
 * then goes on to its end.
 */
export function runInDeadlineContext<T>(deadline: Deadline | undefined, work: () => T): T {
  return deadline === deadlineStorage.getStore() ? work() : deadlineStorage.run(deadline, work);
}

/** Returns the deadline of the current work; undefined if it has none. */
export function getCurrentDeadline(): Deadline | undefined {
  return deadlineStorage.getStore();
}

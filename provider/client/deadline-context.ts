import { AsyncLocalStorage } from "node:async_hooks";

/** The deadline of the callers that requests are made for. */
export interface Deadline {
  /** Returns whether to stop sending requests. */
  isExpired(): boolean;
  /** Called for each request just before it is sent, with its description for messages. */
  recordRequest(requestText: string): void;
}

const deadlineStorage = new AsyncLocalStorage<Deadline | undefined>();

/**
 * Runs work whose requests are subject to a deadline. A request that isn't sent before the deadline fails. Requests in
 * flight run to their end.
 */
export function runInDeadlineContext<T>(deadline: Deadline | undefined, work: () => T): T {
  return deadline === deadlineStorage.getStore() ? work() : deadlineStorage.run(deadline, work);
}

/** Returns the deadline of the current work; undefined if it has none. */
export function getCurrentDeadline(): Deadline | undefined {
  return deadlineStorage.getStore();
}

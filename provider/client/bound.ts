import { AsyncLocalStorage } from "node:async_hooks";

/** The deadline of the callers that requests are made for. */
export interface Bound {
  /** Whether to stop sending requests. */
  isOver(): boolean;
  /** Called just before each request is sent, with the request as messages name it. */
  sends(what: string): void;
}

const bounds = new AsyncLocalStorage<Bound | undefined>();

/** Runs work within a deadline: requests that would start after it fail unsent. Requests in flight continue. */
export function bounded<T>(bound: Bound | undefined, work: () => T): T {
  return bound === bounds.getStore() ? work() : bounds.run(bound, work);
}

/** Returns the deadline of the current work; undefined if it has none. */
export function currentBound(): Bound | undefined {
  return bounds.getStore();
}

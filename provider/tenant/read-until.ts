import { LIST_LAG_MS } from "../model/assumptions";
import { realSleep, type Sleep } from "./time";

/** The delay before the first refetch of a list, in milliseconds. It doubles each time. */
export const INITIAL_BACKOFF_MS = 100;

/**
 * Reads until the result is as expected, because the service's lists may lag behind its responses. The first read is
 * immediate. Later ones back off.
 *
 * @param sleep waits for a number of milliseconds. Default: the process's own timers.
 * @returns the last result, which may still be unexpected after {@link LIST_LAG_MS}.
 */
export async function readUntil<T>(
  read: () => Promise<T>,
  isExpected: (result: T) => boolean,
  sleep: Sleep = realSleep,
): Promise<T> {
  let result = await read();
  let remainingMs = LIST_LAG_MS;
  for (let pauseMs = INITIAL_BACKOFF_MS; remainingMs > 0 && !isExpected(result); pauseMs *= 2) {
    const waitMs = Math.min(pauseMs, remainingMs);
    await sleep(waitMs);
    remainingMs -= waitMs;
    result = await read();
  }
  return result;
}

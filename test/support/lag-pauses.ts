import { LIST_LAG_MS } from "../../provider/model/assumptions";
import { INITIAL_BACKOFF_MS } from "../../provider/tenant/read-until";

/** Returns the pauses between two reads of a lagging list, and their sum, in milliseconds. */
export function listLagPauses(): number[] {
  const pauses: number[] = [LIST_LAG_MS];
  let remainingMs = LIST_LAG_MS;
  for (let pause = INITIAL_BACKOFF_MS; remainingMs > 0; pause *= 2) {
    pauses.push(Math.min(pause, remainingMs));
    remainingMs -= pause;
  }
  return pauses;
}

/** Formats a duration for people: `0.4 s`, `12 s`, `4 min 12 s`, `2 h 5 min`, `3 d 4 h`. An invalid duration becomes `0 s`. */
export function formatDuration(ms: number): string {
  if (!(ms > 0)) return "0 s";
  if (ms < 9_950) return `${(ms / SECOND).toFixed(1)} s`;
  const seconds = Math.round(ms / SECOND);
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3_600) return formatTwoUnits(seconds, 60, "min", "s");
  const minutes = Math.round(seconds / 60);
  if (minutes < 1_440) return formatTwoUnits(minutes, 60, "h", "min");
  return formatTwoUnits(Math.round(minutes / 60), 24, "d", "h");
}

/** Formats a duration in whole seconds, for live displays. */
export function formatWholeSeconds(ms: number): string {
  const roundedMs = Math.max(0, Math.round(ms / SECOND)) * SECOND;
  return roundedMs < 10 * SECOND ? `${roundedMs / SECOND} s` : formatDuration(roundedMs);
}

/** Returns the milliseconds between two times. Undefined if either is invalid. */
export function getElapsedMs(from: string | undefined, until: string | undefined): number | undefined {
  const ms = Date.parse(until ?? "") - Date.parse(from ?? "");
  return Number.isNaN(ms) ? undefined : Math.max(0, ms);
}

const SECOND = 1_000;

function formatTwoUnits(count: number, size: number, large: string, small: string): string {
  const remainder = count % size;
  const text = `${Math.floor(count / size)} ${large}`;
  return remainder === 0 ? text : `${text} ${remainder} ${small}`;
}

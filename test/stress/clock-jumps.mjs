// @ts-check

/** The offset of the clock in each period, in minutes. */
const OFFSETS = [0, 3, 0, -2];

const PERIOD_MS = 15_000;

/**
 * Returns the offset of the clock at a true time, in milliseconds. It depends on nothing else, so that the clocks of
 * all processes jump together.
 *
 * @param {number} now
 */
export function getClockOffset(now) {
  return (OFFSETS[Math.floor(now / PERIOD_MS) % OFFSETS.length] ?? 0) * 60_000;
}

/** Returns a time in milliseconds that all processes of this machine share, and that setting the clock doesn't change. */
export function getMonotonicMs(): number {
  return Number(process.hrtime.bigint()) / 1_000_000;
}

// @ts-check
/*
 * A preload module that makes the clock of a process jump by minutes, forth and back: node --import ".../jumping-clock.mjs".
 * Monotonic time and timers stay as they are. Plain JavaScript, because older Node.js versions load it, too.
 */
import { getClockOffset } from "./clock-jumps.mjs";

const RealDate = Date;

function now() {
  const trueNow = RealDate.now();
  return trueNow + getClockOffset(trueNow);
}

// A proxy, because a class can't be called as a function.
globalThis.Date = new Proxy(RealDate, {
  apply: () => new RealDate(now()).toString(),
  construct: (target, values, newTarget) =>
    Reflect.construct(target, values.length === 0 ? [now()] : values, newTarget),
  get: (target, name, receiver) => (name === "now" ? now : Reflect.get(target, name, receiver)),
});

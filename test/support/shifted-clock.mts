/*
 * A preload module that sets a process's clock back: node --import ".../shifted-clock.mts?behindMs=120000". A negative
 * number sets it ahead.
 */

const behindMs = Number(new URL(import.meta.url).searchParams.get("behindMs"));
const RealDate = Date;

class ShiftedDate extends RealDate {
  constructor(...values: [] | [number]) {
    if (values.length === 0) super(ShiftedDate.now());
    else super(...values);
  }

  static override now(): number {
    return RealDate.now() - behindMs;
  }
}

globalThis.Date = ShiftedDate as DateConstructor;

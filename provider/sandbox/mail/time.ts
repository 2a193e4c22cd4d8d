import type { Random } from "./random";

export const SECOND = 1_000;
export const MINUTE = 60 * SECOND;
export const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

const HALF_YEAR_DAYS = 182;

export function pickWorkingTime(random: Random, now: number): number {
  for (;;) {
    const time = now - random.number() * HALF_YEAR_DAYS * DAY;
    const date = new Date(time);
    const isWeekend = date.getUTCDay() % 6 === 0;
    const isNight = date.getUTCHours() < 6 || date.getUTCHours() >= 20;
    if (!random.chance((isWeekend ? 0.25 : 1) * (isNight ? 0.2 : 1))) continue;
    if (time < now - MINUTE) return Math.floor(time);
  }
}

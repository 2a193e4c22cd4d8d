/** Hours of each week in which nothing starts. Plain data, stored in the journal. */
export interface ClosedHours {
  /** The original text: `Fri 16:00–Mon 06:00 Europe/Zurich`. */
  readonly text: string;
  /** Minutes since Monday 0:00 by the time zone's clocks. The start is inclusive, the end exclusive and possibly in the next week. */
  readonly from: number;
  readonly to: number;
  /** A name of the IANA time zone database. */
  readonly timeZone: string;
}

const DAYS = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];
const DAY = 24 * 60;
const WEEK = 7 * DAY;

const WRITTEN =
  /^(?:(Mon|Tue|Wed|Thu|Fri|Sat|Sun) )?(\d{1,2}):(\d{2}) ?[-–] ?(?:(Mon|Tue|Wed|Thu|Fri|Sat|Sun) )?(\d{1,2}):(\d{2})(?: ([A-Za-z][\w+/-]*))?$/;

/** The format of closed hours, for messages. */
export const CLOSED_HOURS_FORM =
  "Fri 16:00–Mon 06:00 Europe/Zurich, or 18:00–07:00 Europe/Zurich for every day; without a time zone in UTC";

/**
 * Parses closed hours: from one time of the week to another, or from one time of every day to another.
 *
 * @returns an error text if they are invalid.
 */
export function readClosedHours(text: string): readonly ClosedHours[] | string {
  const [, fromDay, fromHour = "", fromMinute = "", toDay, toHour = "", toMinute = "", timeZone = "UTC"] =
    WRITTEN.exec(text) ?? [];
  const [from, to] = [minutes(fromHour, fromMinute), minutes(toHour, toMinute)];
  const isRead = from !== undefined && to !== undefined && (fromDay === undefined) === (toDay === undefined);
  if (!isRead) return `are no hours; write ${CLOSED_HOURS_FORM}`;
  if (!isTimeZone(timeZone))
    return "name a time zone that is none; write one such as Europe/Zurich, or none for UTC";
  if (fromDay !== undefined && toDay !== undefined) {
    const [start, end] = [DAYS.indexOf(fromDay) * DAY + from, DAYS.indexOf(toDay) * DAY + to];
    if (start % WEEK === end % WEEK) return "end when they begin; write another time for one of the two";
    return [{ text, from: start, to: end, timeZone }];
  }
  if (from % DAY === to % DAY) return "end when they begin; write another time for one of the two";
  const length = (to - from + DAY) % DAY;
  return DAYS.map((_, day) => ({
    text,
    from: day * DAY + from,
    to: (day * DAY + from + length) % WEEK,
    timeZone,
  }));
}

/**
 * Returns when the current closed hours end, including those that follow without a gap, in milliseconds since 1970. Around a clock change,
 * the result may be off by an hour.
 *
 * @returns undefined outside closed hours.
 */
export function closedUntil(closed: readonly ClosedHours[], nowMs: number): number | undefined {
  let untilMs: number | undefined;
  // Some hour of the week is always open.
  for (let weeks = 0; weeks <= closed.length; weeks += 1) {
    const left = Math.max(0, ...closed.map((one) => minutesLeft(one, untilMs ?? nowMs)));
    if (left === 0) return untilMs;
    const beginMs = untilMs ?? nowMs;
    untilMs = beginMs - (beginMs % 60_000) + left * 60_000;
  }
  return untilMs;
}

/** Whether no time of the week is left to start anything. */
export function isAlwaysClosed(closed: readonly ClosedHours[]): boolean {
  // A week without a clock change in any time zone.
  const mondayMs = Date.UTC(2026, 0, 5);
  for (let minute = 0; minute < WEEK; minute += 1) {
    const left = Math.max(0, ...closed.map((one) => minutesLeft(one, mondayMs + minute * 60_000)));
    if (left === 0) return false;
    minute += left - 1;
  }
  return true;
}

function minutesLeft({ from, to, timeZone }: ClosedHours, atMs: number): number {
  const now = minuteOfWeek(atMs, timeZone);
  const length = (to - from + WEEK) % WEEK;
  const since = (now - from + WEEK) % WEEK;
  return since < length ? length - since : 0;
}

function minuteOfWeek(atMs: number, timeZone: string): number {
  const parts = clockOf(timeZone).formatToParts(atMs);
  const part = (type: string): string => parts.find((one) => one.type === type)?.value ?? "";
  return DAYS.indexOf(part("weekday")) * DAY + Number(part("hour")) * 60 + Number(part("minute"));
}

const clocks = new Map<string, Intl.DateTimeFormat>();

function clockOf(timeZone: string): Intl.DateTimeFormat {
  const known = clocks.get(timeZone);
  if (known !== undefined) return known;
  const clock = new Intl.DateTimeFormat("en-GB", {
    timeZone,
    weekday: "short",
    hour: "2-digit",
    minute: "2-digit",
    hourCycle: "h23",
  });
  clocks.set(timeZone, clock);
  return clock;
}

function minutes(hour: string, minute: string): number | undefined {
  const [hours, rest] = [Number(hour), Number(minute)];
  if (hour === "" || rest > 59 || hours > 24 || (hours === 24 && rest > 0)) return undefined;
  return hours * 60 + rest;
}

/** Whether this machine knows the time zone. Other machines may know different ones. */
export function isTimeZone(name: string): boolean {
  try {
    new Intl.DateTimeFormat("en-GB", { timeZone: name });
    return true;
  } catch {
    return false;
  }
}

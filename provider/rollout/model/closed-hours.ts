/** Hours of each week in which nothing starts. Plain data, stored in the journal. */
export interface ClosedHours {
  readonly text: string;
  /** Minutes since Monday 0:00 by the time zone's clocks. The start is inclusive, the end exclusive and possibly in the next week. */
  readonly from: number;
  readonly to: number;
  readonly timeZone: string;
}

const DAYS = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];
const DAY_MINUTES = 24 * 60;
const WEEK_MINUTES = 7 * DAY_MINUTES;

const CLOSED_HOURS_PATTERN =
  /^(?:(Mon|Tue|Wed|Thu|Fri|Sat|Sun) )?(\d{1,2}):(\d{2}) ?[-–] ?(?:(Mon|Tue|Wed|Thu|Fri|Sat|Sun) )?(\d{1,2}):(\d{2})(?: ([A-Za-z][\w+/-]*))?$/;

export const CLOSED_HOURS_FORMAT =
  "Fri 16:00–Mon 06:00 Europe/Zurich, or 18:00–07:00 Europe/Zurich for every day; without a time zone in UTC";

/**
 * Parses closed hours: from one time of the week to another, or from one time of every day to another.
 *
 * @returns an error text if they are invalid.
 */
export function parseClosedHours(text: string): readonly ClosedHours[] | string {
  const [, fromDay, fromHour = "", fromMinute = "", toDay, toHour = "", toMinute = "", timeZone = "UTC"] =
    CLOSED_HOURS_PATTERN.exec(text) ?? [];
  const [from, to] = [parseMinutes(fromHour, fromMinute), parseMinutes(toHour, toMinute)];
  const isParsed = from !== undefined && to !== undefined && (fromDay === undefined) === (toDay === undefined);
  if (!isParsed) return `aren't valid hours; write ${CLOSED_HOURS_FORMAT}`;
  if (!isTimeZone(timeZone)) return "have an unknown time zone; write one such as Europe/Zurich, or none for UTC";
  if (fromDay !== undefined && toDay !== undefined) {
    const [start, end] = [DAYS.indexOf(fromDay) * DAY_MINUTES + from, DAYS.indexOf(toDay) * DAY_MINUTES + to];
    if (start % WEEK_MINUTES === end % WEEK_MINUTES) return "start and end at the same time; change one of the two";
    return [{ text, from: start, to: end, timeZone }];
  }
  if (from % DAY_MINUTES === to % DAY_MINUTES) return "start and end at the same time; change one of the two";
  const length = (to - from + DAY_MINUTES) % DAY_MINUTES;
  return DAYS.map((_, day) => ({
    text,
    from: day * DAY_MINUTES + from,
    to: (day * DAY_MINUTES + from + length) % WEEK_MINUTES,
    timeZone,
  }));
}

/**
 * Returns when the current closed hours end, including those that follow without a gap, in milliseconds since 1970. Around a clock change,
 * the result may be off by an hour.
 *
 * @returns undefined outside closed hours.
 */
export function getClosedHoursEnd(closed: readonly ClosedHours[], nowMs: number): number | undefined {
  let untilMs: number | undefined;
  // Some hour of the week is always open.
  for (let weeks = 0; weeks <= closed.length; weeks += 1) {
    const remainingMinutes = Math.max(0, ...closed.map((hours) => getRemainingMinutes(hours, untilMs ?? nowMs)));
    if (remainingMinutes === 0) return untilMs;
    const startMs = untilMs ?? nowMs;
    untilMs = startMs - (startMs % 60_000) + remainingMinutes * 60_000;
  }
  return untilMs;
}

/** Whether no time of the week is left to start anything. */
export function isAlwaysClosed(closed: readonly ClosedHours[]): boolean {
  // A week without a clock change in any time zone.
  const mondayMs = Date.UTC(2026, 0, 5);
  for (let minute = 0; minute < WEEK_MINUTES; minute += 1) {
    const remainingMinutes = Math.max(
      0,
      ...closed.map((hours) => getRemainingMinutes(hours, mondayMs + minute * 60_000)),
    );
    if (remainingMinutes === 0) return false;
    minute += remainingMinutes - 1;
  }
  return true;
}

function getRemainingMinutes({ from, to, timeZone }: ClosedHours, atMs: number): number {
  const now = getMinuteOfWeek(atMs, timeZone);
  const length = (to - from + WEEK_MINUTES) % WEEK_MINUTES;
  const elapsed = (now - from + WEEK_MINUTES) % WEEK_MINUTES;
  return elapsed < length ? length - elapsed : 0;
}

function getMinuteOfWeek(atMs: number, timeZone: string): number {
  const parts = getClockFormatter(timeZone).formatToParts(atMs);
  const getPart = (type: string): string => parts.find((part) => part.type === type)?.value ?? "";
  return DAYS.indexOf(getPart("weekday")) * DAY_MINUTES + Number(getPart("hour")) * 60 + Number(getPart("minute"));
}

const formatters = new Map<string, Intl.DateTimeFormat>();

function getClockFormatter(timeZone: string): Intl.DateTimeFormat {
  const cached = formatters.get(timeZone);
  if (cached !== undefined) return cached;
  const formatter = new Intl.DateTimeFormat("en-GB", {
    timeZone,
    weekday: "short",
    hour: "2-digit",
    minute: "2-digit",
    hourCycle: "h23",
  });
  formatters.set(timeZone, formatter);
  return formatter;
}

function parseMinutes(hour: string, minute: string): number | undefined {
  const [hours, minuteNumber] = [Number(hour), Number(minute)];
  if (hour === "" || minuteNumber > 59 || hours > 24 || (hours === 24 && minuteNumber > 0)) return undefined;
  return hours * 60 + minuteNumber;
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

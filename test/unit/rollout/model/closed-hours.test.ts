import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  type ClosedHours,
  getClosedHoursEnd,
  isAlwaysClosed,
  parseClosedHours,
} from "../../../../provider/rollout/model/closed-hours";

function parseHours(...texts: readonly string[]): readonly ClosedHours[] {
  return texts.flatMap((text) => {
    const hours = parseClosedHours(text);
    if (typeof hours === "string") throw new Error(`${text} ${hours}`);
    return hours;
  });
}

function formatClosedUntil(time: string, ...texts: readonly string[]): string | undefined {
  const ms = getClosedHoursEnd(parseHours(...texts), Date.parse(time));
  return ms === undefined ? undefined : new Date(ms).toISOString().slice(0, 16);
}

describe("closed hours", () => {
  const WEEKEND = "Fri 16:00–Mon 06:00 Europe/Zurich";

  it.each([
    // Winter time is one hour ahead of UTC, summer time two.
    ["2026-11-20T14:59:59Z", undefined],
    ["2026-11-20T15:00:00Z", "2026-11-23T05:00"],
    ["2026-11-22T12:34:56Z", "2026-11-23T05:00"],
    ["2026-11-23T04:59:59Z", "2026-11-23T05:00"],
    ["2026-11-23T05:00:00Z", undefined],
    ["2026-07-03T13:59:00Z", undefined],
    ["2026-07-03T14:00:00Z", "2026-07-06T04:00"],
  ])("cover a weekend in local time: %s", (time, expected) => expect(formatClosedUntil(time, WEEKEND)).toBe(expected));

  it("cover nights across midnight and join adjacent ranges", () => {
    expect(formatClosedUntil("2026-11-23T23:10:00Z", "18:00-07:00")).toBe("2026-11-24T07:00");
    expect(formatClosedUntil("2026-11-23T17:59:00Z", "18:00-07:00")).toBeUndefined();
    expect(formatClosedUntil("2026-11-20T19:00:00Z", "18:00-07:00", "Sat 07:00-Sun 20:00")).toBe("2026-11-23T07:00");
  });

  it("cover exactly the declared minutes", () => {
    const day = fc.constantFrom("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun");
    const clock = fc.tuple(fc.nat(23), fc.nat(59));
    const padTwo = (n: number): string => String(n).padStart(2, "0");
    fc.assert(
      fc.property(day, clock, day, clock, fc.nat(7 * 1_440 - 1), (d1, [h1, m1], d2, [h2, m2], minute) => {
        const days = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];
        const [from, to] = [days.indexOf(d1) * 1_440 + h1 * 60 + m1, days.indexOf(d2) * 1_440 + h2 * 60 + m2];
        fc.pre(from !== to);
        const closed = parseHours(`${d1} ${padTwo(h1)}:${padTwo(m1)}–${d2} ${padTwo(h2)}:${padTwo(m2)}`);
        const isIn = from < to ? minute >= from && minute < to : minute >= from || minute < to;
        const nowMs = Date.UTC(2026, 10, 23) + minute * 60_000;
        const endMs = getClosedHoursEnd(closed, nowMs);
        expect(endMs !== undefined).toBe(isIn);
        if (endMs !== undefined) expect(getClosedHoursEnd(closed, endMs)).toBeUndefined();
        expect(isAlwaysClosed(closed)).toBe(false);
      }),
    );
  });

  it("are detected when they leave no open time", () => {
    expect(isAlwaysClosed(parseHours("Mon 00:00–Sun 23:00", "Sun 22:00–Mon 00:00"))).toBe(true);
    expect(isAlwaysClosed(parseHours("00:00-12:00", "12:00-24:00"))).toBe(true);
    expect(isAlwaysClosed(parseHours("00:00-12:00", "12:01-24:00"))).toBe(false);
  });

  it.each([
    ["weekends", /aren't valid hours; write Fri 16:00/],
    ["Fri 16:00-06:00", /aren't valid hours/],
    ["Fri 25:00-Mon 06:00", /aren't valid hours/],
    ["Fri 16:60-Mon 06:00", /aren't valid hours/],
    ["Fri 16:00–Mon 06:00 Europe/Zuerich", /have an unknown time zone/],
    ["Fri 16:00–Fri 16:00", /start and end at the same time/],
    ["00:00-24:00", /start and end at the same time/],
  ])("are rejected with an explanation when invalid: %s", (text, message) =>
    expect(parseClosedHours(text)).toMatch(message),
  );
});

import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import {
  formatWait,
  MAX_RETRY_AFTER_MS,
  parseRetryAfterMs,
  parseServiceTimeMs,
} from "../../../provider/client/retry-after";

const NOW = "2026-03-02T10:00:00Z";

beforeEach(() => {
  vi.useFakeTimers({ now: Date.parse(NOW), toFake: ["Date"] });
});

afterEach(() => {
  vi.useRealTimers();
});

function parseHeaders(retryAfter: string | string[], date?: string): number | undefined {
  return parseRetryAfterMs({ headers: { "retry-after": retryAfter, ...(date && { date }) } });
}

describe("a wait in Retry-After", () => {
  it.each([
    ["5", 5_000],
    ["0", 0],
    ["1.5", 1_500],
    ["1.", 1_000],
    [".5", 500],
    ["2e3", 2_000_000],
    ["2e+3", 2_000_000],
    ["+5", 5_000],
    ["-5", 5_000],
    ['"5"', 5_000],
    [" 5 ", 5_000],
    ["5 s", 5_000],
    ["5sec", 5_000],
    ["1 second", 1_000],
    ["5 SECONDS", 5_000],
    ["250ms", 250],
    ["1 millisecond", 1],
    ["250 milliseconds", 250],
    ["2 m", 120_000],
    ["1 min", 60_000],
    ["2 mins", 120_000],
    ["1 minute", 60_000],
    ["2 minutes", 120_000],
    ["1 h", 3_600_000],
    ["1 hr", 3_600_000],
    ["2 hrs", 7_200_000],
    ["1 hour", 3_600_000],
    ["2 hours", 7_200_000],
  ])("%j takes %i ms", (text, waitMs) => {
    expect(parseHeaders(text)).toBe(waitMs);
  });

  it.each(["", "soon", "5 days", "x5", "5x", "1e", "5.5.5", "1-2"])("%j is unreadable", (text) => {
    expect(parseHeaders(text)).toBeUndefined();
  });

  it.each([["5, 20, 10"], ["5; 20; 10"], [["5", "20", "10"]], ["soon, 20"]])("is the longest of %j", (texts) => {
    expect(parseHeaders(texts)).toBe(20_000);
  });

  it("is at most 7 days", () => {
    expect(parseHeaders("604799")).toBe(604_799_000);
    expect(parseHeaders("604801")).toBe(604_800_000);
  });

  it("is undefined without the header", () => {
    expect(parseRetryAfterMs({ headers: {} })).toBeUndefined();
  });
});

describe("a date in Retry-After", () => {
  it.each([
    "Mon, 02 Mar 2026 10:01:30 GMT",
    "Mon, 02 Mar 2026 10:01:30 UTC",
    "Mon, 02 Mar 2026 10:01:30 Z",
    "Mon, 02 Mar 2026 11:01:30 +0100",
    "Monday, 02-Mar-26 10:01:30 GMT",
    "Mon Mar  2 10:01:30 2026",
    "2026-03-02T10:01:30Z",
    "2026-03-02t10:01:30z",
    "2026-03-02 10:01:30Z",
    "2026-03-02T10:01:30.000Z",
    "2026-03-02T11:01:30+01:00",
    "2026-03-02T09:01:30-01:00",
  ])("%j is 90 s ahead", (text) => {
    expect(parseHeaders(text)).toBe(90_000);
  });

  it("takes no wait if it has passed", () => {
    expect(parseHeaders("Mon, 02 Mar 2026 09:00:00 GMT")).toBe(0);
  });

  it("is compared with the service's clock", () => {
    expect(parseHeaders("Mon, 02 Mar 2026 10:01:30 GMT", "Mon, 02 Mar 2026 10:01:00 GMT")).toBe(30_000);
  });

  it("is compared with this machine's clock if the service's is unreadable", () => {
    expect(parseHeaders("Mon, 02 Mar 2026 10:01:30 GMT", "now")).toBe(90_000);
  });

  it("is unreadable if no such day exists", () => {
    expect(parseHeaders("Mon, 99 Mar 2026 10:01:30 GMT")).toBeUndefined();
  });

  it("counts next to a number of seconds", () => {
    expect(parseHeaders("30, Mon, 02 Mar 2026 10:01:30 GMT")).toBe(90_000);
    expect(parseHeaders("Mon, 02 Mar 2026 10:01:30 GMT, 300")).toBe(300_000);
  });

  it("counts next to another date", () => {
    expect(parseHeaders("Mon, 02 Mar 2026 10:01:30 GMT, Mon, 02 Mar 2026 10:02:00 GMT")).toBe(120_000);
  });
});

describe("the service's clock", () => {
  it("is the first date of the header", () => {
    expect(parseServiceTimeMs({ date: "Mon, 02 Mar 2026 10:00:00 GMT" })).toBe(Date.parse(NOW));
  });

  it.each([undefined, "", "now", []])("is unknown with the header %j", (date) => {
    expect(parseServiceTimeMs({ date })).toBeUndefined();
  });
});

describe("formatWait", () => {
  it.each([undefined, 0])("names no time for %s", (waitMs) => {
    expect(formatWait(waitMs, 1_000)).toBe("wait");
  });

  it("rounds up to seconds", () => {
    expect(formatWait(1_001, 120_000)).toBe("wait 2 s");
  });

  it("names no end of the longest wait that isn't long", () => {
    expect(formatWait(120_000, 120_000)).toBe("wait 120 s");
  });

  it("names the end of a long wait", () => {
    expect(formatWait(120_001, 120_000)).toBe(
      "wait 121 s (until 2026-03-02T10:02:00Z), which is longer than a run waits",
    );
  });

  it("names the earliest end of a capped wait", () => {
    expect(formatWait(MAX_RETRY_AFTER_MS, 120_000)).toBe(
      "wait 604800 s (at least until 2026-03-09T10:00:00Z), which is longer than a run waits",
    );
  });
});

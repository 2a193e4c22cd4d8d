import { stripVTControlCharacters } from "node:util";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { fitToWidth, getTextWidth, truncateToWidth } from "../../../../provider/render/text-width";
import { renderLiveScreen } from "../../../../provider/rollout/progress/live-screen";
import { ProgressModel } from "../../../../provider/rollout/progress/progress-model";
import { findTerminalCommands, hostileText } from "../../../support/hostile-text";
import { type PlayedRollout, playRollout, playTextRollout, rollouts } from "../../../support/rollouts";

function renderScreen(
  { before, events }: PlayedRollout,
  count: number,
  { columns = 80, rows = 24, color = false, laterMs = 2_000 } = {},
): string {
  const model = new ProgressModel(before);
  for (const event of events.slice(0, count)) model.handleEvent(event);
  const now = Date.parse(events[Math.max(0, count - 1)]?.occurredAt ?? "") + laterMs;
  return renderLiveScreen(model, { columns, rows, now, color });
}

describe("the live rollout screen", () => {
  const busy = rollouts.tolerated.events.findLastIndex(({ kind }) => kind === "tenant-started") - 60;

  test("shows progress, running and failed tenants of 300 in 24 lines", () => {
    const lines = renderScreen(rollouts.tolerated, busy).split("\n");
    expect(lines).toHaveLength(23);
    expect(lines[0]).toMatch(/^Rollout of tenants\.yaml {2}r-20261121-7f3a +1\d min \d+ s$/);
    expect(lines[1]).toMatch(/^█+✗▒░+ {2}2\d\d\/300 {2}8\d % {2}about \d\d s left$/);
    expect(lines[2]).toMatch(/^✗ 3 failed {3}▶ 7 running {3}✓ 199 changed {3}= 60 unchanged {3}· \d+ pending$/);
    expect(lines.slice(4, 7)).toEqual([
      expect.stringMatching(/^ {2}✓ canary {2}█{10} +6\/6 {2}done, took 51 s$/),
      expect.stringMatching(/^ {2}✓ early {3}█+✗ +45\/45 {2}done, took 1 min \d+ s {2}1 failed \(2 tolerated\)$/),
      expect.stringMatching(/^ {2}▶ rest {4}█+✗▒░+ +\d+\/249 {2}7 of 8 at once {2}2 failed \(2 tolerated\)$/),
    ]);
    expect(lines[8]).toBe("Running");
    const ran = lines.slice(9, 16).map((line) => Number(/ (\d+) s /.exec(line)?.[1]));
    expect(ran).toEqual(ran.toSorted((a, b) => b - a));
    expect(lines.join("\n")).toMatch(/\nFailed\n {2}✗ stark-industries-181 /);
    expect(lines.at(-1)).toBe("Press Ctrl-C once to finish running tenants and stop, twice to stop immediately");
  });

  test("counts down the soak time", () => {
    const soaking = rollouts.tolerated.events.findIndex(({ kind }) => kind === "wave-soaking") + 1;
    expect(renderScreen(rollouts.tolerated, soaking)).toMatch(/⧖ early .* soaking, 9 min 58 s to go/);
    expect(renderScreen(rollouts.tolerated, soaking, { laterMs: 599_000 })).toMatch(/soaking, 1 s to go/);
    const stopped = renderScreen(rollouts.stopped, rollouts.stopped.events.length);
    expect(stopped).toMatch(/\nSTOPPED {2}3 tenants of wave "early" failed, and 2 may\.\n/);
    expect(stopped).not.toMatch(/Ctrl-C|about/);
  });

  test("shows the waves around the current one", () => {
    const { before, events } = rollouts.middle;
    const waves = Array.from({ length: 60 }, (_, n) => ({
      ...(before.waves[0] as (typeof before.waves)[number]),
      name: `w${n}`,
      state: n < 30 ? ("done" as const) : ("pending" as const),
    }));
    const screen = renderScreen({ before: { ...before, waves }, events, after: before }, 0);
    expect(screen).toMatch(
      / {2}… 29 through\n {2}✓ w29 .*\n {2}· w30 .*\n {2}· w31 .*\n {2}· w32 .*\n {2}· w33 .*\n {2}… 26 more waves$/,
    );
  });

  test("stays within the terminal size as plain text", () => {
    const wide = fc.constantFrom(
      "日本語テナント",
      "👩‍👩‍👧‍👧",
      "❤️",
      "1️⃣",
      "e\u0301\u0301",
      "한국",
      "ﷺ",
      "\u{e0001}",
      "🇩🇪",
    );
    fc.assert(
      fc.property(
        fc.oneof(hostileText, wide),
        fc.integer({ min: 1, max: 160 }),
        fc.integer({ min: 1, max: 60 }),
        fc.nat(100),
        fc.boolean(),
        (text, columns, rows, part, color) => {
          const played = playTextRollout(text, 40);
          const count = Math.floor((part / 100) * played.events.length);
          const screen = renderScreen(played, count, { columns, rows, color });
          const lines = stripVTControlCharacters(screen).split("\n");
          expect(lines.length).toBeLessThanOrEqual(rows);
          for (const line of lines) expect(getTextWidth(line)).toBeLessThanOrEqual(columns);
          // The only colors are those of `styleText`.
          expect(findTerminalCommands(stripVTControlCharacters(screen))).toEqual([]);
          // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
          expect(findTerminalCommands(screen.replace(/\u001b\[\d+m/g, ""))).toEqual([]);
        },
      ),
      { numRuns: 200 },
    );
  });

  test("fits 1,000 running tenants into 24 lines", () => {
    const played = playRollout({ tenants: 1_000, unchangedEvery: 0, nameOf: (n) => `tenant-${n}` });
    const model = new ProgressModel(played.before);
    for (const [seq, { wave, name }] of played.before.tenants.entries()) {
      const occurredAt = "2026-11-21T08:00:00.000Z";
      model.handleEvent({
        kind: "tenant-started",
        seq,
        occurredAt,
        rollout: "r",
        wave,
        tenant: name,
        attempt: 1,
        worker: "w",
      });
    }
    const now = Date.parse("2026-11-21T08:00:05.000Z");
    const lines = renderLiveScreen(model, { columns: 80, rows: 24, now, color: false }).split("\n");
    expect(lines.length).toBeLessThanOrEqual(24);
    expect(lines).toContainEqual(expect.stringMatching(/^ {2}… 98\d more$/));
  });
});

describe("terminal width", () => {
  test.each([
    ["acme", 4],
    ["日本", 4],
    ["한국", 4],
    ["e\u0301", 1],
    ["❤️", 2],
    ["😀", 2],
    ["、。", 4],
    ["ａ", 2],
    ["█░✗", 3],
  ])("of %s is %d", (text, columns) => {
    expect(getTextWidth(text)).toBe(columns);
  });

  test("is never exceeded by truncated text", () => {
    expect(truncateToWidth("日本語", 5)).toBe("日本…");
    expect(truncateToWidth("日本語", 6)).toBe("日本語");
    expect(truncateToWidth("acme corp", 6)).toBe("acme…");
    expect(truncateToWidth("acme", 0)).toBe("");
    expect(fitToWidth("日本語", 6)).toBe("日本語");
    expect(fitToWidth("日本語", 4)).toBe("日… ");
    fc.assert(
      fc.property(fc.string({ unit: "grapheme" }), fc.nat(20), (text, columns) => {
        expect(getTextWidth(truncateToWidth(text, columns))).toBeLessThanOrEqual(columns);
        expect(getTextWidth(fitToWidth(text, columns))).toBe(columns);
      }),
    );
  });
});

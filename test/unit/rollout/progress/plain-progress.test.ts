import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { formatEventJson } from "../../../../provider/rollout/progress/event-json";
import { PlainProgress } from "../../../../provider/rollout/progress/plain-progress";
import { findTerminalCommands, hostileText } from "../../../support/hostile-text";
import { type PlayedRollout, playTextRollout, rollouts } from "../../../support/rollouts";

function renderPlainLines({ before, events }: PlayedRollout): string[] {
  const lines: string[] = [];
  const view = new PlainProgress(before, (line) => lines.push(line));
  for (const event of events) view.handleEvent(event);
  view.end();
  return lines;
}

describe("rollout progress as lines", () => {
  test("shows time, progress, wave, tenant and event", () => {
    const lines = renderPlainLines(rollouts.stopped);
    expect(lines).toHaveLength(rollouts.stopped.events.length);
    expect(lines.slice(0, 5)).toEqual([
      "2026-11-21 08:00:00Z   60/300  planned: 240 of 300 tenants to change, digest sha256:5d3c0f6a\n",
      "2026-11-21 08:01:00Z   60/300  rollout started\n",
      "2026-11-21 08:01:00Z   60/300  canary  wave started: 6 tenants\n",
      "2026-11-21 08:01:00Z   60/300  canary  acme-000: started by build-0:4100\n",
      "2026-11-21 08:01:03Z   61/300  canary  acme-000: changed in 3.0 s\n",
    ]);
    expect(lines).toContain(
      '2026-11-21 08:02:26Z   76/300  early  hooli-020: FAILED after 8.4 s, ERR_ROLLOUT_CHANGED: The tenant changed since it was planned: deny "evil.example" is there now. Fix: Plan the rollout again.\n',
    );
    expect(lines.at(-1)).toBe('2026-11-21 08:03:25Z   95/300  STOPPED: 3 tenants of wave "early" failed, and 2 may.\n');
  });

  test("prints one plain-text line per event for hostile text", () => {
    fc.assert(
      fc.property(hostileText, (text) => {
        for (const line of renderPlainLines(playTextRollout(text))) {
          expect(line.indexOf("\n")).toBe(line.length - 1);
          expect(findTerminalCommands(line)).toEqual([]);
          expect(line.length).toBeLessThan(20_000);
        }
      }),
      { numRuns: 50 },
    );
  });
});

test("formats an event as one plain-text JSON line that reads back", () => {
  fc.assert(
    fc.property(hostileText, (text) => {
      for (const event of playTextRollout(text).events) {
        const line = formatEventJson(event);
        expect(line.indexOf("\n")).toBe(line.length - 1);
        expect(findTerminalCommands(line)).toEqual([]);
        expect(JSON.parse(line)).toEqual(event);
      }
    }),
    { numRuns: 30 },
  );
});

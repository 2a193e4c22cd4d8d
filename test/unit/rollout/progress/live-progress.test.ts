import { Writable } from "node:stream";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { LiveProgress } from "../../../../provider/rollout/progress/live-progress";
import { rollouts } from "../../../support/rollouts";

/** A terminal as programs see it, which records what is written. */
class RecordingScreen extends Writable {
  readonly isTTY = true;
  columns = 80;
  rows = 24;
  frames: string[] = [];

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.frames.push(chunk.toString());
    done();
  }
}

beforeEach(() => {
  vi.useFakeTimers();
});

afterEach(() => {
  vi.useRealTimers();
});

function startProgress() {
  const { before, events } = rollouts.tolerated;
  const screen = new RecordingScreen();
  let now = Date.parse(events[0]?.occurredAt ?? "");
  const live = new LiveProgress(before, screen, { color: false, now: () => now });
  const playEvents = (count: number) => {
    for (const event of events.slice(0, count)) {
      live.handleEvent(event);
      now = Date.parse(event.occurredAt);
    }
  };
  return { screen, live, play: playEvents };
}

test("draws at most 5 times per second", () => {
  const { screen, live, play } = startProgress();
  expect(screen.frames).toHaveLength(1);
  play(400);
  expect(screen.frames).toHaveLength(1);
  vi.advanceTimersByTime(1_000);
  // Nothing happens in between, so one frame is enough.
  expect(screen.frames).toHaveLength(2);
  expect(screen.frames[1]).toMatch(/\d+\/300/);
  live.end();
});

test("keeps every frame within the terminal height", () => {
  const { screen, live, play } = startProgress();
  play(400);
  screen.rows = 10;
  screen.columns = 50;
  screen.emit("resize");
  const frame = screen.frames.at(-1) ?? "";
  expect(frame.split("\n").length).toBeLessThanOrEqual(10);
  expect(screen.frames.join("")).toContain("\u001b[H\u001b[J");
  live.end();
});

test("erases itself at the end", () => {
  const { screen, live, play } = startProgress();
  play(100);
  live.end();
  const { length } = screen.frames;
  const lines = screen.frames[0]?.split("\n").length ?? 0;
  const erased = screen.frames.at(-1)?.replaceAll("\u001b", "");
  expect(erased).toBe(`[?2026h\r[${lines - 1}A[J[?25h[?2026l`);
  live.end();
  screen.emit("resize");
  vi.advanceTimersByTime(5_000);
  expect(screen.frames).toHaveLength(length);
  expect(screen.listenerCount("resize")).toBe(0);
  expect(vi.getTimerCount()).toBe(0);
});

import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { RolloutEvent } from "../../../../provider/rollout/model/rollout-event";
import { MAX_FAILURES, ProgressModel } from "../../../../provider/rollout/progress/progress-model";
import { estimateRemainingTime } from "../../../../provider/rollout/progress/remaining-time";
import { type PlayedRollout, playRollout, rollouts } from "../../../support/rollouts";

function replayEvents({ before, events }: PlayedRollout, count = events.length): ProgressModel {
  const model = new ProgressModel(before);
  for (const event of events.slice(0, count)) model.handleEvent(event);
  return model;
}

const countUntilLast = ({ events }: PlayedRollout, kind: RolloutEvent["kind"]) =>
  events.findLastIndex((event) => event.kind === kind) + 1;

describe("the progress model", () => {
  test.each(Object.entries(rollouts))("matches the final report of the %s rollout", (_, played) => {
    const model = replayEvents(played);
    const { counts, waves, state, reason } = played.after;
    expect(model.state).toBe(state);
    expect(model.reason).toBe(reason);
    expect(model.running.size).toBe(0);
    expect(model.counts).toEqual({
      remaining: counts.pending,
      running: 0,
      done: counts.done,
      unchanged: counts.unchanged,
      failed: counts.failed,
      skipped: counts.skipped,
    });
    expect(model.waves.map((wave) => [wave.name, wave.state, wave.counts.failed])).toEqual(
      waves.map((wave) => [wave.name, wave.state, wave.counts.failed]),
    );
    expect(model.failures).toHaveLength(Math.min(MAX_FAILURES, counts.failed));
  });

  test("is the same from events and from the report", () => {
    const eventModel = replayEvents(rollouts.tolerated);
    const read = new ProgressModel(rollouts.tolerated.after);
    expect(read.counts).toEqual(eventModel.counts);
    expect(read.durations).toEqual(eventModel.durations);
    expect(read.waves.map(({ counts }) => counts)).toEqual(eventModel.waves.map(({ counts }) => counts));
  });

  test("counts every tenant once at any time, even with repeated events", () => {
    const { before, events } = rollouts.middle;
    fc.assert(
      fc.property(fc.nat(events.length), fc.nat(20), (count, back) => {
        const model = replayEvents(rollouts.middle, count);
        for (const event of events.slice(Math.max(0, count - back), count)) model.handleEvent(event);
        const { remaining, running, done, unchanged, failed } = model.counts;
        expect(remaining + running + done + unchanged + failed).toBe(before.tenants.length);
        expect(running).toBe(model.running.size);
        for (const wave of model.waves) {
          const sum = Object.values(wave.counts).reduce((a, b) => a + b, 0);
          expect(sum).toBe(wave.total);
          expect(Math.min(...Object.values(wave.counts))).toBeGreaterThanOrEqual(0);
        }
      }),
      { numRuns: 60 },
    );
  });

  test("resets a tenant when another worker takes its job", () => {
    const model = replayEvents(rollouts.middle, 4);
    const [[tenant, running] = []] = [...model.running];
    const base = { seq: 9, occurredAt: "2026-11-21T09:00:00.000Z", rollout: "r", wave: "canary", tenant: tenant ?? "" };
    model.handleEvent({ ...base, kind: "tenant-note", message: "Its worker died" });
    expect(model.running.get(tenant ?? "")).toEqual({ ...running, note: "Its worker died" });
    model.handleEvent({ ...base, kind: "tenant-started", attempt: 2, worker: "other:1" });
    expect(model.running.get(tenant ?? "")).toEqual({
      wave: "canary",
      attempt: 2,
      worker: "other:1",
      sinceMs: Date.parse("2026-11-21T09:00:00.000Z"),
    });
    expect(model.counts.running).toBe(1);
  });

  test("updates the failures when a failed tenant is retried", () => {
    const { after } = rollouts.middle;
    const model = new ProgressModel(after);
    const [failed] = model.failures;
    const { name: tenant = "", wave = "" } = failed ?? {};
    const base = { seq: 9, occurredAt: "2026-11-21T09:00:00.000Z", rollout: "r", wave, tenant };
    model.handleEvent({ ...base, kind: "tenant-started", attempt: 2, worker: "w" });
    expect([model.failures, model.counts.failed, model.counts.running]).toEqual([[], 0, 1]);
    model.handleEvent({ ...base, kind: "tenant-finished", state: "failed", durationMs: 5 });
    expect([model.failures, model.counts.failed, model.counts.running]).toEqual([[{ name: tenant, wave }], 1, 0]);
  });

  test("finishes a gated wave when the next one begins", () => {
    const model = replayEvents(rollouts.stopped, countUntilLast(rollouts.stopped, "wave-finished"));
    const base = { seq: 9, occurredAt: "2026-11-21T09:00:00.000Z", rollout: "r" };
    model.handleEvent({ ...base, kind: "waiting", wave: "canary", reason: "A person says when." });
    expect([model.state, model.reason, model.waves[0]?.state]).toEqual(["waiting", "A person says when.", "gated"]);
    model.handleEvent({ ...base, kind: "started", resumed: true });
    model.handleEvent({ ...base, kind: "wave-started", wave: "early", tenants: 45 });
    expect([model.state, model.reason, model.waves[0]?.state]).toEqual(["running", undefined, "done"]);
  });
});

describe("a resumed rollout", () => {
  const base = { seq: 9, occurredAt: "2026-11-22T09:00:00.000Z", rollout: "r" };

  test.each([
    ["running", { remaining: 3 }, "running"],
    ["checking", { remaining: 0 }, "checking"],
  ] as const)("clears the stop of a wave that was %s", (_, { remaining }, state) => {
    const { after } = rollouts.stopped;
    const [canary, early, rest] = after.waves;
    if (canary === undefined || early === undefined || rest === undefined) throw new Error("no waves");
    const counts = { ...early.counts, pending: remaining };
    const health = { isHealthy: false, message: "threats rose" };
    const model = new ProgressModel({ ...after, waves: [canary, { ...early, counts, health }, rest] });
    expect(model.waves[1]).toMatchObject({ state: "stopped", health });
    model.handleEvent({ ...base, kind: "started", resumed: true });
    expect(model.waves.map((wave) => wave.state)).toEqual(["done", state, "pending"]);
    expect(model.waves[1]).not.toHaveProperty("health");
  });

  test("excludes the pause between runs from a wave's duration", () => {
    const { after } = rollouts.stopped;
    const model = new ProgressModel(after);
    const worked = model.waves[1]?.workMs ?? 0;
    expect(worked).toBeGreaterThan(10_000);
    const tenant = after.tenants.find(({ state, wave }) => state === "pending" && wave === "early")?.name ?? "";
    model.handleEvent({ ...base, kind: "started", resumed: true });
    model.handleEvent({ ...base, kind: "tenant-started", wave: "early", tenant, attempt: 1, worker: "w:1" });
    const later = { ...base, occurredAt: "2026-11-22T09:00:07.000Z" };
    const finished = {
      kind: "tenant-finished",
      wave: "early",
      tenant,
      state: "done",
      durationMs: 7_000,
    } as const;
    model.handleEvent({ ...later, ...finished });
    expect(model.waves[1]?.workMs).toBe(worked + 7_000);
  });
});

describe("the remaining time", () => {
  const estimateAt = (model: ProgressModel, event: RolloutEvent | undefined) =>
    estimateRemainingTime(model, Date.parse(event?.occurredAt ?? ""));

  test("is unknown before a tenant finishes or while nothing runs", () => {
    const { events } = rollouts.tolerated;
    expect(estimateAt(replayEvents(rollouts.tolerated, 4), events[3])).toBeUndefined();
    expect(estimateAt(replayEvents(rollouts.stopped), rollouts.stopped.events.at(-1))).toBeUndefined();
    expect(estimateAt(replayEvents(rollouts.tolerated), events.at(-1))).toBeUndefined();
  });

  test("is counted up to the next gate", () => {
    const { events } = rollouts.tolerated;
    expect(estimateAt(replayEvents(rollouts.tolerated, 7), events[6])?.gateAfterWave).toBe("canary");
  });

  test("is accurate within a third, including soak time", () => {
    const played = playRollout({ tenants: 300 });
    const end = Date.parse(played.after.finishedAt ?? "");
    const first = played.events.findIndex((event) => event.kind === "wave-started" && event.wave === "early");
    for (const count of [first + 40, first + 60, first + 200, first + 300]) {
      const event = played.events[count - 1];
      const really = end - Date.parse(event?.occurredAt ?? "");
      const estimate = estimateAt(replayEvents(played, count), event);
      expect(estimate?.gateAfterWave).toBeUndefined();
      expect(Math.abs((estimate?.ms ?? 0) - really)).toBeLessThan(really / 3);
    }
  });
});

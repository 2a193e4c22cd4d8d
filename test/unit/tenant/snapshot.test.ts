import { expect, it } from "vitest";
import { Snapshot } from "../../../provider/tenant/snapshot";

interface Row {
  readonly id: string;
  readonly value: string;
}

/** A snapshot over a list that the test holds, with a clock that the test moves and readings that it lets through. */
function harness(initial: Row[] = [{ id: "1", value: "a" }]) {
  let now = 0;
  let service = initial;
  let readings = 0;
  let gate: Promise<void> | undefined;
  const snapshot = new Snapshot<Row>({
    read: async () => {
      readings += 1;
      const seen = [...service];
      await gate;
      return seen;
    },
    key: (row) => row.id,
    name: (row) => row.value,
    now: () => now,
  });
  return {
    snapshot,
    readings: () => readings,
    wait: (ms: number) => {
      now += ms;
    },
    serviceHolds: (rows: Row[]) => {
      service = rows;
    },
    /** Readings that begin from now on end when the answer is called. */
    hold: () => {
      let release = (): void => {};
      gate = new Promise((resolve) => {
        release = resolve;
      });
      return () => {
        gate = undefined;
        release();
      };
    },
  };
}

it("shares one reading among all who ask, at the same time and after each other", async () => {
  const { snapshot, readings } = harness();
  await Promise.all([snapshot.rows(), snapshot.rows(), snapshot.rows()]);
  await snapshot.rows();
  expect(readings()).toBe(1);
});

it("reads anew after a pause, and after a minute however busy it is", async () => {
  const { snapshot, readings, wait } = harness();
  await snapshot.rows();
  wait(4_000);
  await snapshot.rows();
  expect(readings()).toBe(1);
  wait(5_001);
  await snapshot.rows();
  expect(readings()).toBe(2);
  for (let at = 0; at < 61; at += 1) {
    wait(1_000);
    await snapshot.rows();
  }
  expect(readings()).toBe(3);
});

it("lays own writes over the reading", async () => {
  const { snapshot } = harness();
  await snapshot.rows();
  snapshot.put({ id: "2", value: "b" });
  snapshot.put({ id: "1", value: "b" });
  const rows = await snapshot.rows();
  expect(rows.named("a")).toEqual([]);
  expect(rows.named("b").map((row) => row.id)).toEqual(["2", "1"]);
  snapshot.drop("2");
  expect((await snapshot.rows()).get("2")).toBeUndefined();
  expect(snapshot.known("1")).toEqual({ id: "1", value: "b" });
});

it("lays a write over a reading that was under way, which may not have seen it", async () => {
  const { snapshot, hold } = harness();
  const release = hold();
  const reading = snapshot.rows();
  snapshot.put({ id: "2", value: "b" });
  snapshot.drop("1");
  release();
  const rows = await reading;
  expect(rows.get("2")).toEqual({ id: "2", value: "b" });
  expect(rows.get("1")).toBeUndefined();
});

it("answers a fresh reading that began after it was asked for, shared by all who ask meanwhile", async () => {
  const { snapshot, hold, serviceHolds, readings } = harness();
  const release = hold();
  const old = snapshot.rows();
  serviceHolds([{ id: "9", value: "z" }]);
  const fresh = Promise.all([snapshot.fresh(), snapshot.fresh()]);
  release();
  expect((await old).get("9")).toBeUndefined();
  for (const rows of await fresh) expect(rows.get("9")).toEqual({ id: "9", value: "z" });
  expect(readings()).toBe(2);
});

it("passes a failure on to all who wait, and reads anew for the next", async () => {
  let down = true;
  const snapshot = new Snapshot<Row>({
    read: async () => {
      if (down) throw new Error("down");
      return [];
    },
    key: (row) => row.id,
    name: (row) => row.value,
    now: () => 0,
  });
  const both = await Promise.allSettled([snapshot.rows(), snapshot.rows()]);
  expect(both.map((one) => one.status)).toEqual(["rejected", "rejected"]);
  down = false;
  expect((await snapshot.rows()).get("1")).toBeUndefined();
});

import { describe, expect, it } from "vitest";
import type { RowIndex } from "../../../provider/tenant/row-index";
import { Snapshot } from "../../../provider/tenant/snapshot";
import { runReadyTasks } from "../../support/virtual-time";

interface SnapshotRow {
  readonly id: string;
  readonly value: string;
}

/**
 * Builds a snapshot over a list that the test controls, with a clock that the test advances and reads that it releases.
 */
function createHarness(initial: SnapshotRow[] = [{ id: "1", value: "a" }]) {
  let now = 0;
  let service = initial;
  let readings = 0;
  let isSinglePage = false;
  let gate: Promise<void> | undefined;
  const snapshot = new Snapshot<SnapshotRow>({
    read: async () => {
      readings += 1;
      const seen = [...service];
      await gate;
      return { rows: seen, isSinglePage };
    },
    getKey: (row) => row.id,
    getName: (row) => row.value,
    now: () => now,
    sleep: async (ms) => {
      const deadlineMs = now + ms;
      await runReadyTasks();
      now = Math.max(now, deadlineMs);
    },
  });
  return {
    snapshot,
    readings: () => readings,
    now: () => now,
    wait: (ms: number) => {
      now += ms;
    },
    serviceHolds: (rows: SnapshotRow[]) => {
      service = rows;
    },
    inOnePage: () => {
      isSinglePage = true;
    },
    /** Reads that start from now on end when the returned function is called. */
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

const createMissCheck = (id: string) => (rows: RowIndex<SnapshotRow>) => rows.get(id) === undefined;

it("shares one fetch among concurrent and consecutive callers", async () => {
  const { snapshot, readings } = createHarness();
  await Promise.all([snapshot.getRows(), snapshot.getRows(), snapshot.getRows()]);
  await snapshot.getRows();
  expect(readings()).toBe(1);
});

it("refetches after an idle pause or a minute of constant use", async () => {
  const { snapshot, readings, wait } = createHarness();
  await snapshot.getRows();
  wait(4_000);
  await snapshot.getRows();
  expect(readings()).toBe(1);
  wait(5_001);
  await snapshot.getRows();
  expect(readings()).toBe(2);
  for (let index = 0; index < 61; index += 1) {
    wait(1_000);
    await snapshot.getRows();
  }
  expect(readings()).toBe(3);
});

it("applies own writes to the snapshot", async () => {
  const { snapshot } = createHarness();
  await snapshot.getRows();
  snapshot.put({ id: "2", value: "b" });
  snapshot.put({ id: "1", value: "b" });
  const rows = await snapshot.getRows();
  expect(rows.getByName("a")).toEqual([]);
  expect(rows.getByName("b").map((row) => row.id)).toEqual(["2", "1"]);
  snapshot.drop("2");
  expect((await snapshot.getRows()).get("2")).toBeUndefined();
  expect(snapshot.getCached("1")).toEqual({ id: "1", value: "b" });
});

it("applies a write to a fetch already in progress", async () => {
  const { snapshot, hold } = createHarness();
  const release = hold();
  const reading = snapshot.getRows();
  await runReadyTasks();
  snapshot.put({ id: "2", value: "b" });
  snapshot.drop("1");
  release();
  const rows = await reading;
  expect(rows.get("2")).toEqual({ id: "2", value: "b" });
  expect(rows.get("1")).toBeUndefined();
});

it("shares a refetch that starts after it was requested", async () => {
  const { snapshot, hold, serviceHolds, readings } = createHarness();
  const release = hold();
  const old = snapshot.getRows();
  await runReadyTasks();
  serviceHolds([{ id: "9", value: "z" }]);
  const fresh = Promise.all([snapshot.refetch(), snapshot.refetch()]);
  release();
  expect((await old).get("9")).toBeUndefined();
  for (const rows of await fresh) expect(rows.get("9")).toEqual({ id: "9", value: "z" });
  expect(readings()).toBe(2);
});

it("makes one refetch for all simultaneous requests", async () => {
  const { snapshot, readings } = createHarness();
  const readLater = async (_: unknown, index: number) => {
    // Callers that wait for the same promise continue one after another, a few microtasks apart.
    for (let step = 0; step < index % 7; step += 1) await undefined;
    await snapshot.refetch();
  };
  await Promise.all(Array.from({ length: 5_000 }, readLater));
  expect(readings()).toBe(1);
  await snapshot.refetch();
  expect(readings()).toBe(2);
});

it("confirms missing rows of a multi-page list with one refetch", async () => {
  const { snapshot, serviceHolds, readings } = createHarness();
  await snapshot.getRows();
  expect((await snapshot.confirmMissing(createMissCheck("1"))).get("1")).toBeDefined();
  expect(readings()).toBe(1);
  serviceHolds([
    { id: "1", value: "a" },
    { id: "2", value: "b" },
  ]);
  const [two, ...staleIndexes] = await Promise.all(
    ["2", "3", "4", "5"].map((id) => snapshot.confirmMissing(createMissCheck(id))),
  );
  expect(two?.get("2")).toBeDefined();
  expect(staleIndexes.map((rows, index) => rows.get(String(index + 3)))).toEqual([undefined, undefined, undefined]);
  expect(readings()).toBe(2);
  // Both reads are in use, so a row that they miss is gone.
  await Promise.all(["6", "7"].map((id) => snapshot.confirmMissing(createMissCheck(id))));
  await snapshot.confirmMissing(createMissCheck("8"));
  expect(readings()).toBe(2);
});

it("confirms missing rows with a refetch already in progress", async () => {
  const { snapshot, hold, readings } = createHarness();
  await snapshot.getRows();
  const release = hold();
  const first = snapshot.confirmMissing(createMissCheck("2"));
  await runReadyTasks();
  await runReadyTasks();
  expect(readings()).toBe(2);
  const second = snapshot.confirmMissing(createMissCheck("3"));
  await runReadyTasks();
  release();
  await Promise.all([first, second]);
  expect(readings()).toBe(2);
});

it("refetches again when the last two fetches disagree", async () => {
  const { snapshot, serviceHolds, readings } = createHarness();
  await snapshot.getRows();
  serviceHolds([]);
  await snapshot.refetch();
  const rows = await Promise.all([
    snapshot.confirmMissing(createMissCheck("1")),
    snapshot.confirmMissing(createMissCheck("1")),
  ]);
  expect(rows.map((some) => some.get("1"))).toEqual([undefined, undefined]);
  expect(readings()).toBe(3);
});

it("skips confirmation for a single-page list and for own removals", async () => {
  const { snapshot, inOnePage, readings } = createHarness();
  await snapshot.getRows();
  await snapshot.refetch();
  snapshot.drop("1");
  expect((await snapshot.confirmMissing(createMissCheck("1"))).get("1")).toBeUndefined();
  expect(readings()).toBe(2);
  inOnePage();
  await snapshot.refetch();
  await snapshot.confirmMissing(createMissCheck("9"));
  expect(readings()).toBe(3);
});

it("does not confirm missing rows with an expired snapshot", async () => {
  const { snapshot, wait, readings } = createHarness();
  await snapshot.getRows();
  wait(5_001);
  await snapshot.confirmMissing(createMissCheck("2"));
  expect(readings()).toBe(3);
});

it("measures a snapshot's age from the end of its fetch", async () => {
  const { snapshot, hold, wait, readings } = createHarness();
  const release = hold();
  const long = snapshot.getRows();
  await runReadyTasks();
  wait(90_000);
  release();
  await long;
  await snapshot.getRows();
  expect(readings()).toBe(1);
});

it("applies an own write to the previous snapshot too", async () => {
  const { snapshot, readings, wait } = createHarness();
  await snapshot.getRows();
  await snapshot.refetch();
  snapshot.put({ id: "2", value: "b" });
  wait(3_001);
  expect((await snapshot.confirmMissing(createMissCheck("2"))).getAll().map(({ id }) => id)).toEqual(["1", "2"]);
  await snapshot.refetch();
  // The service lost the row: the newest read misses it, and the one before has it.
  await snapshot.confirmMissing(createMissCheck("2"));
  expect(readings()).toBe(4);
});

describe("own write that the list shows late", () => {
  it("overrides later fetches for three seconds", async () => {
    const { snapshot, wait } = createHarness();
    await snapshot.getRows();
    snapshot.put({ id: "2", value: "b" });
    snapshot.drop("1");
    wait(2_999);
    const late = await snapshot.refetch();
    expect(late.getAll()).toEqual([{ id: "2", value: "b" }]);
    wait(2);
    expect((await snapshot.refetch()).getAll()).toEqual([{ id: "1", value: "a" }]);
  });

  it("gives way to the list once the list has shown it", async () => {
    const { snapshot, serviceHolds } = createHarness();
    await snapshot.getRows();
    snapshot.put({ id: "2", value: "b" });
    serviceHolds([{ id: "2", value: "b" }]);
    await snapshot.refetch();
    serviceHolds([]);
    expect((await snapshot.refetch()).getAll()).toEqual([]);
  });

  it("overrides the list by the last write of its key", async () => {
    const { snapshot, serviceHolds } = createHarness([]);
    await snapshot.getRows();
    snapshot.put({ id: "2", value: "b" });
    snapshot.drop("2");
    serviceHolds([{ id: "2", value: "b" }]);
    expect((await snapshot.refetch()).getAll()).toEqual([]);
  });

  it("hides no row that is added again after a removal by name", async () => {
    const { snapshot } = createHarness();
    await snapshot.getRows();
    snapshot.dropByName("a");
    expect((await snapshot.refetch()).getByName("a")).toEqual([]);
    snapshot.clearRemoval("a");
    expect((await snapshot.refetch()).getByName("a")).toHaveLength(1);
  });
});

describe("row that the service doesn't know", () => {
  it("is missing until a later fetch contains it", async () => {
    const { snapshot, inOnePage, readings } = createHarness();
    inOnePage();
    await snapshot.getRows();
    snapshot.forget("1");
    expect((await snapshot.getRows()).get("1")).toBeUndefined();
    expect((await snapshot.confirmMissing(createMissCheck("1"))).get("1")).toBeDefined();
    await snapshot.confirmMissing(createMissCheck("2"));
    expect(readings()).toBe(2);
  });

  it("is present when a refetch requested earlier starts later", async () => {
    const { snapshot } = createHarness();
    await snapshot.getRows();
    const fresh = snapshot.refetch();
    snapshot.forget("1");
    expect((await fresh).get("1")).toBeDefined();
  });

  it("is not confirmed missing by a fetch already in progress", async () => {
    const { snapshot, hold, readings } = createHarness();
    await snapshot.getRows();
    const release = hold();
    const underWay = snapshot.refetch();
    for (let turns = 0; turns < 4; turns += 1) await runReadyTasks();
    snapshot.forget("1");
    release();
    await underWay;
    expect((await snapshot.confirmMissing(createMissCheck("1"))).get("1")).toBeDefined();
    expect(readings()).toBe(3);
  });
});

describe("list that may lag behind an earlier run's writes", () => {
  it("is refetched with backoff until 3 s after the first fetch", async () => {
    const { snapshot, readings, now } = createHarness();
    await snapshot.getRows();
    const times: number[] = [];
    while (await snapshot.refetchIfLagging()) times.push(now());
    expect(times).toEqual([100, 300, 700, 1_500, 3_000]);
    expect(readings()).toBe(6);
  });

  it("is refetched once for concurrent callers", async () => {
    const { snapshot, readings } = createHarness();
    await snapshot.getRows();
    await Promise.all([snapshot.refetchIfLagging(), snapshot.refetchIfLagging()]);
    expect(readings()).toBe(2);
  });

  it("is refetched fewer times when fetches are slow", async () => {
    const { snapshot, hold, wait, readings } = createHarness();
    await snapshot.getRows();
    const release = hold();
    const later = snapshot.refetchIfLagging();
    for (let turns = 0; turns < 4; turns += 1) await runReadyTasks();
    wait(2_900);
    release();
    await later;
    expect(await snapshot.refetchIfLagging()).toBe(true);
    expect(await snapshot.refetchIfLagging()).toBe(false);
    expect(readings()).toBe(3);
  });
});

it("rejects every waiting caller on failure", async () => {
  let down = true;
  const snapshot = new Snapshot<SnapshotRow>({
    read: async () => {
      if (down) throw new Error("down");
      return { rows: [], isSinglePage: true };
    },
    getKey: (row) => row.id,
    getName: (row) => row.value,
    now: () => 0,
  });
  const both = await Promise.allSettled([snapshot.getRows(), snapshot.getRows()]);
  expect(both.map((result) => result.status)).toEqual(["rejected", "rejected"]);
  down = false;
  expect((await snapshot.getRows()).get("1")).toBeUndefined();
});

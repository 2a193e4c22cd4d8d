import { readdirSync, readlinkSync } from "node:fs";
import { get, type IncomingMessage } from "node:http";
import { json } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, it } from "vitest";
import { API_KEY, BenchService, formatMailbox } from "../../bench/service";
import { getTimeLimit, selectSize } from "../../support/matrix-sampling";
import { InProcessStack } from "../../support/model/in-process-stack";
import type { Declaration } from "../../support/model/program";

/** The number of entries and VIPs, and of the rounds that change them. */
const {
  entries: ENTRIES,
  vips: VIPS,
  rounds: ROUNDS,
} = selectSize("soak", { entries: 50_000, vips: 200, rounds: 100 }, { entries: 400, vips: 20, rounds: 10 });

/** The number of entries that each round adds, changes and removes, and that of VIPs. */
const ENTRIES_EACH = 20;
const VIPS_EACH = 2;

/** The service's page size. */
const PAGE = 200;

/** A frozen clock. At full size a run takes minutes, so snapshots would expire, depending on the machine's speed. */
const getFrozenTime = (): number => 0;

/** The number of initial rounds that may leave memory behind, while code is compiled and caches fill up. */
const WARM = 5;

/**
 * The limit on the memory that a round may leave on the heap, on average. One row of a retained snapshot takes about
 * 500 bytes, so leaking a single snapshot would cost a megabyte per round, and 25 at full size. The actual growth comes
 * from the compiler and decreases with each round.
 */
const MOST_LEFT_BYTES = 128 * 1024;

it(`changes ${ENTRIES} entries and ${VIPS} VIPs ${ROUNDS} times without a leak or an unexpected request`, {
  timeout: getTimeLimit(180_000),
}, async () => {
  const heap: number[] = [];
  {
    await using service = await BenchService.start({ employees: VIPS + VIPS_EACH * (ROUNDS + 1) });
    const handlesBefore = countHandles();
    await using stack = new InProcessStack({ url: service.url, apiKey: API_KEY, now: getFrozenTime });
    const countRequests = async (work: () => Promise<unknown>) => {
      const before = await fetchRequestCounts(service);
      await work();
      const after = await fetchRequestCounts(service);
      return { reads: after.reads - before.reads, writes: after.writes - before.writes };
    };
    const runUp = async (round: number, refresh: boolean) => {
      const run = await stack.up(buildRoundProgram(round), { refresh, preview: false, parallel: true });
      expect(run.messages).toEqual([]);
      return run;
    };

    expect(await countRequests(() => runUp(0, false))).toEqual({
      // One read for each of the three empty lists, and the VIPs once more after they were added.
      reads: 1 + 1 + 1 + countPages(VIPS),
      // VIPs with the same comment are added in one request.
      writes: ENTRIES + 1,
    });
    for (let round = 1; round <= ROUNDS; round += 1) {
      const refresh = round % 3 === 0;
      expect(await countRequests(() => runUp(round, refresh)), `round ${round}`).toEqual({
        reads: countPages(ALLOWED) + countPages(DENIED) + countPages(VIPS) + countPages(VIPS + VIPS_EACH),
        writes: 3 * ENTRIES_EACH + VIPS_EACH + 1 + 1,
      });
      expect(await countRequests(() => runUp(round, false)), `round ${round}, again`).toEqual({
        reads: 0,
        writes: 0,
      });
      heap.push(measureHeap());
    }
    expect((await runUp(ROUNDS, true)).steps).toEqual([]);
    // An idle connection that isn't closed would also end by itself, but only after this wait.
    const listLeftHandles = (): Record<string, number> => listIncreases(handlesBefore, countHandles());
    // Not `expect.poll`, because the test runner's timer would count as a handle.
    for (let attempt = 0; attempt < 100 && Object.keys(listLeftHandles()).length > 0; attempt += 1) await sleep(100);
    expect(listLeftHandles()).toEqual({});
  }
  expect(computeSlope(heap.slice(WARM))).toBeLessThan(MOST_LEFT_BYTES);
});

/** Returns the number of requests that the service has received. Uses a connection that is closed immediately. */
async function fetchRequestCounts({ url }: BenchService): Promise<{ reads: number; writes: number }> {
  const answer = new Promise<IncomingMessage>((resolve, reject) => {
    get(`${url}/sandbox/requests`, { agent: false }, resolve).once("error", reject);
  });
  return (await json(await answer)) as { reads: number; writes: number };
}

/** Every fourth entry is an allow. */
const ALLOWED = ENTRIES / 4;
const DENIED = ENTRIES - ALLOWED;

function countPages(rows: number): number {
  return Math.max(1, Math.ceil(rows / PAGE));
}

/**
 * Returns the declarations of a round. In each round some entries are removed, the same number is added, and others get
 * a new comment.
 */
function buildRoundProgram(round: number): Declaration[] {
  const firstEntry = round * ENTRIES_EACH;
  const entries = Object.fromEntries(
    Array.from({ length: ENTRIES }, (_, index) => {
      const number = firstEntry + index;
      const list = number % 4 === 0 ? "allow" : "deny";
      const isChanged = round > 0 && index < ENTRIES_EACH;
      return [`sender-${number}.example`, `${list}: ${isChanged ? `seen in round ${round}` : "INC-1"}`];
    }),
  );
  const firstVip = round * VIPS_EACH;
  const members = Object.fromEntries(
    Array.from({ length: VIPS }, (_, index) => {
      const isChanged = round > 0 && index < VIPS_EACH;
      return [formatMailbox(firstVip + index), isChanged ? `seen in round ${round}` : "Board"];
    }),
  );
  const limits = { maxRemovalFraction: 1 };
  return [
    { kind: "allowDenyList", name: "blocklist", args: { entries, ...limits } },
    { kind: "vipList", name: "board", args: { members, ...limits } },
  ];
}

/**
 * Returns the kinds of handles that have become more. Those left by an earlier test file may have ended in the
 * meantime.
 */
function listIncreases(
  before: Readonly<Record<string, number>>,
  now: Readonly<Record<string, number>>,
): Record<string, number> {
  return Object.fromEntries(Object.entries(now).filter(([kind, count]) => count > (before[kind] ?? 0)));
}

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;

function measureHeap(): number {
  collectGarbage();
  return process.memoryUsage().heapUsed;
}

/**
 * Returns the number of handles that keep this process alive, by kind, and its open sockets. Idle sockets don't keep a
 * process alive.
 */
function countHandles(): Record<string, number> {
  const kinds = process.getActiveResourcesInfo().filter((kind) => kind !== "Immediate" && kind !== "TCPSocketWrap");
  for (const descriptor of process.platform === "linux" ? readdirSync(DESCRIPTORS) : []) {
    if (readLinkTarget(`${DESCRIPTORS}/${descriptor}`).startsWith("socket:")) kinds.push("open socket");
  }
  return Object.fromEntries(
    [...Map.groupBy(kinds, (kind) => kind)].map(([kind, all]) => [kind, all.length] as const).sort(),
  );
}

const DESCRIPTORS = "/proc/self/fd";

/** Returns an empty string for a descriptor that has been closed, such as the one for reading the directory. */
function readLinkTarget(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    return "";
  }
}

/** Returns the slope of a series per step, by least squares. */
function computeSlope(series: readonly number[]): number {
  const middle = (series.length - 1) / 2;
  const mean = series.reduce((sum, item) => sum + item, 0) / series.length;
  let above = 0;
  let below = 0;
  for (const [index, item] of series.entries()) {
    above += (index - middle) * (item - mean);
    below += (index - middle) ** 2;
  }
  return above / below;
}

import { expect, it } from "vitest";
import { NetworkError, RateLimitedError } from "../../../provider/client";
import { AdaptiveLimit } from "../../../provider/tenant/adaptive-limit";
import { turn, VirtualTime } from "./virtual-time";

const request = { method: "POST", path: "/api/v1/x" };

function refusal(retryAfterMs?: number): RateLimitedError {
  return new RateLimitedError("ERR_RATE_LIMITED", "too many", { request, retryAfterMs });
}

function harness() {
  const time = new VirtualTime();
  const limit = new AdaptiveLimit(time);
  return { time, limit };
}

/** Calls that go on until the test answers them. */
function openCalls() {
  const open: { answer: () => void; refuse: (error: Error) => void }[] = [];
  const call = () =>
    new Promise<void>((resolve, reject) => {
      open.push({ answer: resolve, refuse: reject });
    });
  return { open, call };
}

/** Makes as many writes at once, of which each takes so long; answers how many were under way at most. */
async function load(limit: AdaptiveLimit, time: VirtualTime, count: number, tookMs: number): Promise<number> {
  let underWay = 0;
  let most = 0;
  const call = async () => {
    underWay += 1;
    most = Math.max(most, underWay);
    const endsAt = time.atMs + tookMs;
    await turn();
    time.atMs = Math.max(time.atMs, endsAt);
    underWay -= 1;
  };
  await Promise.all(Array.from({ length: count }, () => limit.write(call)));
  return most;
}

it("lets 16 writes begin at once, and the next when one of them ends", async () => {
  const { limit } = harness();
  const { open, call } = openCalls();
  const all = Promise.all(Array.from({ length: 20 }, () => limit.write(call)));
  await turn();
  expect(open).toHaveLength(16);
  open[3]?.answer();
  await turn();
  expect(open).toHaveLength(17);
  for (let at = 0; at < open.length; at += 1) {
    open[at]?.answer();
    await turn();
  }
  await all;
  expect(open).toHaveLength(20);
});

it("adds 4 places for every window of quick answers while others wait, to 64 at most", async () => {
  const { limit, time } = harness();
  // Windows of 16 and 20 answers, and one that is not full.
  await load(limit, time, 16 + 20 + 23, 10);
  expect(limit.concurrency).toBe(24);
  const most = await load(limit, time, 3_000, 10);
  expect([limit.concurrency, most]).toEqual([64, 64]);
});

it("adds none for calls that leave places free", async () => {
  const { limit, time } = harness();
  for (let at = 0; at < 100; at += 1) await load(limit, time, 1, 10);
  expect(limit.concurrency).toBe(16);
});

it("halves the places when a window takes twice as long as the best, but never for answers within 50 ms", async () => {
  const { limit, time } = harness();
  await load(limit, time, 16, 1);
  await load(limit, time, 16, 49);
  expect(limit.concurrency).toBe(16);
  await load(limit, time, 16, 51);
  expect(limit.concurrency).toBe(8);
  await load(limit, time, 200, 51);
  expect(limit.concurrency).toBe(1);
});

it("takes a latency above the floor for the service's own as long as it is not twice the best", async () => {
  const { limit, time } = harness();
  await load(limit, time, 16, 100);
  await load(limit, time, 16, 199);
  expect(limit.concurrency).toBe(16);
  await load(limit, time, 16, 201);
  expect(limit.concurrency).toBe(8);
});

it("does not look at the time of batches", async () => {
  const { limit, time } = harness();
  await load(limit, time, 16, 1);
  for (let at = 0; at < 32; at += 1) await limit.write(() => time.sleep(5_000), { isBatch: true });
  expect(limit.concurrency).toBe(16);
});

it("pauses the whole tenant after a refusal, halves once for all that were on their way, and tries again", async () => {
  const { limit, time } = harness();
  const { open, call } = openCalls();
  const writes = Promise.all(Array.from({ length: 20 }, () => limit.write(call)));
  await turn();
  for (const { refuse } of open.splice(0, 6)) refuse(refusal(1_000));
  for (const { answer } of open.splice(0)) answer();
  await turn();
  await limit.read(async () => undefined);
  expect(time.atMs).toBe(1_000);
  expect(limit.concurrency).toBe(8);
  // 10 are left: the 4 that were not begun, and the 6 refused.
  expect(open).toHaveLength(8);
  for (const { answer } of open.splice(0)) answer();
  await turn();
  expect(open).toHaveLength(2);
  for (const { answer } of open.splice(0)) answer();
  await writes;
  expect(time.atMs).toBe(1_000);
});

it("begins no write while the pause lasts", async () => {
  const time = new VirtualTime();
  let wake = () => {};
  const asleep = new Promise<void>((resolve) => {
    wake = resolve;
  });
  const sleep = async (ms: number) => {
    await asleep;
    time.atMs += ms;
  };
  const { now, random, gather } = time;
  const limit = new AdaptiveLimit({ now, sleep, random, gather });
  let tries = 0;
  let others = 0;
  const refused = limit.write(async () => {
    tries += 1;
    if (tries === 1) throw refusal();
  });
  await turn();
  const other = limit.write(async () => {
    others += 1;
  });
  await turn();
  expect([tries, others]).toEqual([1, 0]);
  wake();
  await Promise.all([refused, other]);
  expect([tries, others]).toEqual([2, 1]);
});

it("doubles the pause with each refusal in a row, and gives up at the eighth try", async () => {
  const { limit, time } = harness();
  let tries = 0;
  const last = refusal();
  const call = async () => {
    tries += 1;
    throw tries === 8 ? last : refusal();
  };
  await expect(limit.write(call)).rejects.toBe(last);
  expect(tries).toBe(8);
  expect(time.slept).toEqual([250, 500, 1_000, 2_000, 4_000, 8_000, 16_000]);
  expect(limit.concurrency).toBe(1);
  await limit.read(async () => undefined);
  expect(time.slept.at(-1)).toBe(30_000);
});

it("draws the pause from the upper half of its length", async () => {
  const { limit, time } = harness();
  time.chance = 0;
  let tries = 0;
  await limit.read(async () => {
    tries += 1;
    if (tries <= 2) throw refusal();
  });
  expect(time.slept).toEqual([125, 250]);
});

it("goes on doubling in spite of answers to what was on its way before the refusal", async () => {
  const { limit, time } = harness();
  const { open, call } = openCalls();
  const writes = Promise.all([limit.write(call), limit.write(call)]);
  await turn();
  open[0]?.refuse(refusal());
  await turn();
  open[1]?.answer();
  await turn();
  open[2]?.refuse(refusal());
  await turn();
  await turn();
  open[3]?.answer();
  await writes;
  expect(time.slept).toEqual([250, 500]);
});

it("makes what was refused before what was not tried yet", async () => {
  const { limit } = harness();
  const order: number[] = [];
  const call = (at: number) => async () => {
    order.push(at);
    const isFirst = order.length === 1;
    await turn();
    if (isFirst) throw refusal();
  };
  await Promise.all(Array.from({ length: 40 }, (_, at) => limit.write(call(at))));
  expect(order.slice(0, 18)).toEqual([...Array.from({ length: 16 }, (_, at) => at), 0, 16]);
});

it("begins the doubling anew after an answer", async () => {
  const { limit, time } = harness();
  for (let at = 0; at < 2; at += 1) {
    let tries = 0;
    await limit.write(async () => {
      tries += 1;
      if (tries === 1) throw refusal();
    });
  }
  expect(time.slept).toEqual([250, 250]);
});

it("waits for as long as the service asks, and 2 minutes a call in all", async () => {
  const { limit, time } = harness();
  let tries = 0;
  const call = async () => {
    tries += 1;
    throw refusal(50_000);
  };
  await expect(limit.write(call)).rejects.toThrow(RateLimitedError);
  expect(tries).toBe(3);
  expect(time.slept).toEqual([50_000, 50_000]);
});

it("fails what would have to wait for more than 2 minutes without sending it", async () => {
  const { limit, time } = harness();
  const asked = refusal(600_000);
  await expect(limit.write(() => Promise.reject(asked))).rejects.toBe(asked);
  let sent = 0;
  const call = async () => {
    sent += 1;
  };
  await expect(limit.write(call)).rejects.toBe(asked);
  await expect(limit.read(call)).rejects.toBe(asked);
  expect([sent, time.slept.length]).toEqual([0, 0]);
  time.atMs += 600_000;
  await limit.write(call);
  expect(sent).toBe(1);
});

it("makes any number of reads at once, and tries a refused one again", async () => {
  const { limit, time } = harness();
  const { open, call } = openCalls();
  const reads = Promise.all(Array.from({ length: 100 }, () => limit.read(call)));
  await turn();
  expect(open).toHaveLength(100);
  for (const { refuse } of open.splice(0, 1)) refuse(refusal(2_000));
  for (const { answer } of open.splice(0)) answer();
  await turn();
  await turn();
  expect(open).toHaveLength(1);
  expect(time.atMs).toBe(2_000);
  open[0]?.answer();
  await reads;
});

it("passes on any other failure at once, and its place to the next", async () => {
  const { limit, time } = harness();
  const broken = new NetworkError("ERR_NETWORK", "broken", { request });
  const all = await Promise.allSettled(
    Array.from({ length: 40 }, () => limit.write(() => Promise.reject(broken))),
  );
  expect(all.every((one) => one.status === "rejected" && one.reason === broken)).toBe(true);
  expect(time.slept).toEqual([]);
});

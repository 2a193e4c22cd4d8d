import { describe, expect, it } from "vitest";
import {
  BadRequestError,
  NetworkError,
  NotFoundError,
  RateLimitedError,
  ServerError,
  type ServiceError,
  TimeoutError,
} from "../../../provider/client";
import { RequestScheduler, type ScheduledCall } from "../../../provider/client/request-scheduler";
import { runReadyTasks, VirtualTime } from "../../support/virtual-time";

const request = { method: "POST", path: "/api/v1/x" };

const calls = {
  read: { request: { method: "GET", path: "/api/v1/x" }, requestText: "GET /api/v1/x", kind: "read" },
  write: { request, requestText: "POST /api/v1/x", kind: "write" },
  batch: { request, requestText: "POST /api/v1/x", kind: "batch" },
  patch: { request: { method: "PATCH", path: "/api/v1/x" }, requestText: "PATCH /api/v1/x", kind: "write" },
} satisfies Record<string, ScheduledCall>;

type Send = <T>(call: () => Promise<T>) => Promise<T>;

/** A scheduler with a method for each kind of call. */
class Limit extends RequestScheduler {
  readonly read: Send = (call) => this.send(calls.read, call);
  readonly write: Send = (call) => this.send(calls.write, call);
  readonly batch: Send = (call) => this.send(calls.batch, call);
  readonly patch: Send = (call) => this.send(calls.patch, call);
}

function createRateLimitError(retryAfterMs?: number): RateLimitedError {
  return new RateLimitedError("ERR_RATE_LIMITED", "too many", { request, retryAfterMs, isTransient: true });
}

function createHarness() {
  const time = new VirtualTime();
  const limit = new Limit({ time, retries: true, timeoutMs: 30_000 });
  return { time, limit };
}

/** Returns calls that stay pending until the test answers them. */
function openCalls() {
  const open: { answer: () => void; reject: (error: Error) => void }[] = [];
  const answerLater = () =>
    new Promise<void>((resolve, reject) => {
      open.push({ answer: resolve, reject });
    });
  return { open, call: answerLater };
}

/** Makes many writes at once, each with the same duration. Returns the largest number in flight. */
async function runLoad(limit: Limit, time: VirtualTime, count: number, tookMs: number): Promise<number> {
  let underWay = 0;
  let most = 0;
  const takeTime = async () => {
    underWay += 1;
    most = Math.max(most, underWay);
    const endsAt = time.atMs + tookMs;
    await runReadyTasks();
    time.atMs = Math.max(time.atMs, endsAt);
    underWay -= 1;
  };
  await Promise.all(Array.from({ length: count }, () => limit.write(takeTime)));
  return most;
}

it("starts 16 writes at once", async () => {
  const { limit } = createHarness();
  const { open, call } = openCalls();
  const all = Promise.all(Array.from({ length: 20 }, () => limit.write(call)));
  await runReadyTasks();
  expect(open).toHaveLength(16);
  open[3]?.answer();
  await runReadyTasks();
  expect(open).toHaveLength(17);
  for (let index = 0; index < open.length; index += 1) {
    open[index]?.answer();
    await runReadyTasks();
  }
  await all;
  expect(open).toHaveLength(20);
});

it("adds 4 slots per fast window of responses, up to 64", async () => {
  const { limit, time } = createHarness();
  // Two full windows of 16 and 20 answers, and a partial one.
  await runLoad(limit, time, 16 + 20 + 23, 10);
  expect(limit.concurrency).toBe(24);
  const most = await runLoad(limit, time, 3_000, 10);
  expect([limit.concurrency, most]).toEqual([64, 64]);
});

/**
 * Makes many writes at once to a service that answers all requests in flight in the same moment. Returns how many it answered in each round trip.
 */
async function countPerRoundTrip(limit: Limit, time: VirtualTime, count: number, latencyMs: number): Promise<number[]> {
  const { open, call } = openCalls();
  const writes = Promise.all(Array.from({ length: count }, () => limit.write(call)));
  const widths: number[] = [];
  await runReadyTasks();
  while (open.length > 0) {
    const answered = open.splice(0);
    widths.push(answered.length);
    time.atMs += latencyMs;
    for (const { answer } of answered) answer();
    await runReadyTasks();
  }
  await writes;
  return widths;
}

it("sends 5,000 writes in 83 round trips", async () => {
  const { limit, time } = createHarness();
  const widths = await countPerRoundTrip(limit, time, 5_000, 50);
  // At 64 at once from the start, it would be 79.
  expect(widths).toHaveLength(83);
  expect(widths.slice(0, 14)).toEqual([16, 20, 24, 28, 32, 36, 40, 44, 48, 52, 56, 60, 64, 64]);
});

it("adds no slots while some are free", async () => {
  const { limit, time } = createHarness();
  for (let index = 0; index < 100; index += 1) await runLoad(limit, time, 1, 10);
  expect(limit.concurrency).toBe(16);
});

it("halves concurrency when latency doubles, except below 50 ms", async () => {
  const { limit, time } = createHarness();
  await runLoad(limit, time, 16, 1);
  await runLoad(limit, time, 16, 49);
  expect(limit.concurrency).toBe(16);
  await runLoad(limit, time, 16, 51);
  expect(limit.concurrency).toBe(8);
  await runLoad(limit, time, 200, 51);
  expect(limit.concurrency).toBe(1);
});

it("keeps concurrency until latency exceeds twice the best", async () => {
  const { limit, time } = createHarness();
  await runLoad(limit, time, 16, 100);
  await runLoad(limit, time, 16, 199);
  expect(limit.concurrency).toBe(16);
  await runLoad(limit, time, 16, 201);
  expect(limit.concurrency).toBe(8);
});

it("ignores the latency of batches", async () => {
  const { limit, time } = createHarness();
  await runLoad(limit, time, 16, 1);
  for (let index = 0; index < 32; index += 1) await limit.batch(() => time.sleep(5_000));
  expect(limit.concurrency).toBe(16);
});

it("halves concurrency once after rate-limit responses", async () => {
  const { limit, time } = createHarness();
  const { open, call } = openCalls();
  const writes = Promise.all(Array.from({ length: 20 }, () => limit.write(call)));
  await runReadyTasks();
  for (const { reject } of open.splice(0, 6)) reject(createRateLimitError(1_000));
  for (const { answer } of open.splice(0)) answer();
  await runReadyTasks();
  await runReadyTasks();
  expect(time.atMs).toBe(1_000);
  expect(limit.concurrency).toBe(8);
  // 10 remain: the 4 that were not started, and the 6 that were refused.
  expect(open).toHaveLength(8);
  for (const { answer } of open.splice(0)) answer();
  await runReadyTasks();
  expect(open).toHaveLength(2);
  for (const { answer } of open.splice(0)) answer();
  await writes;
  expect(time.atMs).toBe(1_000);
});

it("starts no write during a rate-limit pause", async () => {
  const time = new VirtualTime();
  let wake = () => {};
  const asleep = new Promise<void>((resolve) => {
    wake = resolve;
  });
  const sleep = async (ms: number) => {
    await asleep;
    time.atMs += ms;
  };
  const { now, random } = time;
  const limit = new Limit({ time: { now, sleep, random }, retries: true, timeoutMs: 30_000 });
  let attempts = 0;
  let others = 0;
  const rejection = limit.write(async () => {
    attempts += 1;
    if (attempts === 1) throw createRateLimitError();
  });
  await runReadyTasks();
  const other = limit.write(async () => {
    others += 1;
  });
  await runReadyTasks();
  expect([attempts, others]).toEqual([1, 0]);
  wake();
  await Promise.all([rejection, other]);
  expect([attempts, others]).toEqual([2, 1]);
});

it("doubles the pause per consecutive refusal", async () => {
  const { limit, time } = createHarness();
  let attempts = 0;
  const last = createRateLimitError();
  const failUntilLast = async () => {
    attempts += 1;
    throw attempts === 8 ? last : createRateLimitError();
  };
  await expect(limit.write(failUntilLast)).rejects.toBe(last);
  expect(attempts).toBe(8);
  expect(time.sleeps).toEqual([250, 500, 1_000, 2_000, 4_000, 8_000, 16_000]);
  expect(limit.concurrency).toBe(1);
  await limit.read(async () => undefined);
  expect(time.sleeps.at(-1)).toBe(30_000);
});

it("applies jitter to the upper half of the pause", async () => {
  const { limit, time } = createHarness();
  time.randomValue = 0;
  let attempts = 0;
  await limit.read(async () => {
    attempts += 1;
    if (attempts <= 2) throw createRateLimitError();
  });
  expect(time.sleeps).toEqual([125, 250]);
});

it("keeps doubling despite responses to requests sent before the refusal", async () => {
  const { limit, time } = createHarness();
  const { open, call } = openCalls();
  const writes = Promise.all([limit.write(call), limit.write(call)]);
  await runReadyTasks();
  open[0]?.reject(createRateLimitError());
  await runReadyTasks();
  open[1]?.answer();
  await runReadyTasks();
  open[2]?.reject(createRateLimitError());
  await runReadyTasks();
  await runReadyTasks();
  open[3]?.answer();
  await writes;
  expect(time.sleeps).toEqual([250, 500]);
});

it("retries refused calls before starting queued ones", async () => {
  const { limit } = createHarness();
  const order: number[] = [];
  const createOrderedCall = (index: number) => async () => {
    order.push(index);
    const isFirst = order.length === 1;
    await runReadyTasks();
    if (isFirst) throw createRateLimitError();
  };
  await Promise.all(Array.from({ length: 40 }, (_, index) => limit.write(createOrderedCall(index))));
  expect(order.slice(0, 18)).toEqual([...Array.from({ length: 16 }, (_, index) => index), 0, 16]);
});

it("resets the pause after a successful response", async () => {
  const { limit, time } = createHarness();
  for (let index = 0; index < 2; index += 1) {
    let attempts = 0;
    await limit.write(async () => {
      attempts += 1;
      if (attempts === 1) throw createRateLimitError();
    });
  }
  expect(time.sleeps).toEqual([250, 250]);
});

it("honors Retry-After up to 2 minutes per call", async () => {
  const { limit, time } = createHarness();
  let attempts = 0;
  const failForLong = async () => {
    attempts += 1;
    throw createRateLimitError(50_000);
  };
  await expect(limit.write(failForLong)).rejects.toThrow(RateLimitedError);
  expect(attempts).toBe(3);
  expect(time.sleeps).toEqual([50_000, 50_000]);
});

it("rejects calls unsent while the pause exceeds 2 minutes", async () => {
  const { limit, time } = createHarness();
  const longRefusal = createRateLimitError(600_000);
  await expect(limit.write(() => Promise.reject(longRefusal))).rejects.toBe(longRefusal);
  let sent = 0;
  const countSent = async () => {
    sent += 1;
  };
  for (const send of [limit.write, limit.read]) {
    const failure = await send(countSent).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(RateLimitedError);
    expect(failure).toMatchObject({ code: "ERR_RATE_LIMITED", retryAfterMs: 600_000, cause: longRefusal });
  }
  expect([sent, time.sleeps.length]).toEqual([0, 0]);
  time.atMs += 600_000;
  await limit.write(countSent);
  expect(sent).toBe(1);
});

it("applies the concurrency limit to reads too", async () => {
  const { limit, time } = createHarness();
  const { open, call } = openCalls();
  const reads = Promise.all(Array.from({ length: 17 }, () => limit.read(call)));
  await runReadyTasks();
  expect(open).toHaveLength(16);
  for (const { reject } of open.splice(0, 1)) reject(createRateLimitError(2_000));
  for (const { answer } of open.splice(0)) answer();
  await runReadyTasks();
  await runReadyTasks();
  expect([open.length, time.atMs]).toEqual([2, 2_000]);
  for (const { answer } of open) answer();
  await reads;
});

it("doesn't retry a call that waited over 2 minutes for its slot", async () => {
  const { limit, time } = createHarness();
  const { open, call } = openCalls();
  let attempts = 0;
  const late = limit.patch(async () => {
    attempts += 1;
    // Calls that take its slot keep it for a long time.
    for (let index = 0; index < 16; index += 1) void limit.write(call);
    await runReadyTasks();
    throw createResetError();
  });
  const failed = expect(late).rejects.toThrow("reset.");
  await runReadyTasks();
  await runReadyTasks();
  await runReadyTasks();
  time.atMs += 130_000;
  for (let round = 0; round < 3; round += 1) {
    for (const { answer } of open.splice(0)) answer();
    await runReadyTasks();
  }
  await failed;
  expect(attempts).toBe(1);
});

const facts = { request, isTransient: true, outcomeUnknown: true };
const createResetError = (call: ScheduledCall = calls.patch) =>
  new NetworkError("ERR_NETWORK", "reset.", { ...facts, request: call.request });
const createUnsentError = () => new NetworkError("ERR_NETWORK", "refused.", { request, isTransient: true });

/** Returns a call that fails this many times and then succeeds, and its number of attempts. */
function createFailingCall(times: number, failure: () => ServiceError) {
  const requestCount = { count: 0 };
  const failThenSucceed = async () => {
    requestCount.count += 1;
    if (requestCount.count <= times) throw failure();
    return "done";
  };
  return { requestCount, call: failThenSucceed };
}

describe("a transient failure", () => {
  it("is attempted four times with doubling backoff", async () => {
    for (const send of ["read", "patch"] as const) {
      const { limit, time } = createHarness();
      const { requestCount, call } = createFailingCall(3, () => createResetError(calls[send]));
      expect(await limit[send](call)).toBe("done");
      expect([requestCount.count, time.sleeps]).toEqual([4, [250, 500, 1_000]]);
    }
  });

  it("reports an unknown outcome if any attempt had one", async () => {
    const { limit } = createHarness();
    const failures = [createResetError(), createUnsentError(), createUnsentError(), createUnsentError()];
    const failure = await limit.patch(() => Promise.reject(failures.shift())).catch((error: unknown) => error);
    expect(failure).toMatchObject({ attempts: 4, outcomeUnknown: true, message: "refused. Tried 4 times." });
  });

  it("applies jitter to the upper half of the backoff", async () => {
    const { limit, time } = createHarness();
    time.randomValue = 0;
    await limit.read(createFailingCall(2, () => createResetError(calls.read)).call);
    expect(time.sleeps).toEqual([125, 250]);
  });

  it("delays no other call", async () => {
    const { limit, time } = createHarness();
    const { call } = createFailingCall(1, () => createResetError(calls.read));
    const slow = limit.read(call);
    await limit.read(async () => undefined);
    expect(time.atMs).toBe(0);
    await slow;
    expect(time.atMs).toBe(250);
  });

  it("isn't retried after 2 minutes, however few its attempts", async () => {
    const { limit, time } = createHarness();
    let requestCount = 0;
    const failSlowly = async () => {
      requestCount += 1;
      time.atMs += 70_000;
      throw new TimeoutError("ERR_TIMEOUT", "late.", { ...facts, request: calls.patch.request });
    };
    await expect(limit.patch(failSlowly)).rejects.toThrow("late. Tried 2 times.");
    expect(requestCount).toBe(2);
  });

  it("delays all calls by Retry-After", async () => {
    const { limit, time } = createHarness();
    const createBusyError = () =>
      new ServerError("ERR_SERVER", "busy.", {
        ...facts,
        request: calls.read.request,
        status: 503,
        retryAfterMs: 7_000,
      });
    const { call } = createFailingCall(1, createBusyError);
    const first = limit.read(call);
    await runReadyTasks();
    await limit.write(async () => undefined);
    expect(time.atMs).toBe(7_000);
    expect(await first).toBe("done");
    expect(limit.concurrency).toBe(8);
  });

  it("isn't retried for a POST that may have been sent", async () => {
    const { limit } = createHarness();
    const unknown = createFailingCall(1, () => createResetError(calls.write));
    await expect(limit.write(unknown.call)).rejects.toMatchObject({ outcomeUnknown: true, attempts: 1 });
    expect(unknown.requestCount.count).toBe(1);
    const unsent = createFailingCall(3, createUnsentError);
    expect(await limit.write(unsent.call)).toBe("done");
  });

  it("is thrown at once when retries are off", async () => {
    const time = new VirtualTime();
    const scheduler = new Limit({ time, retries: false, timeoutMs: 30_000 });
    for (const failure of [() => createResetError(calls.read), () => createRateLimitError()]) {
      const { requestCount, call } = createFailingCall(1, failure);
      await expect(scheduler.read(call)).rejects.toMatchObject({ attempts: 1 });
      expect(requestCount.count).toBe(1);
    }
    expect(scheduler.consumeRetryBudget()).toBe(false);
  });
});

it("throws a permanent failure at once", async () => {
  const { limit, time } = createHarness();
  const wrong = new BadRequestError("ERR_BAD_REQUEST", "wrong.", { request, status: 400 });
  const all = await Promise.allSettled(Array.from({ length: 40 }, () => limit.write(() => Promise.reject(wrong))));
  expect(all.every((result) => result.status === "rejected" && result.reason === wrong)).toBe(true);
  expect([time.sleeps, limit.concurrency]).toEqual([[], 20]);
});

it("halves concurrency once for all in-flight failures", async () => {
  const { limit } = createHarness();
  const { open, call } = openCalls();
  const writes = Promise.allSettled(Array.from({ length: 16 }, () => limit.write(call)));
  await runReadyTasks();
  for (const { reject } of open) reject(createResetError(calls.write));
  await writes;
  expect(limit.concurrency).toBe(8);
});

describe("a rate-limit token", () => {
  /** Creates a scheduler whose rate-limit tokens come from the test. Records each attempt and each token. */
  function createTokenLimit(take: (takeCount: number) => Promise<void> = async () => {}) {
    const time = new VirtualTime();
    const marks: string[] = [];
    const rateLimiter = {
      acquire: async () => {
        marks.push("asked");
        await take(marks.filter((mark) => mark === "asked").length);
        marks.push("permit");
      },
      reportThrottled: (pauseMs: number) => marks.push(`pause ${pauseMs}`),
    };
    const limit = new Limit({ time, retries: true, timeoutMs: 30_000, rateLimiter });
    const recordSend = (call: () => Promise<unknown>) => async () => {
      marks.push("sent");
      return await call();
    };
    return { limit, time, marks, marked: recordSend };
  }
  const rejectTenant = () => Promise.reject(new Error("the tenant is another's"));

  it.each(["read", "write", "patch", "batch"] as const)("is taken before every attempt of a %s", async (kind) => {
    const { limit, marks, marked } = createTokenLimit();
    expect(await limit[kind](marked(createFailingCall(1, createUnsentError).call))).toBe("done");
    expect(marks).toEqual(["asked", "permit", "sent", "asked", "permit", "sent"]);
  });

  it("is discarded if a pause starts before it arrives", async () => {
    let give = () => {};
    const blocker = new Promise<void>((resolve) => (give = resolve));
    const { limit, time, marks, marked } = createTokenLimit((takeCount) =>
      takeCount === 2 ? blocker : Promise.resolve(),
    );
    const { open, call } = openCalls();
    const rejection = limit.read(marked(call));
    await runReadyTasks();
    const waiting = limit.read(marked(async () => "late"));
    await runReadyTasks();
    open[0]?.reject(createRateLimitError(7_000));
    await runReadyTasks();
    // The token arrives in the middle of the pause.
    give();
    expect(await waiting).toBe("late");
    expect(time.atMs).toBe(7_000);
    await runReadyTasks();
    open[1]?.answer();
    await rejection;
    expect(marks.slice(0, 5)).toEqual(["asked", "permit", "sent", "asked", "pause 7000"]);
    // The held token is discarded, and each of the two calls takes its own.
    expect(marks.filter((mark) => mark === "permit")).toHaveLength(4);
    expect(marks.filter((mark) => mark === "sent")).toHaveLength(3);
  });

  it("fails the call unsent and without retry when refused", async () => {
    let isAllowed = false;
    const { limit, time, marks, marked } = createTokenLimit(() => (isAllowed ? Promise.resolve() : rejectTenant()));
    for (let index = 0; index < 30; index += 1) {
      await expect(limit.write(marked(async () => "sent"))).rejects.toMatchObject({
        name: "RateLimitTokenError",
        code: "ERR_NO_TOKEN",
        message: "POST /api/v1/x was not sent: the tenant is another's.",
        outcomeUnknown: false,
        isTransient: false,
        attempts: 0,
      });
    }
    expect([marks.includes("sent"), marks.length, time.sleeps, limit.concurrency]).toEqual([false, 30, [], 16]);
    isAllowed = true;
    expect(await limit.write(marked(async () => "sent"))).toBe("sent");
  });

  it("leaves the first attempt's outcome unknown when refused for the second", async () => {
    const { limit } = createTokenLimit((takeCount) => (takeCount === 2 ? rejectTenant() : Promise.resolve()));
    await expect(limit.patch(createFailingCall(1, () => createResetError(calls.patch)).call)).rejects.toMatchObject({
      code: "ERR_NO_TOKEN",
      message: "PATCH /api/v1/x was not sent again: the tenant is another's. Before: reset.",
      outcomeUnknown: true,
      attempts: 1,
    });
  });

  it("doesn't count as latency, however long it takes", async () => {
    const time = new VirtualTime();
    const letTimePass = async () => {
      await runReadyTasks();
      time.atMs += 1_000_000;
    };
    const limit = new Limit({
      time,
      retries: true,
      timeoutMs: 30_000,
      rateLimiter: { acquire: letTimePass, reportThrottled: () => {} },
    });
    for (let index = 0; index < 40; index += 1) await limit.write(async () => undefined);
    expect(limit.concurrency).toBe(16);
    // The deadline starts with the first token; the second token comes after it.
    const { requestCount, call } = createFailingCall(2, createUnsentError);
    await expect(limit.write(call)).rejects.toMatchObject({ code: "ERR_NETWORK", attempts: 1 });
    expect(requestCount.count).toBe(1);
  });

  it("isn't taken while the circuit breaker is open", async () => {
    const { limit, marks } = createTokenLimit();
    for (let index = 0; index < 6; index += 1) {
      await limit.write(() => Promise.reject(createResetError(calls.write))).catch(() => {});
    }
    const before = marks.length;
    await expect(limit.write(async () => "sent")).rejects.toMatchObject({ code: "ERR_CIRCUIT_OPEN" });
    expect(marks.length).toBe(before);
  });
});

describe("the retry budget", () => {
  it("allows 10 retries per tenant", async () => {
    const { limit } = createHarness();
    let requestCount = 0;
    const failures = new Set<string>();
    // Each failure follows an answer, so that it is not the circuit breaker that ends the calls.
    const notFound = new NotFoundError("ERR_NOT_FOUND", "no", { request, status: 404 });
    for (let index = 0; index < 5; index += 1) {
      await limit.read(() => Promise.reject(notFound)).catch(() => undefined);
      const broken = limit.patch(async () => {
        requestCount += 1;
        throw createResetError();
      });
      failures.add((await broken.catch((error: Error) => error.message)) as string);
    }
    expect(requestCount).toBe(5 + 10);
    expect([...failures]).toEqual([
      "reset. Tried 4 times.",
      "reset. Tried 2 times. Not retried: too many requests failed, and the retry budget is used up. You can safely run again: only the remaining changes are made.",
      "reset. Not retried: too many requests failed, and the retry budget is used up. You can safely run again: only the remaining changes are made.",
    ]);
    expect(limit.consumeRetryBudget()).toBe(false);
  });

  it("grows by one per 10 successes, up to 100", async () => {
    const { limit } = createHarness();
    const countRemainingRetries = () => {
      let count = 0;
      while (limit.consumeRetryBudget()) count += 1;
      return count;
    };
    expect(countRemainingRetries()).toBe(10);
    for (let index = 0; index < 25; index += 1) await limit.read(async () => undefined);
    expect(countRemainingRetries()).toBe(2);
    for (let index = 0; index < 1_200; index += 1) await limit.read(async () => undefined);
    expect(countRemainingRetries()).toBe(100);
  });
});

describe("the circuit breaker", () => {
  const simulateOutage = async (limit: Limit, kinds: readonly (keyof typeof calls)[]) => {
    let requestCount = 0;
    const all = await Promise.allSettled(
      kinds.map((kind) =>
        limit[kind](async () => {
          requestCount += 1;
          await runReadyTasks();
          throw createUnsentError();
        }),
      ),
    );
    const codes = all.map((result) => (result.status === "rejected" ? result.reason.code : ""));
    return { requestCount, codes };
  };

  it.each([
    ["500 writes", Array<"write">(500).fill("write"), 35],
    ["the reading of all three lists", Array<"read">(3).fill("read"), 12],
  ])("opens after a few requests from %s", async (_label, kinds, most) => {
    const { limit } = createHarness();
    const { requestCount } = await simulateOutage(limit, kinds);
    expect(requestCount).toBeLessThanOrEqual(most);
    await simulateOutage(limit, ["read"]);
    const { requestCount: more, codes } = await simulateOutage(limit, ["read", "write", "patch"]);
    expect([more, codes]).toEqual([0, ["ERR_CIRCUIT_OPEN", "ERR_CIRCUIT_OPEN", "ERR_CIRCUIT_OPEN"]]);
  });

  it("reports the confirmed changes", async () => {
    const { limit } = createHarness();
    for (let index = 0; index < 3; index += 1) await limit.write(async () => undefined);
    await limit.patch(async () => undefined);
    for (let index = 0; index < 6; index += 1)
      await limit.write(() => Promise.reject(createResetError(calls.write))).catch(() => {});
    const failure = await limit.patch(async () => undefined).catch((error: unknown) => error);
    expect(failure).toMatchObject({
      code: "ERR_CIRCUIT_OPEN",
      message:
        "reset. Because requests kept failing, PATCH /api/v1/x was not sent. The changes confirmed so far (3 POST, 1 PATCH) stay. You can safely run again: only the remaining changes are made.",
      outcomeUnknown: false,
    });
  });

  it("sends one probe after 30 seconds", async () => {
    const { limit, time } = createHarness();
    for (let index = 0; index < 6; index += 1)
      await limit.write(() => Promise.reject(createResetError(calls.write))).catch(() => {});
    let requestCount = 0;
    const failProbe = async () => {
      requestCount += 1;
      throw createResetError(calls.write);
    };
    time.atMs += 30_000;
    const probes = await Promise.allSettled([limit.write(failProbe), limit.write(failProbe)]);
    expect(requestCount).toBe(1);
    expect(probes.map((probe) => probe.status === "rejected" && probe.reason.code)).toEqual([
      "ERR_NETWORK",
      "ERR_CIRCUIT_OPEN",
    ]);
    time.atMs += 30_000;
    expect(await limit.write(async () => "back")).toBe("back");
    expect(await limit.write(async () => "back")).toBe("back");
  });

  it("stays closed after one burst of concurrent failures", async () => {
    const { limit } = createHarness();
    const all = Array.from({ length: 64 }, () => createFailingCall(1, () => createResetError(calls.read)).call);
    expect(new Set(await Promise.all(all.slice(0, 10).map((call) => limit.read(call))))).toEqual(new Set(["done"]));
  });

  it("stays closed on repeated client errors", async () => {
    const { limit } = createHarness();
    const wrong = new BadRequestError("ERR_BAD_REQUEST", "wrong.", { request, status: 400 });
    for (let index = 0; index < 30; index += 1) await limit.write(() => Promise.reject(wrong)).catch(() => {});
    expect(await limit.write(async () => "fine")).toBe("fine");
  });
});

it("stops retrying once the caller's deadline expires", async () => {
  const { time, limit } = createHarness();
  const requests: string[] = [];
  let isOver = false;
  const deadline = { isExpired: () => isOver, recordRequest: (label: string) => requests.push(label) };
  const down = new ServerError("ERR_SERVER", "down", { request, isTransient: true });
  const failing = limit.send({ ...calls.patch, deadline }, async () => {
    isOver = requests.length === 2;
    throw down;
  });
  await expect(failing).rejects.toMatchObject({
    code: "ERR_NO_TOKEN",
    message: expect.stringContaining("was not sent again: the deadline of the operation passed"),
  });
  expect(requests).toEqual(["PATCH /api/v1/x", "PATCH /api/v1/x"]);
  expect(time.atMs).toBeGreaterThan(0);
});

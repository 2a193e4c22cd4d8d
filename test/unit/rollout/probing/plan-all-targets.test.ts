import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  AuthenticationError,
  EmailSecurityError,
  RateLimitedError,
  ServerError,
  TimeoutError,
} from "../../../../provider/client";
import type { Target } from "../../../../provider/rollout/model/target";
import {
  AddressDownError,
  AddressHealth,
  type RequestPolicy,
} from "../../../../provider/rollout/probing/address-health";
import { planAllTargets, type RunInSlot } from "../../../../provider/rollout/probing/plan-all-targets";
import { FailureTally } from "../../../../provider/rollout/targets/tolerance";
import { getPropertyOptions, getTimeLimit } from "../../../support/matrix-sampling";
import { buildTarget } from "../../../support/rollout-target";
import { ScheduledTime } from "../../../support/scheduled-time";
import { runReadyTasks } from "../../../support/virtual-time";

const SEED = { seed: 20_261_121 };
const TIMEOUT_MS = 30_000;
/** The time that the CLI takes to export a stack's state. */
const EXPORT_MS = 1_000;
const ANSWER_MS = 50;
/** The lists of a tenant, which are read at the same time. */
const LISTS = 3;
/** The number of other tenants that are probed when one fails. */
const PROBED_TENANTS = 3;
const ATTEMPTS = 4;

/**
 * The state of a service, or of one tenant's part of it. A number: silent until then, in milliseconds, and then again
 * for that long.
 */
type ServiceState = "well" | "silent" | "failing" | "refusing" | number;
/** A tenant's own problem: a refused key, mistakes in its files, or an unhealthy part of the service. */
type TenantProblem = "nothing" | "key" | "files" | "silent" | "failing";

interface FleetScenario {
  /** For each address: its state, and its tenants' own problems. */
  readonly addresses: readonly { readonly serviceState: ServiceState; readonly own: readonly TenantProblem[] }[];
  readonly concurrency: number;
  /** The number of tolerated failures over all tenants. */
  readonly tolerated: number;
}

interface PlanningResult {
  /** The outcome of each tenant and its time; missing if the planning ended first. */
  readonly outcomes: ReadonlyMap<string, { readonly code: string; readonly isQueried: boolean; atMs: number }>;
  /** By address. */
  readonly requests: ReadonlyMap<string, number>;
  readonly over: boolean;
  readonly tookMs: number;
}

function formatAddress(index: number): string {
  return `https://service-${index}.example`;
}

/** Plans a fleet on its own clock. */
async function planFleet({ addresses, concurrency, tolerated }: FleetScenario): Promise<PlanningResult> {
  const time = new ScheduledTime(0);
  const requests = new Map<string, number>();
  const owns = new Map<string, { serviceState: ServiceState; own: TenantProblem }>();
  const targets = addresses.flatMap(({ serviceState, own }, address) =>
    own.map((problem, index) => {
      const name = `t${address}-${index}`;
      owns.set(name, { serviceState, own: problem });
      return buildTarget(name, {}, { baseUrl: formatAddress(address) });
    }),
  );
  const request = { method: "GET", path: "/api/v1/settings/vip_employees" };
  const isSilent = (serviceState: ServiceState): boolean =>
    serviceState === "silent" || (typeof serviceState === "number" && Math.floor(time.now() / serviceState) % 2 === 0);
  const simulateRequests = async ({ name, baseUrl }: Target, count: number): Promise<void> => {
    const { serviceState, own } = owns.get(name) ?? { serviceState: "well", own: "nothing" };
    requests.set(baseUrl, (requests.get(baseUrl) ?? 0) + count);
    const isSilentHere = isSilent(serviceState) || own === "silent";
    await time.sleep(isSilentHere ? TIMEOUT_MS : ANSWER_MS);
    if (isSilentHere) throw new TimeoutError("ERR_TIMEOUT", "silent", { request, isTransient: true });
    if (serviceState === "failing" || own === "failing") {
      throw new ServerError("ERR_SERVER", "failing", { request, status: 500, isTransient: true });
    }
    if (serviceState === "refusing") throw new RateLimitedError("ERR_RATE_LIMITED", "no", { request, status: 429 });
    if (own === "key") throw new AuthenticationError("ERR_AUTH", "no", { request, status: 401 });
  };
  /** Retries like the client: quick failures are retried in every retry mode. */
  const readTarget = async (target: Target, retryMode: RequestPolicy["retryMode"]): Promise<void> => {
    for (let attempt = 1; ; attempt += 1) {
      const beganAt = time.now();
      try {
        return await simulateRequests(target, LISTS);
      } catch (error) {
        const isSlow = time.now() - beganAt >= TIMEOUT_MS;
        const mayRepeat = error instanceof EmailSecurityError && error.code !== "ERR_AUTH";
        if (!mayRepeat || attempt === ATTEMPTS || (isSlow && retryMode === "short")) throw error;
      }
    }
  };
  const over = new AbortController();
  const names = targets.map(({ name }) => name);
  const wave = { name: "all", maxConcurrent: 1, tolerated, soakMs: 0, gate: false, tenants: names };
  const tally = new FailureTally({ waves: [wave] });
  const health = new AddressHealth({ probe: (target) => simulateRequests(target, 1), targets, now: time.now });
  const outcomes = new Map<string, { code: string; isQueried: boolean; atMs: number }>();
  const done = planAllTargets<string>(targets, {
    addresses: health,
    concurrency,
    tally,
    signal: over.signal,
    onToleranceExceeded: () => over.abort(new Error("over")),
    planTarget: async (target: Target, policy: RequestPolicy, runInSlot: RunInSlot) => {
      if (owns.get(target.name)?.own === "files") throw new EmailSecurityError("ERR_SETTINGS_FILE", "no");
      await runInSlot(async () => await time.sleep(EXPORT_MS));
      await Promise.race([readTarget(target, policy.retryMode), waitForAbort(over.signal)]);
      return "planned";
    },
    onSettled: async ({ name }, { error }) => {
      expect(outcomes.has(name), `${name} is reported once`).toBe(false);
      const code = error instanceof EmailSecurityError ? error.code : error === undefined ? "planned" : "?";
      outcomes.set(name, { code, isQueried: !(error instanceof AddressDownError), atMs: time.now() });
    },
  });
  await time.advanceUntil(done);
  await done;
  return { outcomes, requests, over: tally.exceededTolerances.length > 0, tookMs: time.now() };
}

function waitForAbort(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason as Error));
  });
}

const repeatOwn = (own: TenantProblem, count: number): TenantProblem[] => Array.from({ length: count }, () => own);
const EVERYONE = Number.MAX_SAFE_INTEGER;

describe("planning tenants of one address", () => {
  it("costs two timeouts in total when the address is silent", async () => {
    const addresses = [{ serviceState: "silent" as const, own: repeatOwn("nothing", 300) }];
    const { outcomes, requests, tookMs } = await planFleet({ addresses, concurrency: 2, tolerated: EVERYONE });
    expect(requests.get(formatAddress(0))).toBe(LISTS + PROBED_TENANTS);
    expect(tookMs).toBe(EXPORT_MS + 2 * TIMEOUT_MS);
    expect([...outcomes.values()].filter(({ code }) => code === "ERR_TIMEOUT")).toHaveLength(300);
    expect([...outcomes.values()].filter(({ isQueried }) => isQueried)).toHaveLength(1);
  });

  it.each(["failing", "refusing"] as const)(
    "costs a few requests in total when the address is %s",
    async (serviceState) => {
      const addresses = [{ serviceState, own: repeatOwn("nothing", 300) }];
      const { outcomes, requests } = await planFleet({ addresses, concurrency: 2, tolerated: EVERYONE });
      expect(requests.get(formatAddress(0))).toBe(LISTS * ATTEMPTS + PROBED_TENANTS);
      expect(outcomes.size).toBe(300);
    },
  );

  it("reports every tenant of a silent address when planning ends early", async () => {
    const addresses = [
      { serviceState: "silent" as const, own: repeatOwn("nothing", 300) },
      { serviceState: "well" as const, own: repeatOwn("nothing", 212) },
    ];
    const { outcomes } = await planFleet({ addresses, concurrency: 1, tolerated: 2 });
    const failed = [...outcomes.values()].filter(({ code }) => code === "ERR_TIMEOUT");
    expect(failed).toHaveLength(300);
    expect(outcomes.size).toBeLessThan(512);
  });

  it("plans responsive tenants even behind silent ones", async () => {
    const addresses = [{ serviceState: "well" as const, own: [...repeatOwn("silent", 5), ...repeatOwn("nothing", 5)] }];
    const { outcomes } = await planFleet({ addresses, concurrency: 1, tolerated: EVERYONE });
    const codes = [...outcomes].sort().map(([, { code }]) => code);
    expect(codes).toEqual([...Array(5).fill("ERR_TIMEOUT"), ...Array(5).fill("planned")]);
  });
});

const own = fc.oneof(
  { weight: 12, arbitrary: fc.constant<TenantProblem>("nothing") },
  { weight: 1, arbitrary: fc.constantFrom<TenantProblem>("key", "files", "silent", "failing") },
);
const serviceState = fc.oneof(
  { weight: 3, arbitrary: fc.constant<ServiceState>("well") },
  { weight: 3, arbitrary: fc.constantFrom<ServiceState>("silent", "failing", "refusing") },
  { weight: 1, arbitrary: fc.integer({ min: 1_000, max: 200_000 }) },
);
const fleets: fc.Arbitrary<FleetScenario> = fc.record({
  addresses: fc.array(fc.record({ serviceState, own: fc.array(own, { minLength: 1, maxLength: 25 }) }), {
    minLength: 1,
    maxLength: 5,
  }),
  concurrency: fc.integer({ min: 1, max: 6 }),
  tolerated: fc.oneof(fc.integer({ min: 0, max: 30 }), fc.constant(EVERYONE)),
});

/** Returns whether a few tenants at most have problems of their own, and not all that could be probed. */
function isFair({ own: owns }: FleetScenario["addresses"][number]): boolean {
  const troubledCount = owns.filter((problem) => problem === "silent" || problem === "failing").length;
  return troubledCount <= PROBED_TENANTS && troubledCount < owns.length;
}

const OWN_CODE = {
  nothing: "planned",
  key: "ERR_AUTH",
  files: "ERR_SETTINGS_FILE",
  silent: "ERR_TIMEOUT",
  failing: "ERR_SERVER",
} as const;

it(
  "limits requests to a down address",
  async () => {
    await fc.assert(
      fc.asyncProperty(fleets, async (fleet) => {
        const { outcomes, requests, over } = await planFleet(fleet);
        for (const [index, { serviceState: state, own: owns }] of fleet.addresses.entries()) {
          const results = owns.map((problem, position) => ({
            problem,
            outcome: outcomes.get(`t${index}-${position}`),
          }));
          if (state === "well" && isFair({ serviceState: state, own: owns })) {
            for (const { problem, outcome } of results) {
              if (outcome !== undefined) expect(outcome).toMatchObject({ code: OWN_CODE[problem], isQueried: true });
            }
          }
          if (state === "silent" || state === "failing" || state === "refusing") {
            expect(requests.get(formatAddress(index)) ?? 0).toBeLessThanOrEqual(LISTS * ATTEMPTS + PROBED_TENANTS);
            for (const { outcome } of results) expect(outcome?.code).not.toBe("planned");
          }
        }
        const tenants = fleet.addresses.flatMap(({ own: owns }) => owns);
        const failed = [...outcomes.values()].filter(({ code }) => code !== "planned");
        expect(over).toBe(failed.length > fleet.tolerated);
        if (!over) expect(outcomes.size).toBe(tenants.length);
      }),
      getPropertyOptions("plan-each", { numRuns: 200, ...SEED }),
    );
  },
  getTimeLimit(120_000),
);

it(
  "doesn't slow down tenants of responsive addresses",
  async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 40 }),
        fc.integer({ min: 1, max: 5 }),
        fc.integer({ min: 1, max: 4 }),
        async (tenants, dead, concurrency) => {
          const living = { serviceState: "well" as const, own: repeatOwn("nothing", tenants) };
          const silent = Array.from({ length: dead }, () => ({
            serviceState: "silent" as const,
            own: repeatOwn("nothing", 20),
          }));
          const alone = await planFleet({ addresses: [living], concurrency, tolerated: EVERYONE });
          const mixedRun = await planFleet({ addresses: [...silent, living], concurrency, tolerated: EVERYONE });
          const last = Math.max(
            ...[...mixedRun.outcomes].filter(([name]) => name.startsWith(`t${dead}-`)).map(([, { atMs }]) => atMs),
          );
          // The first tenant of each address takes a slot to export its stack's state, and none while it waits.
          expect(last).toBeLessThanOrEqual(alone.tookMs + dead * EXPORT_MS);
        },
      ),
      getPropertyOptions("plan-each-living", { numRuns: 40, ...SEED }),
    );
  },
  getTimeLimit(120_000),
);

it("reads more tenants at once than it starts processes", async () => {
  const targets = Array.from({ length: 20 }, (_, index) => buildTarget(`t${index}`, {}, { baseUrl: formatAddress(0) }));
  let processes = 0;
  let mostProcesses = 0;
  let mostReads = 0;
  const reads: (() => void)[] = [];
  const done = planAllTargets<string>(targets, {
    addresses: new AddressHealth({ probe: () => Promise.resolve(), targets }),
    concurrency: 8,
    processConcurrency: 2,
    tally: new FailureTally({ waves: [] }),
    signal: new AbortController().signal,
    onToleranceExceeded: () => {},
    planTarget: async (_target, _policy, runInSlot) => {
      await runInSlot(async () => {
        processes += 1;
        mostProcesses = Math.max(mostProcesses, processes);
        await runReadyTasks();
        processes -= 1;
      });
      await new Promise<void>((resolve) => void reads.push(resolve));
      return "planned";
    },
    onSettled: () => Promise.resolve(),
  });
  let isDone = false;
  const ended = done.then(() => {
    isDone = true;
  });
  while (!isDone) {
    // Two tenants pass their process in a turn.
    for (let turn = 0; turn < 16; turn += 1) await runReadyTasks();
    mostReads = Math.max(mostReads, reads.length);
    for (const answer of reads.splice(0)) answer();
  }
  await ended;
  expect({ mostProcesses, mostReads }).toEqual({ mostProcesses: 2, mostReads: 8 });
});

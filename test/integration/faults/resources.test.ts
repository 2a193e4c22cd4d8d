import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { ProxiedRequest } from "../../support/faulty-proxy";
import { selectSize } from "../../support/matrix-sampling";
import { type FaultCaseResult, FaultRunner, type ObservedRun } from "./fault-runner";
import { buildErrorPattern, type FaultCase, getPromise, listSelectedCases, type ProxiedEndpoint } from "./faults";
import { Pool } from "./object-pool";
import { AFTER, listDeclaredContent, REMOVED_ENTRIES, REMOVED_VIPS, STAYING_ENTRIES, STAYING_VIPS } from "./program";
import type { TenantContent } from "./tenant-content";

/** The number of cases that run in parallel. A case spends most of its time waiting. */
const RUNNER_COUNT = selectSize("faults", 4, 6);

/**
 * The number of requests that a run may make in addition to those without a fault: the limit for a service that is
 * down, and both lists once more before each of the ten retries of a creation, because a list may lag.
 */
const MOST_MORE_REQUESTS = 35 + 10 * 2;

const ENTRIES = /\/allow_deny_entries$/;
const ENTRY = /\/allow_deny_entries\/[^/]+$/;
const VIPS = /\/vip_employees$/;

/** The settings endpoints, which the provider process uses. */
const SETTINGS: readonly ProxiedEndpoint[] = [
  { method: "GET", path: ENTRIES },
  { method: "POST", path: ENTRIES },
  { method: "PATCH", path: ENTRY },
  { method: "DELETE", path: ENTRY },
  { method: "GET", path: VIPS },
  { method: "POST", path: VIPS },
  { method: "PATCH", path: VIPS },
  { method: "POST", path: /\/vip_employees\/remove$/ },
];

describe.concurrent("faults between the provider process and the service", () => {
  const runners = new Pool<FaultRunner>();
  const tlsRunners = new Pool<FaultRunner>();
  let clean: ObservedRun;
  let serial: readonly ProxiedRequest[];

  beforeAll(async () => {
    for (let index = 0; index < RUNNER_COUNT; index += 1) runners.add(await FaultRunner.create());
    tlsRunners.add(await FaultRunner.create({ tls: true }));
    await runners.use(async (runner) => {
      clean = await runner.runWithoutFault({ parallel: true });
      ({ requests: serial } = await runner.runWithoutFault({ parallel: false }));
    });
    expect(clean.tenant).toMatchObject(listDeclaredContent(AFTER));
  }, 120_000);

  afterAll(async () => {
    for (const runner of [...runners.members, ...tlsRunners.members]) await runner[Symbol.asyncDispose]();
  });

  test.for(listSelectedCases("faults", SETTINGS))(
    "leave no duplicate or lost entry: %s",
    { timeout: 600_000 },
    async ([, faultCase]) => {
      const pool = faultCase.fault.door === "untrusted" ? tlsRunners : runners;
      verifyOutcome(faultCase, await pool.use((runner) => runner.run(faultCase, serial)), clean);
    },
  );
});

function verifyOutcome(
  faultCase: FaultCase<ProxiedEndpoint>,
  { hits, faulted, next, third, stackProperties, read }: FaultCaseResult,
  clean: ObservedRun,
): void {
  if (hits !== undefined) expect(hits, "the fault hit").toBeGreaterThan(0);
  const { failures } = faulted.up;
  if (getPromise(faultCase) === "recovers") {
    expect(failures, "the run with the fault gets through").toEqual({});
    expect(faulted.tenant).toEqual(clean.tenant);
    expect(next.requests, "nothing is left for the next run").toEqual([]);
  } else {
    expect(Object.keys(failures), "the run with the fault fails").not.toEqual([]);
    expect(Object.values(failures).join("\n")).toMatch(buildErrorPattern(faultCase.fault));
  }
  assertNothingLost(faulted.tenant);
  assertNoBlindRetries(faulted.requests);
  expect(faulted.requests.length).toBeLessThanOrEqual(clean.requests.length + MOST_MORE_REQUESTS);

  expect(next.up.failures, "the next run converges").toEqual({});
  expect(next.tenant).toEqual(clean.tenant);

  expect(third.requests, "the third run asks nothing").toEqual([]);
  expect(new Set(Object.values(third.up.outcomes))).toEqual(new Set(["same"]));
  expect(read, "the state is what the tenant holds").toEqual(stackProperties);
}

/**
 * Asserts that there are no duplicates, that no entry or VIP that should stay is missing, and that only those removed
 * from the program were removed.
 */
function assertNothingLost({ entries, vips, exclusions, removed }: TenantContent): void {
  const keys = entries.map((entry) => entry.split(" ").slice(1, 4).join(" "));
  expect(keys, "no duplicate").toEqual([...new Set(keys)]);
  const values = entries.map((entry) => entry.split(" ")[2]);
  expect(values).toEqual(expect.arrayContaining(STAYING_ENTRIES));
  expect(vips.map((vip) => vip.split(" ")[0])).toEqual(expect.arrayContaining(STAYING_VIPS));
  expect(entries).toContain("deny domain by-hand.example global a colleague's");
  expect(vips).toContain("p15@acme.example by hand");
  expect([...REMOVED_ENTRIES, ...REMOVED_VIPS]).toEqual(expect.arrayContaining([...removed]));
  expect(REMOVED_VIPS).toEqual(expect.arrayContaining([...exclusions]));
}

/** Asserts that a POST is sent again only if it certainly had no effect, or if the list was read in between. */
function assertNoBlindRetries(requests: readonly ProxiedRequest[]): void {
  for (const [position, first] of requests.entries()) {
    const isOutcomeKnown = first.clientOutcome === first.served || first.clientOutcome === 429;
    if (first.method !== "POST" || isOutcomeKnown) continue;
    const subjects = listSubjects(first);
    const again = requests.findIndex(
      (other, index) =>
        index > position &&
        other.method === "POST" &&
        listSubjects(other).some((subject) => subjects.includes(subject)),
    );
    if (again === -1) continue;
    const list = first.path.includes("vip_employees") ? VIPS : ENTRIES;
    const between = requests.slice(position + 1, again).map(({ method, path }) => method === "GET" && list.test(path));
    expect(between, `${first.body} was looked up before it was sent again`).toContain(true);
  }
  // The sandbox rejects duplicates, so a 409 would show a repeated creation.
  expect(requests.filter(({ served }) => served === 409)).toEqual([]);
}

/** Returns the subjects of a POST: a value, or mailboxes. */
function listSubjects({ path, body }: ProxiedRequest): string[] {
  const { value, emails = [] } = JSON.parse(body) as { value?: string; emails?: string[] };
  return [value ?? [], emails].flat().map((subject) => `${path} ${subject}`);
}

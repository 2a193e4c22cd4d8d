import { describe, expect, it } from "vitest";
import { EmailSecurityError, TimeoutError } from "../../../../provider/client";
import { forEachConcurrently } from "../../../../provider/model/for-each-concurrently";
import { AddressDownError, AddressHealth } from "../../../../provider/rollout/probing/address-health";
import { buildTarget } from "../../../support/rollout-target";
import { ScheduledTime } from "../../../support/scheduled-time";

const TIMEOUT_MS = 30_000;
/** An engine's duration at a service that answers, and at a silent one: four attempts. */
const ENGINE_MS = 5_000;
const SILENT_ENGINE_MS = 4 * TIMEOUT_MS;

const request = { method: "GET", path: "/api/v1/settings/vip_employees" };
const createTimeout = () => new TimeoutError("ERR_TIMEOUT", "no answer", { request, isTransient: true });

/**
 * Changes tenants of one address, as their jobs do. Returns each tenant's outcome, the number of engines that ran, and
 * the total time.
 */
async function changeTenants(
  count: number,
  concurrency: number,
  { isSilent, tolerated = count }: { isSilent: (atMs: number, name: string) => boolean; tolerated?: number },
) {
  const time = new ScheduledTime(0);
  const became = new Map<string, "done" | "failed" | "not asked">();
  let engines = 0;
  let looks = 0;
  const simulateAnswer = async (name: string, answerMs: number, silentMs: number): Promise<void> => {
    const isDown = isSilent(time.now(), name);
    await time.sleep(isDown ? silentMs : answerMs);
    if (isDown) throw createTimeout();
  };
  const health = new AddressHealth({
    now: time.now,
    probe: async ({ name }) => {
      looks += 1;
      await simulateAnswer(name, 50, TIMEOUT_MS);
    },
  });
  const countFailed = () => [...became.values()].filter((candidate) => candidate !== "done").length;
  const all = Array.from({ length: count }, (_, index) => buildTarget(`t${index}`));
  const work = forEachConcurrently(all, concurrency, async (target) => {
    if (countFailed() > tolerated) return;
    try {
      await health.assertReachable(target);
      engines += 1;
      await simulateAnswer(target.name, ENGINE_MS, SILENT_ENGINE_MS);
      health.recordOutcome(target, undefined);
      became.set(target.name, "done");
    } catch (error) {
      health.recordOutcome(target, error);
      became.set(target.name, error instanceof AddressDownError ? "not asked" : "failed");
      // A rollout starts the next tenants at its next poll of the journal.
      await time.sleep(200);
    }
  });
  await time.advanceUntil(work);
  await work;
  return { became: [...became.values()], engines, looks, tookMs: time.now() };
}

describe("changing tenants at an unresponsive address", () => {
  it.each([1, 8])("starts no further engines once it is down, with %i at once", async (concurrency) => {
    const tolerated = 60;
    const { became, engines, looks, tookMs } = await changeTenants(300, concurrency, {
      tolerated,
      isSilent: () => true,
    });
    expect(engines).toBe(concurrency);
    expect(looks).toBeLessThanOrEqual(3);
    expect(became.filter((candidate) => candidate === "not asked").length).toBeGreaterThan(0);
    expect(became.filter((candidate) => candidate !== "done").length).toBeLessThanOrEqual(tolerated + concurrency);
    // Without probes, each tolerated failure would cost a full engine run, one after the other.
    expect(tookMs).toBeLessThanOrEqual(SILENT_ENGINE_MS + TIMEOUT_MS + 200 * (tolerated + 1));
  });

  it("resumes after the address recovers", async () => {
    const { became, engines } = await changeTenants(600, 1, {
      isSilent: (atMs) => atMs > 50_000 && atMs < 200_000,
    });
    // Until a probe finds the address healthy, the remaining tenants get no requests; afterwards, all of them do.
    const first = became.indexOf("failed");
    const again = became.lastIndexOf("not asked") + 1;
    expect(first).toBe(11);
    expect(again - first).toBeLessThan(400);
    expect(became.slice(again).every((candidate) => candidate === "done")).toBe(true);
    expect(engines).toBe(became.filter((candidate) => candidate !== "not asked").length);
  });

  it("continues when only single tenants fail", async () => {
    const { became } = await changeTenants(20, 2, { isSilent: (_atMs, name) => name === "t3" || name === "t4" });
    expect(became.filter((candidate) => candidate === "failed")).toHaveLength(2);
    expect(became.filter((candidate) => candidate === "done")).toHaveLength(18);
  });
});

it("fails other tenants only for address-wide failures, with their code", async () => {
  const health = new AddressHealth({ probe: () => Promise.reject(createTimeout()), now: () => 0 });
  health.recordOutcome(buildTarget("a"), new EmailSecurityError("ERR_PLAN_STALE", "moved"));
  await health.assertReachable(buildTarget("b"));
  health.recordOutcome(buildTarget("a"), new EmailSecurityError("ERR_SERVER", "GET x returned 500\nmore"));
  await expect(health.assertReachable(buildTarget("b"))).rejects.toMatchObject({
    code: "ERR_SERVER",
    message:
      'No request was sent for this tenant, and it was not changed: its service was just found to be down for "a" and others. GET x returned 500',
  });
  // Another address is independent.
  await health.assertReachable(buildTarget("c", {}, { baseUrl: "https://other.example" }));
});

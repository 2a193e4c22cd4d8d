import { once } from "node:events";
import { afterAll, beforeAll, expect, it } from "vitest";
import { Fleet, type RunningCommand } from "../support/fleet";
import { type Postgres, startPostgres } from "../support/postgres";

const TENANTS = 4;
let postgres: Postgres;
let fleet: Fleet;
/** Journal, queue and Pulumi's own state share one database. */
let database: Record<string, string>;

beforeAll(async () => {
  postgres = await startPostgres();
  fleet = await Fleet.start({ tenants: TENANTS, waves: "waves: [{ name: all, maxConcurrent: 3 }]\n" });
  database = { EMAIL_SECURITY_DATABASE: postgres.url, PULUMI_BACKEND_URL: `${postgres.url}?sslmode=disable` };
});

afterAll(async () => {
  await fleet[Symbol.asyncDispose]();
  await postgres[Symbol.asyncDispose]();
});

it("hands a killed worker's tenant over exactly once", async () => {
  const workers = [0, 1, 2].map(() => fleet.start(database, "worker", "--max-concurrent", "1"));
  for (const worker of workers) await worker.waitForOutput("processes up to 1 tenants concurrently");

  const rollout = fleet.start(database, "rollout", "--yes");
  const first = await rollout.waitForEvent(({ kind }) => kind === "tenant-started");
  const { tenant, worker } = first as Extract<typeof first, { kind: "tenant-started" }>;
  const victim = workers.find(({ process }) => worker.endsWith(`:${process.pid}`));
  victim?.process.kill("SIGKILL");

  const { code, events, output } = await rollout.result;
  expect(output).not.toContain("error");
  expect(code).toBe(0);
  const started = events.filter((event) => event.kind === "tenant-started");
  // Each tenant started once, except the one whose worker died.
  expect(started.map((event) => event.tenant).sort()).toEqual([...fleet.names, tenant].sort());
  expect(events).toContainEqual(
    expect.objectContaining({
      kind: "tenant-note",
      tenant,
      message: expect.stringContaining("continued after"),
    }),
  );
  expect(
    events
      .filter((event) => event.kind === "tenant-finished")
      .map((event) => event.tenant)
      .sort(),
  ).toEqual([...fleet.names].sort());
  const posts = fleet.takeRequests().filter(({ method }) => method === "POST");
  expect(posts).toHaveLength(TENANTS * fleet.listDeclaredContents("t0").length);
  for (const name of fleet.names) expect(fleet.listContents(name)).toEqual(fleet.listDeclaredContents(name));

  await expectGracefulStop(workers.filter((command) => command !== victim));
});

it("needs no worker when nothing changes", async () => {
  const { code, events } = await fleet.start(database, "rollout", "--yes").result;
  expect(code).toBe(0);
  expect(events.at(-1)).toMatchObject({ kind: "finished", unchanged: TENANTS });
  expect(fleet.takeRequests().filter(({ method }) => method !== "GET")).toEqual([]);
});

/** Asserts that workers never print a key, and that they exit cleanly on Ctrl-C. */
async function expectGracefulStop(workers: readonly RunningCommand[]): Promise<void> {
  for (const { process, output, result } of workers) {
    for (const name of fleet.names) expect(output()).not.toContain(`sandbox-${name}-ci`);
    const exit = once(process, "close");
    process.kill("SIGINT");
    await exit;
    expect((await result).code).toBe(0);
    expect(output()).toContain("The worker has ended.");
  }
}

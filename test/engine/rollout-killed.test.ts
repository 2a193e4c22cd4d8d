import { afterAll, beforeAll, expect, it } from "vitest";
import type { ServiceRequest } from "../../provider/sandbox";
import { begun, Fleet, statesIn } from "../support/fleet";

/*
 * The coordinator is killed (SIGKILL) in the middle of a rollout; then somebody says `rollout --resume`.
 */

const ENTRIES = 12;

let fleet: Fleet;
/** Called before each request to the service. */
let atRequest: (request: ServiceRequest) => void = () => {};

beforeAll(async () => {
  fleet = await Fleet.start({
    tenants: 2,
    entries: ENTRIES,
    waves: "waves:\n  - { name: all, maxConcurrent: 1 }\n",
    sandbox: {
      intercept(request) {
        atRequest(request);
        return undefined;
      },
    },
  });
});

afterAll(async () => {
  await fleet?.[Symbol.asyncDispose]();
});

it("is killed while a tenant is written to, and resumed: nothing is done twice, nothing is left out", async () => {
  // In the middle of the second tenant.
  let writes = 0;
  const run = fleet.begin({}, "rollout", "--yes");
  atRequest = ({ method }) => {
    if (method === "POST") writes += 1;
    if (writes === ENTRIES + 1 + 8) run.process.kill("SIGKILL");
  };
  await run.ended;
  const before = await fleet.report();
  expect(before).toMatchObject({ state: "running", isHeld: false });
  expect(statesIn(before)).toEqual({ t0: "done", t1: "running" });

  const resumed = await fleet.rollout("--resume");
  expect(resumed.code, resumed.output).toBe(0);
  expect(begun(resumed)).toEqual(["t1"]);
  await fleet.quiet();
  const posts = fleet.take().filter(({ method }) => method === "POST");
  const told = posts.map(({ tenant, body }) => `${tenant} ${(body as { value: string }).value}`);
  expect([...new Set(told)].sort()).toEqual(told.sort());
  for (const name of fleet.names) {
    expect(fleet.holds(name)).toEqual(fleet.declared(name));
    const made = fleet.sandbox.audit(name).map(({ action }) => action);
    expect(made).toEqual(Array.from({ length: ENTRIES + 1 }, () => "allow_deny_entry.create"));
    expect(await fleet.read(`.state/.pulumi/stacks/fleet/${name}.json`)).not.toContain("pending_operations");
  }
  // The states are true: a rollout finds nothing to do.
  expect(await fleet.rollout()).toMatchObject({ code: 0 });
});

import { afterAll, beforeAll, expect, it } from "vitest";
import { Fleet, getStates, summarizeRun } from "../support/fleet";

/*
 * Rollouts without failures, through the real command and the real engine: which tenants are changed and which are left
 * alone, and that the plain CLI finds the same state.
 */

let fleet: Fleet;

beforeAll(async () => {
  fleet = await Fleet.start({
    tenants: 2,
    entries: 201,
    formatTenantOptions: (_name, number) => `{ labels: { ring: ${number === 0 ? "canary" : "broad"} } }`,
    waves: "waves:\n  - { name: canary, match: { ring: canary } }\n  - { name: rest, maxConcurrent: 2 }\n",
  });
});

afterAll(async () => {
  await fleet?.[Symbol.asyncDispose]();
});

const takeReads = (): Record<string, string[]> => {
  const byTenant = Object.groupBy(fleet.takeRequests(), ({ tenant }) => tenant ?? "nobody");
  return Object.fromEntries(
    Object.entries(byTenant).map(([tenant, requests = []]) => [
      tenant,
      requests
        .map(({ method, path, query }) => `${method} ${path.split("/").at(-1)} ${query["list"] ?? ""} ${query["page"]}`)
        .sort(),
    ]),
  );
};

/** The reads of one tenant: ⌈202/200⌉ pages of the deny list, one page of the allow list and one of the VIPs. */
const LOOKED_AT = [
  "GET allow_deny_entries allow 1",
  "GET allow_deny_entries deny 1",
  "GET allow_deny_entries deny 2",
  "GET vip_employees  1",
];

it("leaves a manually created stack unchanged", async () => {
  const init = await fleet.startPulumi("t1", "stack", "init").ended;
  const up = await fleet.startPulumi("t1", "up", "--yes", "--skip-preview").ended;
  expect([init, up]).toMatchObject([{ code: 0 }, { code: 0 }]);
  fleet.takeRequests();
  const first = await fleet.runRollout("--yes");
  expect(first.code, first.output).toBe(0);
  expect(getStates(first.report())).toEqual({ t0: "done", t1: "unchanged" });
  expect(takeReads()).toMatchObject({ t1: LOOKED_AT });
  for (const name of fleet.names) expect(fleet.listContents(name)).toEqual(fleet.listDeclaredContents(name));
});

it("runs no engine when an engine would find nothing to do", async () => {
  fleet.takeRequests();
  const texts = await readStateTexts();
  const second = await fleet.runRollout("--yes");
  expect(summarizeRun(second)).toEqual([0, []]);
  expect(getStates(second.report())).toEqual({ t0: "unchanged", t1: "unchanged" });
  expect(takeReads()).toEqual({ t0: LOOKED_AT, t1: LOOKED_AT });
  expect(await readStateTexts()).toEqual(texts);

  const plain = await fleet.startPulumi("t0", "up", "--yes", "--skip-preview", "--refresh", "--expect-no-changes")
    .ended;
  expect(plain).toMatchObject({ code: 0, output: expect.stringMatching(/4 unchanged/) });
  expect(fleet.takeRequests().filter(({ method }) => method !== "GET")).toEqual([]);
  for (const name of fleet.names) expect(fleet.listContents(name)).toEqual(fleet.listDeclaredContents(name));
});

/** Returns the state files of all stacks. */
async function readStateTexts(): Promise<string[]> {
  return await Promise.all(
    fleet.names.map(async (name) => await fleet.read(`.state/.pulumi/stacks/fleet/${name}.json`)),
  );
}

import { afterAll, beforeAll, expect, it } from "vitest";
import { Fleet } from "../support/fleet";

/*
 * Rollouts through the real command and the real engine, where nothing goes wrong: what is changed, what is left alone,
 * and that a person with the plain CLI sees the same.
 */

let fleet: Fleet;

beforeAll(async () => {
  fleet = await Fleet.start({
    tenants: 3,
    entries: 201,
    about: (_name, number) => `{ labels: { ring: ${number === 0 ? "canary" : "broad"} } }`,
    waves: "waves:\n  - { name: canary, match: { ring: canary } }\n  - { name: rest, maxConcurrent: 2 }\n",
  });
});

afterAll(async () => {
  await fleet?.[Symbol.asyncDispose]();
});

const reads = (): Record<string, string[]> => {
  const byTenant = Object.groupBy(fleet.take(), ({ tenant }) => tenant ?? "nobody");
  return Object.fromEntries(
    Object.entries(byTenant).map(([tenant, requests = []]) => [
      tenant,
      requests
        .map(
          ({ method, path, query }) =>
            `${method} ${path.split("/").at(-1)} ${query["list"] ?? ""} ${query["page"]}`,
        )
        .sort(),
    ]),
  );
};

/** ⌈202/200⌉ pages of the deny list, one of the allow list and of the VIPs. */
const LOOKED_AT = [
  "GET allow_deny_entries allow 1",
  "GET allow_deny_entries deny 1",
  "GET allow_deny_entries deny 2",
  "GET vip_employees  1",
];

it("makes stacks, and changes all; again, it only reads and runs no engine", async () => {
  const first = await fleet.rollout("--yes");
  expect(first).toMatchObject({ code: 0 });
  expect(await fleet.states()).toEqual({ t0: "done", t1: "done", t2: "done" });
  for (const name of fleet.names) expect(fleet.holds(name)).toEqual(fleet.declared(name));
  fleet.take();

  const states = await stateTexts();
  const second = await fleet.rollout("--yes");
  expect(second).toMatchObject({ code: 0 });
  expect(await fleet.states()).toEqual({ t0: "unchanged", t1: "unchanged", t2: "unchanged" });
  expect(reads()).toEqual({ t0: LOOKED_AT, t1: LOOKED_AT, t2: LOOKED_AT });
  expect(second.events.map(({ kind }) => kind)).not.toContain("tenant-started");
  expect(await stateTexts()).toEqual(states);
});

it("was right to run no engine: neither does one find anything to do, nor a person's own `pulumi up`", async () => {
  const states = await settingsIn();
  const always = await fleet.rollout("--yes", "--always-run-engine");
  expect(always).toMatchObject({ code: 0 });
  expect(await fleet.states()).toEqual({ t0: "done", t1: "done", t2: "done" });
  expect(always.events.filter(({ kind }) => kind === "tenant-started")).toHaveLength(3);
  expect(fleet.take().filter(({ method }) => method !== "GET")).toEqual([]);
  expect(await settingsIn()).toEqual(states);

  const plain = await fleet.pulumi("t1", "up", "--yes", "--refresh", "--expect-no-changes").ended;
  expect(plain).toMatchObject({ code: 0, output: expect.stringMatching(/4 unchanged/) });
  expect(fleet.take().filter(({ method }) => method !== "GET")).toEqual([]);
  for (const name of fleet.names) expect(fleet.holds(name)).toEqual(fleet.declared(name));
});

it("takes a stack that a person made, as it is", async () => {
  await fleet.pulumi("t2", "destroy", "--yes", "--skip-preview", "--remove").ended;
  expect(fleet.holds("t2")).toEqual([]);
  const init = await fleet.pulumi("t2", "stack", "init").ended;
  const up = await fleet.pulumi("t2", "up", "--yes", "--skip-preview").ended;
  expect([init.output, up]).toMatchObject([expect.anything(), { code: 0 }]);
  fleet.take();
  const taken = await fleet.rollout("--yes", "--only", "t2");
  expect(taken).toMatchObject({ code: 0 });
  expect(await fleet.states()).toEqual({ t2: "unchanged" });
  expect(reads()).toEqual({ t2: LOOKED_AT });
  expect(fleet.holds("t2")).toEqual(fleet.declared("t2"));
});

/** The states of all stacks, as they are on the disk. */
async function stateTexts(): Promise<string[]> {
  return await Promise.all(
    fleet.names.map(async (name) => await fleet.read(`.state/.pulumi/stacks/fleet/${name}.json`)),
  );
}

/** The resources in them, without what the engine writes of each run. */
async function settingsIn(): Promise<unknown[]> {
  return (await stateTexts()).map((text) => {
    const { resources } = (JSON.parse(text) as { checkpoint: { latest: { resources: Resource[] } } })
      .checkpoint.latest;
    return resources
      .map(({ modified: _modified, created: _created, stackTrace: _trace, ...rest }) => rest)
      .sort(({ urn: one }, { urn: other }) => (String(one) < String(other) ? -1 : 1));
  });
}

type Resource = Readonly<Record<string, unknown>>;

import { afterAll, beforeAll, expect, it } from "vitest";
import { readStateFile } from "../../provider/rollout/stack/state-file";
import { Fleet, getStates, listStartedTenants } from "../support/fleet";

/*
 * A rollout through the real command and the real engine, and the next one, which finds nothing to do.
 */

let fleet: Fleet;

beforeAll(async () => {
  fleet = await Fleet.start({ tenants: 1, entries: 201 });
});

afterAll(async () => {
  await fleet?.[Symbol.asyncDispose]();
});

it("only reads in the rollout after the first", async () => {
  const first = await fleet.runRollout("--yes");
  expect(first.code, first.output).toBe(0);
  expect(getStates(first.report())).toEqual({ t0: "done" });
  expect(fleet.listContents("t0")).toEqual(fleet.listDeclaredContents("t0"));
  fleet.takeRequests();

  const state = await fleet.read(STATE);
  const second = await fleet.runRollout("--yes");
  expect(second.code, second.output).toBe(0);
  expect(getStates(second.report())).toEqual({ t0: "unchanged" });
  expect(listStartedTenants(second)).toEqual([]);
  const looks = fleet
    .takeRequests()
    .map(({ method, path, query }) => `${method} ${path.split("/").at(-1)} ${query["list"]} ${query["page"]}`);
  // ⌈202/200⌉ pages of the deny list, one page of the allow list and one of the VIPs.
  expect(looks.sort()).toEqual([
    "GET allow_deny_entries allow 1",
    "GET allow_deny_entries deny 1",
    "GET allow_deny_entries deny 2",
    "GET vip_employees undefined 1",
  ]);
  expect(await fleet.read(STATE)).toBe(state);

  // Not covered elsewhere: the state file that rollouts read is the same as the CLI's export.
  const exported = await fleet.startPulumi("t0", "stack", "export").ended;
  const files = { backend: fleet.environment["PULUMI_BACKEND_URL"], project: "fleet", stack: "t0" };
  expect(readStateFile(files)).toEqual(JSON.parse(exported.output));
});

const STATE = ".state/.pulumi/stacks/fleet/t0.json";

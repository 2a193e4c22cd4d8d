import { afterAll, beforeAll, expect, it } from "vitest";
import { Fleet, told } from "../support/fleet";

/*
 * A rollout that was wrong is taken back: each tenant to what it held before it, through the real command and the real engine.
 */

let fleet: Fleet;

const BAD = "bad.example";

beforeAll(async () => {
  fleet = await Fleet.start({ tenants: 2 });
});

afterAll(async () => {
  await fleet?.[Symbol.asyncDispose]();
});

it("leaves a tenant with what it held before it, touches nothing else, and is not gone round by running again", async () => {
  // It has an entry of a colleague's that the settings know nothing of.
  await fleet.console("t0", "POST", "/allow_deny_entries", {
    list: "deny",
    entry_type: "domain",
    value: "colleague.example",
  });
  const first = await fleet.rollout("--yes", "--only", "t0");
  expect(first.code, first.output).toBe(0);
  const before = fleet.holds("t0");

  // Two allows that nobody should have, a domain less, and a comment that is wrong.
  const wrong = "deny:\n  - { value: evil0.example, comment: wrong }\n  - evil1.example\n";
  await fleet.write("settings/baseline.yaml", `version: 1\nallow:\n  - ${BAD}\n  - worse.example\n${wrong}`);
  const changed = await fleet.rollout("--yes", "--only", "t0");
  expect(changed.code, changed.output).toBe(0);
  const { id, digest } = changed.report();
  expect(fleet.holds("t0")).toEqual(
    [
      ...[`allow ${BAD}`, "allow worse.example", "deny colleague.example"],
      ...["deny evil0.example wrong", "deny evil1.example", "deny only-t0.example"],
    ].sort(),
  );
  // A colleague has mended one by hand meanwhile: that stays.
  const [row] = fleet.sandbox.allowDenyEntries("t0").filter(({ value }) => value === "worse.example");
  await fleet.console("t0", "PATCH", `/allow_deny_entries/${row?.id}`, { list: "deny" });

  fleet.take();
  const back = await fleet.rollout("rollback", "--yes");
  expect(told(back), back.output).toEqual([0, ["t0"]]);
  expect(fleet.holds("t0")).toEqual([...before, "deny worse.example"].sort());
  expect(fleet.take().filter(({ tenant }) => tenant !== "t0")).toEqual([]);
  expect(back.report()).toMatchObject({ rollsBack: id, state: "done", counts: { done: 1, failed: 0 } });

  // The settings still say it, and it is not for one tenant that it was taken back.
  const again = await fleet.rollout("--yes");
  expect(again).toMatchObject({ code: 3, events: [] });
  expect(again.output).toMatch(
    /took back what this plan would do again.*allow bad\.example.*\[ERR_ROLLOUT_TAKEN_BACK\]/,
  );
  expect(/--plan-digest (r2-\w+)/.exec(again.output)?.[1]).not.toBe(digest);
  expect(fleet.take().filter(({ method }) => method !== "GET")).toEqual([]);
});

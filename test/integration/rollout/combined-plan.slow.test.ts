import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { reportSchema } from "../../../provider/rollout/model/rollout-report";
import { hasShell } from "../engine-setup/fake-toolchain";
import { PlannedFleet } from "./plan-fleet";

/* The Markdown and HTML of an `email-security rollout` plan, over the sandbox. */

describe.skipIf(!hasShell)("a rollout plan for a pull request", () => {
  let fleet: PlannedFleet;

  beforeAll(async () => {
    fleet = await PlannedFleet.start();
  });

  afterAll(async () => {
    await fleet?.[Symbol.asyncDispose]();
  });

  it("reads every tenant's mail or none, according to --evidence", async () => {
    const all = await fleet.runPlan(["--evidence", "all"]);
    expect(all.code).toBe(2);
    expect(fleet.sandbox.requests).toHaveLength(8 * 3 + 7 * 5);
    const markdown = fleet.readFile("plan.md");
    expect(markdown).toContain("Mail evidence of the last 30 days from all 7 tenants with changes");
    const none = await fleet.runPlan(["--evidence", "none"]);
    expect(none.code).toBe(2);
    expect(fleet.sandbox.requests).toHaveLength(8 * 3);
    expect(fleet.readFile("plan.md")).toContain("> **Incomplete evidence.** 7 of 8 tenants would change");
    expect(fleet.readFile("plan.md")).toContain("The mail of the tenants was not read.");
    expect(fleet.readFile("plan.md").split("Digest").at(-1)).toBe(markdown.split("Digest").at(-1));
  });

  it("rejects --evidence when no document would show it", async () => {
    const { code, stderr } = await fleet.runPlan(["--evidence", "all", "--yes"]);
    expect([code, fleet.sandbox.requests.length]).toEqual([1, 0]);
    expect(stderr).toContain("--evidence appears only in the Markdown or HTML of a plan");
    // Someone who asked for evidence would read that no mail was searched.
    for (const task of [["--only-expired"], ["--revert-drift"]]) {
      const outcome = await fleet.runPlan(["--evidence", "sample", ...task]);
      expect([outcome.code, fleet.sandbox.requests.length]).toEqual([1, 0]);
      expect(outcome.stderr).toContain("--only-expired and --revert-drift don't query mail");
    }
  });

  it("writes empty documents when no drift is to be reverted", async () => {
    const { code, stderr } = await fleet.runPlan(["--revert-drift", "--output", "plan.json"]);
    expect([code, fleet.sandbox.requests.length]).toEqual([0, 0]);
    const reason = "0 of 8 tenants have `onDrift: revert` in the settings files";
    expect(stderr).toBe(`${reason}: nothing is reverted.\nWrote plan.md, plan.html, plan.json.\n`);
    const report = reportSchema.parse(JSON.parse(fleet.readFile("plan.json")));
    expect(report).toMatchObject({ id: "none", state: "done", reason: reason, tenants: [], waves: [] });
    expect(fleet.readFile("plan.md").split("\n", 1)).toEqual(["<!-- email-security-plan -->"]);
    expect(fleet.readFile("plan.md")).toContain("0 tenants");
    expect(fleet.readFile("plan.html")).toContain("</html>");
  });

  it("keeps the comment marker when planning fails", async () => {
    const { code, stderr } = await fleet.runPlan([], { T0_KEY: undefined });
    const text = fleet.readFile("plan.md");
    expect([code, fleet.sandbox.requests.length]).toEqual([1, 0]);
    expect(stderr).toContain("ERR_ROLLOUT_PLAN");
    expect(text.split("\n", 1)).toEqual(["<!-- email-security-plan -->"]);
    expect(text).toContain("T0_KEY");
  });
});

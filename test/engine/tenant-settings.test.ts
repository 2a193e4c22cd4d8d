import { afterAll, beforeAll, expect, it } from "vitest";
import { click } from "../support/tenant-console";
import { listWrites } from "../support/write-requests";
import { SETTINGS, SettingsProject } from "./tenant-settings";

/*
 * Settings files from the pull request to the tenant, through the real engine. The tests share one project and depend
 * on their order.
 */

let fixture: SettingsProject;

beforeAll(async () => {
  fixture = await SettingsProject.create();
});

afterAll(async () => {
  await fixture?.[Symbol.asyncDispose]();
});

it("applies the reviewed plan of a new stack", async () => {
  const planned = await fixture.plan("--output", "plan.json");
  expect(planned.output).toContain("settings/baseline.yaml:3");
  expect(planned.code).toBe(2);
  const digest = /v2-[0-9a-f-]+/.exec(planned.output)?.[0] ?? "";
  fixture.sandbox.clearRequests();
  const applied = await fixture.apply("--plan", "plan.json", "--plan-digest", digest);
  expect(applied.output).toContain("4 created");
  expect(applied.code).toBe(0);
  expect(fixture.listContents().sort()).toEqual([
    "VIP lena.hartmann@acme.example Releases payments",
    "allow partner.example Contract 2026-114",
    "deny evil.example INC-7",
  ]);
  const again = await fixture.plan();
  expect(again.code).toBe(0);
  expect((await fixture.cli("drift", "settings/acme.yaml")).code).toBe(0);
});

it("rejects a stale plan without a write", async () => {
  await fixture.declare(SETTINGS.replace("Contract 2026-114", "Contract 2027-001"));
  await fixture.plan("--output", "plan.json");
  const row = fixture.sandbox.allowDenyEntries("acme").find(({ value }) => value === "partner.example");
  await click(fixture.sandbox, "PATCH", `/allow_deny_entries/${row?.id}`, { comment: "do not touch" });
  fixture.sandbox.clearRequests();
  const rejection = await fixture.apply("--plan", "plan.json");
  expect(rejection.code).toBe(3);
  expect(rejection.output).toContain(
    'allow partner.example: was allow: "Contract 2026-114" at the review, is allow: "do not touch" now',
  );
  // `pulumi up` by itself enforces the plan in the same way.
  const up = await fixture.project.runWith(
    { EMAIL_SECURITY_PLAN: "plan.json" },
    "up",
    "--yes",
    "--skip-preview",
    "--refresh",
  );
  expect(up.output).toContain("ERR_PLAN_STALE");
  expect(up.output).toContain('was allow: "Contract 2026-114" at the review, but is now allow: "do not touch"');
  expect(up.code).not.toBe(0);
  expect(listWrites(fixture.sandbox)).toEqual([]);
});

import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, it } from "vitest";
import { click } from "../support/tenant-console";
import { listWrites } from "../support/write-requests";
import { PROGRAM, SETTINGS, SettingsProject } from "./tenant-settings";

/* Everything that follows a first apply. The tests share one project and depend on their order. */

/** While true, the service accepts only one entry per value, regardless of its scope. */
let rejectsSecondEntry = false;

function rejectWrite({ method, body }: { readonly method: string; readonly body?: unknown }) {
  const value = (body as { value?: string } | undefined)?.value;
  const isThere = fixture.sandbox.allowDenyEntries("acme").some((row) => row.value === value);
  if (!rejectsSecondEntry || method !== "POST" || !isThere) return undefined;
  return { status: 409, body: { errors: [{ message: `${value} is on the list` }] } };
}

let fixture: SettingsProject;

beforeAll(async () => {
  fixture = await SettingsProject.create({ intercept: rejectWrite });
  await fixture.project.up();
});

afterAll(async () => {
  await fixture?.[Symbol.asyncDispose]();
});

it("enforces a reviewed plan against changed files", async () => {
  const reviewed = SETTINGS.replace("Contract 2026-114", "Contract 2027-001");
  await fixture.declare(reviewed);
  await fixture.plan("--output", "plan.json");
  fixture.sandbox.clearRequests();
  // If the files differ from the reviewed ones, no resource is registered.
  await fixture.declare(SETTINGS.replace("Contract 2026-114", "Contract 2028"));
  const others = await fixture.project.runWith({ EMAIL_SECURITY_PLAN: "plan.json" }, "preview");
  expect(others.output).toContain("doesn't match the reviewed plan");
  expect(others.code).not.toBe(0);
  // The same for changes that only the files contain: a reviewed expiry date, a policy.
  for (const other of [
    reviewed.replace("expires: never", "expires: 2999-12-31"),
    `${reviewed}policy: { maxDays: 90000 }\n`,
  ]) {
    await fixture.declare(other);
    const moved = await fixture.project.runWith({ EMAIL_SECURITY_PLAN: "plan.json" }, "preview");
    expect(moved.output).toContain("doesn't match the reviewed plan");
    expect(moved.code).not.toBe(0);
  }
  expect(listWrites(fixture.sandbox)).toEqual([]);
});

it("changes a scope back as its plan says", async () => {
  const row = fixture.sandbox.allowDenyEntries("acme").find(({ value }) => value === "partner.example");
  await click(fixture.sandbox, "PATCH", `/allow_deny_entries/${row?.id}`, { verdict_scope: "graymail" });
  rejectsSecondEntry = true;
  const reviewed = SETTINGS.replace("Contract 2026-114", "Contract 2027-001");
  try {
    await fixture.declare(reviewed);
    const planned = await fixture.plan("--output", "plan.json");
    expect(planned.output.match(/reason +its scope was changed at the tenant since the stack's/g)).toHaveLength(2);
    fixture.sandbox.clearRequests();
    const applied = await fixture.apply("--plan", "plan.json");
    expect([applied.code, listWrites(fixture.sandbox)]).toEqual([0, [`PATCH /allow_deny_entries/${row?.id}`]]);
    expect(fixture.listContents()).toContain("allow partner.example Contract 2027-001");
    expect((await fixture.plan()).code).toBe(0);
  } finally {
    rejectsSecondEntry = false;
    await fixture.declare(reviewed);
    await click(fixture.sandbox, "PATCH", `/allow_deny_entries/${row?.id}`, { comment: "do not touch" });
  }
});

it("resolves console drift by revert or adoption", async () => {
  const createConsoleEntry = () =>
    click(fixture.sandbox, "POST", "/allow_deny_entries", {
      list: "deny",
      entry_type: "domain",
      value: "clicked.example",
      comment: "saw it",
    });
  await createConsoleEntry();
  const drift = await fixture.cli("drift", "settings/acme.yaml", "--revert");
  expect(drift.code).toBe(2);
  expect(drift.output).toMatch(/deny clicked\.example\n +comment +"saw it"\n +created +by Dana Reyes \(console\)/);
  // Runs the printed commands as a person would.
  const commands = drift.stdout.slice(drift.stdout.indexOf("service()"));
  await promisify(execFile)("bash", ["-euc", commands], { env: fixture.project.environment });
  expect(fixture.listContents().some((line) => line.includes("clicked.example"))).toBe(false);
  await createConsoleEntry();
  const adopted = await fixture.cli("drift", "settings/acme.yaml", "--adopt", "added");
  // The changed entry is left to the next run.
  expect(adopted.code).toBe(2);
  const plan = await fixture.plan("--format", "json");
  const { changes, unmanaged } = JSON.parse(plan.stdout) as {
    changes: { key: string }[];
    unmanaged: unknown[];
  };
  expect(changes.map(({ key }) => key)).toEqual(["partner.example"]);
  expect(unmanaged).toEqual([]);
  // The stack's state shows that the change was made in the console. Once it is adopted, the next plan has no changes.
  const all = await fixture.cli("drift", "settings/acme.yaml", "--stack", "dev", "--adopt", "changed,removed");
  expect([all.code, all.output]).toEqual([0, expect.stringContaining("+    comment: do not touch\n")]);
  expect((await fixture.plan()).code).toBe(0);
});

it("refuses to apply a plan for another day without any request", async () => {
  const late = SETTINGS.replace("Contract 2026-114", "do not touch").replace("expires: never", "expires: 2030-01-01");
  await fixture.declare(`${late}lists: { entries: { maxRemovalFraction: 1 } }\n`);
  const day = ["--today", "2030-01-02"];
  fixture.sandbox.clearRequests();
  const applied = await fixture.apply(...day);
  expect(applied.code).toBe(3);
  expect(applied.output).toContain("--yes can't apply a plan for 2030-01-02");
  expect(fixture.sandbox.requests).toEqual([]);
});

it("reports a mistake at its line in a preview", async () => {
  await fixture.declare(`${SETTINGS}deny: [010]\n`);
  const preview = await fixture.project.run("preview");
  expect(preview.output).toMatch(/settings\/acme\.yaml:12:8 error: value: 010 is read as 10 by YAML/);
  expect(preview.output).not.toContain("unhandled exception");
  expect(preview.code).not.toBe(0);
  expect((await fixture.cli("plan", "settings/acme.yaml")).code).toBe(1);
});

it("plans any program from its preview", async () => {
  await fixture.declare(SETTINGS.replace("evil", "evil"));
  await fixture.project.write(`${PROGRAM}
import { AllowDenyEntry } from "pulumi-email-security";
new AllowDenyEntry("one", { list: "deny", value: "typed.example", comment: "INC-9" });
`);
  const { code, stdout } = await fixture.cli(
    "plan",
    "--from-preview",
    "--stack",
    "dev",
    "--no-evidence",
    "--format",
    "json",
  );
  const { changes } = JSON.parse(stdout) as {
    changes: { operation: string; key: string; place?: { file: string; line: number } }[];
  };
  expect(changes.map(({ operation, key }) => `${operation} ${key}`).sort()).toEqual([
    "add typed.example",
    "change partner.example",
  ]);
  expect(changes.find(({ key }) => key === "typed.example")?.place).toMatchObject({
    file: "index.ts",
    line: 6,
  });
  expect(code).toBe(2);
  // The plan is enforced for single resources too. This resource isn't in the plan, so it must not be created.
  await fixture.declare(SETTINGS.replace("Contract 2026-114", "do not touch"));
  await fixture.plan("--output", "plan.json");
  fixture.sandbox.clearRequests();
  const up = await fixture.project.runWith({ EMAIL_SECURITY_PLAN: "plan.json" }, "up", "--yes", "--skip-preview");
  expect(up.output).toMatch(
    /deny typed\.example is missing, but the review didn't show that it would be deny: "INC-9"/,
  );
  expect(listWrites(fixture.sandbox)).toEqual([]);
});

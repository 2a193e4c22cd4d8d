import { execFileSync } from "node:child_process";
import { expect } from "vitest";
import { COMMAND } from "../support/command-process";
import { click } from "../support/tenant-console";
import { listWrites } from "../support/write-requests";
import { OWN, type SettingsProject } from "./tenant-settings";

const TODAY = new Date().toISOString().slice(0, 10);

const formatExpiringSettings = (expires: string): string => `version: 1
${OWN}deny:
  - value: evil.example
    comment: INC-7
  - value: flood.example
    comment: Newsletter flood
    expires: ${expires}
`;

/** Tests a file with an expired entry, in addition to pending changes in the files and console edits. */
export async function testOnlyExpired(fixture: SettingsProject): Promise<void> {
  const applyOnlyExpired = async (...more: string[]) => await fixture.apply("--only-expired", ...more);
  const listComments = () =>
    Object.fromEntries(fixture.sandbox.allowDenyEntries("acme").map((entry) => [entry.value, entry.comment]));

  // A stack that has never run has no declarations.
  await fixture.declare(formatExpiringSettings(TODAY));
  const early = await applyOnlyExpired();
  expect(early.output).toContain('The stack "dev" has no TenantSettings');
  expect(early.code).toBe(1);
  expect((await fixture.apply()).code).toBe(0);
  const none = await applyOnlyExpired();
  expect(none.output).toContain("The tenant has no expired entries.");
  expect(none.code).toBe(0);

  // One entry expires, the files have pending changes, and the console has changed another entry and the expired one.
  const pending = formatExpiringSettings("2026-01-02")
    .replace("Contract 2026-114", "Contract 2027-001")
    .concat("  - value: pending.example\n");
  await fixture.declare(pending);
  const rows = new Map(fixture.sandbox.allowDenyEntries("acme").map((entry) => [entry.value, entry]));
  await click(fixture.sandbox, "PATCH", `/allow_deny_entries/${rows.get("evil.example")?.id}`, {
    comment: "mine",
  });
  await click(fixture.sandbox, "PATCH", `/allow_deny_entries/${rows.get("flood.example")?.id}`, { comment: "?" });
  fixture.sandbox.clearRequests();
  const preview = await fixture.cli("apply", "settings/acme.yaml", "--stack", "dev", "--only-expired", "--no-evidence");
  expect(preview.code, preview.output).toBe(2);
  expect(preview.output).toContain("1 to remove");
  expect(listWrites(fixture.sandbox)).toEqual([]);
  const done = await applyOnlyExpired();
  expect(done.code, done.output).toBe(0);
  expect(done.output).toContain("deny flood.example (until 2026-01-02, settings/acme.yaml:");
  expect(done.output).toContain("3 other changes that are pending");
  expect(listWrites(fixture.sandbox)).toEqual([`DELETE /allow_deny_entries/${rows.get("flood.example")?.id}`]);
  expect(listComments()).toEqual({ "evil.example": "mine", "partner.example": "Contract 2026-114" });

  // The pending changes are still pending, and the expired entry is no longer mentioned. A second run does nothing.
  const plan = await fixture.plan();
  expect(plan.output).toContain("Plan: 1 to add, 2 to change, 0 to remove");
  expect(plan.output).not.toContain("remove deny flood.example");
  fixture.sandbox.clearRequests();
  expect((await applyOnlyExpired()).output).toContain("The tenant has no expired entries.");
  expect(listWrites(fixture.sandbox)).toEqual([]);
  expect((await fixture.apply()).code).toBe(0);
  expect(listComments()).toEqual({
    "evil.example": "INC-7",
    "partner.example": "Contract 2027-001",
    "pending.example": "",
  });
  expect((await fixture.plan()).code).toBe(0);
}

/** Asserts that the removal guard also blocks `--only-expired`. */
export async function isGuarded(fixture: SettingsProject): Promise<void> {
  await fixture.declare("version: 1\ndeny: [{ value: only.example, expires: 2999-01-01 }]\n");
  expect((await fixture.apply()).code).toBe(0);
  await fixture.declare("version: 1\ndeny: [{ value: only.example, expires: 2026-01-02 }]\n");
  fixture.sandbox.clearRequests();
  const rejection = await fixture.apply("--only-expired");
  expect(rejection.code, rejection.output).toBe(3);
  expect(rejection.output).toContain("A list is never emptied without explicit confirmation.");
  expect(listWrites(fixture.sandbox)).toEqual([]);
}

/**
 * Tests an exclusive list with three expired entries. The whole run (command, engine and provider) is killed after the
 * first removal, and the next run after the last one, so that the state records neither. The third run makes the state
 * match the tenant.
 */
export async function testKilledRemoval(fixture: SettingsProject): Promise<void> {
  const expiringValues = ["one.example", "two.example", "three.example"];
  const formatExclusiveSettings = (expires: string, comment: string): string =>
    [
      "version: 1",
      "lists: { entries: { mode: exclusive } }",
      "deny:",
      `  - { value: evil.example, comment: ${comment} }`,
    ]
      .concat(expiringValues.map((value) => `  - { value: ${value}, expires: ${expires} }`))
      .join("\n");
  const listHeldValues = () => fixture.sandbox.allowDenyEntries("acme").map(({ value }) => value);
  await click(fixture.sandbox, "POST", "/allow_deny_entries", {
    list: "deny",
    value: "console.example",
    entry_type: "domain",
  });
  await fixture.declare(formatExclusiveSettings(TODAY, "INC-7"));
  expect((await fixture.apply()).code).toBe(0);
  expect(listHeldValues().sort()).toEqual(["console.example", "evil.example", ...expiringValues].sort());
  await fixture.declare(formatExclusiveSettings("2026-01-02", "INC-8"));

  for (const removals of [1, 2]) {
    const before = listHeldValues().length;
    killAfter(fixture, removals);
    expect((await fixture.apply("--only-expired")).code).toBe(-1);
    fixture.proxy.hooks = {};
    expect(before - listHeldValues().length).toBe(removals);
    if (removals === 1) {
      const locked = await fixture.apply("--only-expired");
      expect(locked.output).toContain("pulumi cancel");
      expect(locked.code).toBe(1);
    }
    await fixture.project.runOrThrow("cancel", "--yes");
  }
  expect(listHeldValues().sort()).toEqual(["console.example", "evil.example"]);

  fixture.sandbox.clearRequests();
  const done = await fixture.apply("--only-expired");
  expect(done.code, done.output).toBe(0);
  expect(done.output).toContain("The tenant no longer had any of these entries; the stack's state is now up to date.");
  expect(listWrites(fixture.sandbox)).toEqual([]);
  expect((await fixture.apply("--only-expired")).output).toContain("The tenant has no expired entries.");
  // The files' changes, and the removals that an exclusive list would make in addition, stay pending.
  const plan = await fixture.plan();
  expect(plan.output).toContain("Plan: 0 to add, 1 to change, 1 to remove");
  expect(plan.output).toContain("console.example");
  for (const value of expiringValues) expect(plan.output).not.toContain(`remove deny ${value}`);
}

/**
 * Kills the next command and all of its descendants after this number of removals. Later removals don't reach the
 * service.
 */
function killAfter({ proxy }: SettingsProject, removals: number): void {
  let forwarded = 0;
  let done = 0;
  proxy.hooks = {
    beforeForward: ({ method }) => {
      if (method !== "DELETE") return undefined;
      forwarded += 1;
      return forwarded > removals ? "drop" : undefined;
    },
    afterCommit: ({ method }) => {
      if (method !== "DELETE") return;
      done += 1;
      if (done === removals) killTree();
    },
  };
}

function killTree(): void {
  const lines = execFileSync("ps", ["-A", "-o", "pid=,ppid=,args="], { encoding: "utf8" }).split("\n");
  const all = lines.flatMap((line) => {
    const [, id, parent, command = ""] = /^\s*(\d+)\s+(\d+)\s+(.*)$/.exec(line) ?? [];
    return id === undefined ? [] : [{ id: Number(id), parent: Number(parent), command }];
  });
  const tree = all
    .filter(({ parent, command }) => parent === process.pid && command.includes(COMMAND))
    .map(({ id }) => id);
  for (const id of tree) tree.push(...all.filter(({ parent }) => parent === id).map((child) => child.id));
  for (const id of tree) process.kill(id, "SIGKILL");
}

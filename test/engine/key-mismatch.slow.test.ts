import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { DEFAULT_JOURNAL, openJournalDatabase } from "../../provider/rollout/database/open-database";
import { Fleet, type FleetCliResult, getKeyVariable } from "../support/fleet";

/*
 * Keys that are wrong between planning and the write. The tenants share a baseline and have no VIPs, so only the
 * identity that rollouts recorded distinguishes them.
 */

const WAVES =
  "waves:\n  - { name: canary, limit: 1, gate: true }\n  - { name: rest, failureTolerance: 2, maxConcurrent: 2 }\n";

let fleet: Fleet;

/** Starts three tenants that a rollout has brought to their baseline. `t2` uses the native plugin. */
beforeAll(async () => {
  fleet = await Fleet.start({ tenants: 3, entries: 2, waves: WAVES, formatTenantOptions: formatTenantOptions });
  for (const name of fleet.names) await fleet.write(`settings/${name}.yaml`, "version: 1\ninclude: [baseline.yaml]\n");
  await runFirstRollout();
});
afterAll(async () => {
  await fleet?.[Symbol.asyncDispose]();
});

function formatTenantOptions(name: string): string {
  return name === "t2" ? "{ provider: native }" : "{}";
}

async function runFirstRollout(): Promise<void> {
  const first = await fleet.runRollout("--yes");
  expect(first.code, first.output).toBe(2);
  const done = await fleet.runRollout("resume");
  expect(done.code, done.output).toBe(0);
}

function getServiceKey(name: string, label: "ci" | "console"): string {
  return fleet.sandbox.tenants.find((tenant) => tenant.name === name)?.apiKeys[label] ?? "";
}

const takeWriteRequests = () => fleet.takeRequests().filter(({ method }) => method !== "GET");

const WRONG_KEYS = [
  {
    label: "with swapped keys",
    keys: () => ({ T1_KEY: getServiceKey("t2", "ci"), T2_KEY: getServiceKey("t1", "ci") }),
  },
  { label: "with a second key of another tenant", keys: () => ({ T1_KEY: getServiceKey("t2", "console") }) },
  {
    label: "with a second key of another tenant, over the native plugin",
    keys: () => ({ T2_KEY: getServiceKey("t1", "console") }),
  },
];

async function runWithKeys(keys: Record<string, string>, ...args: string[]): Promise<FleetCliResult> {
  fleet.takeRequests();
  return await fleet.start(keys, ...args).result;
}

let added = 0;
/**
 * The values that all tenants have. After a rollback of a rollout that removed any of them, they could not be planned
 * again.
 */
const values = ["evil0.example", "evil1.example"];

/** Rolls out one more deny to all tenants, up to the gate after the first. Returns its value. */
async function rollOutToGate(): Promise<string> {
  const value = `more${++added}.example`;
  await fleet.writeBaseline([...values, value]);
  const first = await fleet.runRollout("--yes");
  expect(first.code, first.output).toBe(2);
  return value;
}

describe.each(WRONG_KEYS)("rollout $label", ({ keys }) => {
  it("names the wrong key on resume without a write", async () => {
    const value = await rollOutToGate();
    const wrong = await runWithKeys(keys(), "rollout", "resume");
    expect(wrong.code, wrong.output).toBe(1);
    const isWrong = (name: string): boolean => getKeyVariable(name) in keys();
    for (const { name, error, state } of wrong.report().tenants) {
      if (!isWrong(name)) {
        expect([name, state]).toEqual([name, "done"]);
        continue;
      }
      const other = name === "t1" ? "t2" : "t1";
      expect(error?.code, wrong.output).toBe("ERR_OTHER_TENANT");
      expect(error?.message).toMatch(
        new RegExp(
          `"${name}" \\(tenants\\.yaml:\\d+; key from the environment variable ${getKeyVariable(name)}\\) belongs to the tenant of "${other}"`,
        ),
      );
      expect(error?.message).not.toContain("EMAIL_SECURITY_API_KEY");
      expect(error?.advice).toContain("rollout resume");
    }
    // Exactly the tenants with the correct key have the new deny.
    const declared = fleet.names.filter((name) => fleet.listContents(name).includes(`deny ${value}`));
    expect(declared).toEqual(fleet.names.filter((name) => !isWrong(name)));
    expect(takeWriteRequests().map(({ tenant }) => tenant)).not.toContainEqual(expect.toSatisfy(isWrong));
    const own = await fleet.runRollout("resume");
    expect(own.code, own.output).toBe(0);
    for (const name of fleet.names) expect(fleet.listContents(name)).toContain(`deny ${value}`);
    values.push(value);
  });

  it("skips only tenants with wrong keys in a rollback", async () => {
    await rollOutToGate();
    const done = await fleet.runRollout("resume");
    expect(done.code, done.output).toBe(0);
    const wrong = await runWithKeys(keys(), "rollout", "rollback", "--yes");
    expect(wrong.code, wrong.output).toBe(2);
    const wrongNames = fleet.names.filter((name) => getKeyVariable(name) in keys());
    expect(wrong.report().skipped?.map(({ name }) => name)).toEqual(wrongNames);
    expect(wrong.output).toContain(`EMAIL_SECURITY_ACCEPT_EMPTY_TENANT=${wrongNames.join(",")}`);
    const written = new Set(takeWriteRequests().map(({ tenant }) => tenant));
    expect([...written].sort()).toEqual(fleet.names.filter((name) => !wrongNames.includes(name)));
    const rest = await fleet.runRollout("rollback", done.report().id, "--yes");
    expect(rest.code, rest.output).toBe(0);
  });

  it("shows nothing of the other tenant on destroy", async () => {
    const [name = ""] = fleet.names.filter((candidate) => getKeyVariable(candidate) in keys());
    const files = await fleet.read("tenants.yaml");
    const wrong = await runWithKeys(keys(), "tenant", "remove", name, "--destroy", "--yes", name);
    expect(wrong.code, wrong.output).toBe(3);
    expect(wrong.output.replaceAll(/\s+/g, " ")).toMatch(
      new RegExp(`the environment variable ${getKeyVariable(name)}\\) belongs to the tenant of`),
    );
    expect(wrong.output).not.toContain("evil0.example");
    expect(takeWriteRequests()).toEqual([]);
    expect(await fleet.read("tenants.yaml")).toBe(files);
  });
});

it("refuses swapped keys when resuming an interrupted rollout", async () => {
  await fleet.writeTargets({ waves: "waves:\n  - { name: all, maxConcurrent: 1 }\n" });
  const value = `more${++added}.example`;
  await fleet.writeBaseline([...values, value]);
  const startedRun = fleet.start({}, "rollout", "--yes", "--max-concurrent", "1");
  await startedRun.waitForEvent(({ kind }) => kind === "tenant-finished");
  process.kill(-(startedRun.process.pid ?? 0), "SIGKILL");
  await startedRun.result;
  await fleet.waitForQuiet();
  const open = fleet.names.filter((name) => !fleet.listContents(name).includes(`deny ${value}`));
  const [a = "", b = ""] = open;
  expect(open.length).toBeGreaterThan(0);
  const keys = { [getKeyVariable(a)]: getServiceKey(b || "t0", "console") };
  const wrong = await runWithKeys(keys, "rollout", "resume", "--max-concurrent", "1");
  expect(wrong.code, wrong.output).toBe(1);
  expect(wrong.output).toContain("ERR_OTHER_TENANT");
  expect(fleet.listContents(a)).not.toContain(`deny ${value}`);
  const own = await fleet.runRollout("resume");
  expect(own.code, own.output).toBe(0);
  await fleet.writeTargets({ formatTenantOptions: formatTenantOptions });
});

it("compares the tenant of an earlier release's plan with earlier rollouts", async () => {
  const value = await rollOutToGate();
  const database = await openJournalDatabase(join(fleet.directory, DEFAULT_JOURNAL));
  for (const { name, rollout, summary } of await database.query(
    "SELECT name, rollout, summary FROM rollout_tenants WHERE state = 'pending'",
  )) {
    const {
      identity: _identity,
      stableIdentity: _stableIdentity,
      ...rest
    } = JSON.parse(String(summary)) as Record<string, unknown>;
    await database.query("UPDATE rollout_tenants SET summary = $3 WHERE name = $1 AND rollout = $2", [
      String(name),
      String(rollout),
      JSON.stringify(rest),
    ]);
  }
  await database.close();
  const wrong = await runWithKeys({ T1_KEY: getServiceKey("t2", "console") }, "rollout", "resume");
  expect(wrong.code, wrong.output).toBe(1);
  const { error } = wrong.report().tenants.find(({ name }) => name === "t1") ?? {};
  expect(error?.code, wrong.output).toBe("ERR_OTHER_TENANT");
  expect(error?.message).toContain('belongs to the tenant of "t2"');
  const own = await fleet.runRollout("resume");
  expect(own.code, own.output).toBe(0);
  expect(fleet.listContents("t1")).toContain(`deny ${value}`);
  values.push(value);
});

it("resumes a tenant with many entries added since planning", async () => {
  const value = await rollOutToGate();
  const addedValues = Array.from({ length: 150 }, (_, index) => `by-hand${index}.example`);
  for (const addedValue of addedValues) {
    const body = { list: "deny", entry_type: "domain", value: addedValue, verdict_scope: "global", comment: "" };
    await fleet.sendFromConsole("t1", "POST", "/allow_deny_entries", body);
  }
  const done = await fleet.runRollout("resume");
  expect(done.code, done.output).toBe(0);
  expect(fleet.listContents("t1")).toContain(`deny ${value}`);
  expect(fleet.listContents("t1")).toContain("deny by-hand149.example");
});

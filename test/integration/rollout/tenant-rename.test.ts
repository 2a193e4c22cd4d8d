import { readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type CliResult, runCli } from "../../support/cli";
import { click } from "../../support/tenant-console";
import { createTestDirectory, type TestDirectory } from "../../support/test-directory";
import { hasShell } from "../engine-setup/fake-toolchain";
import { PlannedFleet } from "./plan-fleet";

/* `tenant rename`, and a plan for a tenant that was renamed by hand, through the real command. */

let directory: TestDirectory;

beforeAll(() => {
  directory = createTestDirectory({});
});

afterAll(() => {
  directory[Symbol.dispose]();
});

const HEAD = `# Our tenants.
version: 1
project: p
defaults: { baseUrl: "https://mail.example", key: { environment: "{NAME}_KEY" }, settings: "settings/{name}.yaml" }
`;

async function runRename(tenants: string, ...args: string[]): Promise<CliResult & { readonly text: string }> {
  directory.write("tenants.yaml", HEAD + tenants);
  const outcome = await runCli(directory.path, ["tenant", "rename", ...args], {});
  return { ...outcome, text: readFileSync(directory.at("tenants.yaml"), "utf8").slice(HEAD.length) };
}

const KEPT = ["stack: t0", "key: { environment: T0_KEY }", "settings: settings/t0.yaml"];

it.each([
  [
    "in braces",
    "  t0: { labels: { ring: canary } } # first",
    `  acme: { ${KEPT.join(", ")}, labels: { ring: canary } } # first`,
  ],
  ["in empty braces", "  t0: {}", `  acme: { ${KEPT.join(", ")} }`],
  ["with nothing behind it", "  t0:", `  acme: { ${KEPT.join(", ")} }`],
  [
    "in a block",
    "  t0:\n    # ours\n    labels: { ring: canary }",
    `  acme:\n    # ours\n    ${KEPT.join("\n    ")}\n    labels: { ring: canary }`,
  ],
  [
    "that says all itself",
    "  t0: { stack: s, key: { file: t0.key }, settings: x.yaml }",
    "  acme: { stack: s, key: { file: t0.key }, settings: x.yaml }",
  ],
])("renames a tenant %s without changing its stack, key or settings", async (_case, before, after) => {
  const outcome = await runRename(`tenants:\n${before}\n  t1: {}\n`, "t0", "acme");
  expect(outcome).toMatchObject({ code: 0, text: `tenants:\n${after}\n  t1: {}\n` });
});

it("restores the former stack of a tenant renamed by hand", async () => {
  const outcome = await runRename("tenants:\n  acme: { key: { environment: T0_KEY } }\n  t1: {}\n", "t0", "acme");
  expect(outcome).toMatchObject({
    code: 0,
    text: "tenants:\n  acme: { stack: t0, key: { environment: T0_KEY } }\n  t1: {}\n",
  });
  expect(outcome.stdout).toContain("acme keeps the stack t0, with its rollout history and skips.");
});

it("keeps the key of a tenant whose new name implies another tenant's key", async () => {
  const first = await runRename("tenants:\n  t1: {}\n  t2: {}\n", "t1", "former");
  expect(first.code, first.stderr).toBe(0);
  const second = await runRename(first.text, "t2", "t1");
  expect(second.code, second.stderr).toBe(0);
  const formatFields = (name: string) =>
    `{ stack: ${name}, key: { environment: ${name.toUpperCase()}_KEY }, settings: settings/${name}.yaml }`;
  expect(second.text).toBe(`tenants:\n  former: ${formatFields("t1")}\n  t1: ${formatFields("t2")}\n`);
  const third = await runRename(second.text, "former", "t2");
  expect(third).toMatchObject({
    code: 0,
    text: `tenants:\n  t2: ${formatFields("t1")}\n  t1: ${formatFields("t2")}\n`,
  });
});

it.each([
  ["a name that is taken", "t0", "t1", /has both tenants, "t0" and "t1"/],
  ["a tenant that isn't there", "tt0", "acme", /has neither the tenant "tt0" nor "acme".*did you mean t0/],
  ["a stack of another tenant", "shared", "t1", /The stack "shared" belongs to the tenant "t0"/],
  ["an invalid name", "t0", "a b", /isn't a valid Pulumi stack name/],
])("rejects %s without changing the file", async (_case, from, to, message) => {
  const tenants = "tenants:\n  t0: { stack: shared }\n  t1: {}\n";
  const outcome = await runRename(tenants, from, to);
  expect([outcome.code, outcome.text]).toEqual([1, tenants]);
  expect(outcome.stderr.replaceAll(/\s+/g, " ")).toMatch(message);
});

describe.skipIf(!hasShell)("a rollout to a tenant renamed by hand", () => {
  let fleet: PlannedFleet;

  beforeAll(async () => {
    fleet = await PlannedFleet.start();
    const allow = { list: "allow", entry_type: "domain", verdict_scope: "global", comment: "" };
    await click(fleet.sandbox, "POST", "/allow_deny_entries", { ...allow, value: "dropped.example" }, "t5");
  });

  afterAll(async () => {
    await fleet?.[Symbol.asyncDispose]();
  });

  it("is blocked while the former stack alone manages some entries", async () => {
    fleet.addOrphanedStack("former", { "dropped.example": "allow", "gone.example": "deny" });
    const { code, stdout } = await fleet.runPlan(["--only", "t5", "held", "--yes"]);
    expect(code).toBe(3);
    const text = stdout.replaceAll(/\s+/g, " ");
    expect(text).toContain("t5 [renamed-tenant]");
    expect(text).toMatch(/declared allow dropped\.example\. .*`email-security tenant rename former t5`/);
    expect(text).toContain("`pulumi stack rm --force --yes --stack organization/fleet/former`");
    expect(text).not.toContain("held [renamed-tenant]");
    expect(fleet.sandbox.requests.filter(({ method }) => method !== "GET")).toEqual([]);
  });

  it("is planned when the former stack alone manages no entry", async () => {
    fleet.addOrphanedStack("former", { "evil.example": "deny: Phishing", "gone.example": "allow" });
    expect(await fleet.runPlan(["--only", "t5", "held"])).toMatchObject({ code: 2 });
  });
});

it("writes nothing with --dry-run", async () => {
  const tenants = "tenants:\n  t0: {}\n  t1: {}\n";
  const outcome = await runRename(tenants, "t0", "acme", "--dry-run");
  expect(outcome).toMatchObject({ code: 0, text: tenants });
  expect(outcome.stdout).toContain("+  acme: { stack: t0,");
});

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { FindReport } from "../../../provider/commands/find/find-schema";
import type { WhyReport } from "../../../provider/gitops/why-schema";
import { type Cli, createCli } from "../../support/cli";
import { LiteralService } from "../../support/literal-service";
import { runEnvironment } from "../../support/run-environment";

/*
 * A tenant contains addresses in other notations, ranges and wildcards. Each command names the entries that cover a
 * value.
 */

const directory = mkdtempSync(join(tmpdir(), "email-security-covering-"));
let service: LiteralService;
let email: Cli;

beforeAll(async () => {
  service = await LiteralService.start({
    entries: [
      { list: "allow", entry_type: "ip", value: "198.51.100.7/32" },
      { list: "allow", entry_type: "ip", value: "203.0.113.0/24" },
      { list: "allow", entry_type: "ip", value: "::ffff:192.0.2.9" },
      { list: "allow", entry_type: "domain", value: "*.wild.example" },
      { list: "allow", entry_type: "domain", value: "parent.example" },
      { list: "allow", entry_type: "domain", value: "d.example." },
      { list: "allow", entry_type: "domain", value: "bücher.example" },
    ],
  });
  email = createCli(directory, {
    ...runEnvironment(),
    HOME: directory,
    EMAIL_SECURITY_BASE_URL: service.url,
    EMAIL_SECURITY_API_KEY: "key",
    COLUMNS: "200",
  });
  writeFileSync(join(directory, "settings.yaml"), "version: 1\n");
});

afterAll(async () => {
  await service[Symbol.asyncDispose]();
  rmSync(directory, { recursive: true, force: true });
});

const COVERED = [
  ["198.51.100.7", "198.51.100.7", "exact"],
  ["203.0.113.99", "203.0.113.0/24", "range"],
  ["::ffff:203.0.113.99", "203.0.113.0/24", "range"],
  ["192.0.2.9", "192.0.2.9", "exact"],
  ["host.wild.example", "*.wild.example", "wildcard"],
  ["eve@host.wild.example", "*.wild.example", "wildcard"],
  ["host.parent.example", "parent.example", "parent"],
] as const;

/** Entries that a tenant may have but no file can declare. */
const COVERED_RANGES = [
  ["203.0.113.0/25", "203.0.113.0/24", "range"],
  ["203.0.113.7-203.0.113.9", "203.0.113.0/24", "range"],
  ["*.host.wild.example", "*.wild.example", "wildcard"],
] as const;

describe("find", () => {
  it.each([...COVERED, ...COVERED_RANGES])("finds the entry that allows %s: %s", async (value, covering, matchType) => {
    const { stdout } = await email("find", value, "--format", "json");
    const { tenants } = JSON.parse(stdout) as FindReport;
    const matches = tenants.flatMap((tenant) => tenant.matches);
    expect(matches.map((match) => [match.value, match.matchType, match.actual.length])).toEqual([
      [covering, matchType, 1],
    ]);
  });

  it.each([
    ["*.wild.example", "*.wild.example"],
    ["*.Wild.Example.", "*.wild.example"],
    ["203.0.113.0/24", "203.0.113.0/24"],
    ["203.0.113.*", "203.0.113.0/24"],
  ])("finds the pattern %s itself", async (value, pattern) => {
    const { stdout } = await email("find", value, "--format", "json");
    const { tenants } = JSON.parse(stdout) as FindReport;
    const matches = tenants.flatMap((tenant) => tenant.matches);
    expect(matches.map((match) => [match.value, match.matchType])).toEqual([[pattern, "exact"]]);
    const whyResult = await email("why", value, "--no-evidence");
    expect(whyResult.output).not.toContain("doesn't have it");
  });

  it.each(["203.0.114.1", "wild.example", "198.51.100.8"])("finds nothing for %s", async (value) => {
    const { stdout } = await email("find", value);
    expect(stdout).toContain("nothing");
  });
});

describe("why", () => {
  it.each([...COVERED, ...COVERED_RANGES])(
    "explains the entry that allows %s: %s",
    async (value, covering, matchType) => {
      const { stdout } = await email("why", value, "--format", "json", "--no-evidence");
      const { coveringEntries, actual = [] } = JSON.parse(stdout) as WhyReport;
      const entries =
        matchType === "exact" ? actual.map(({ key }) => key) : coveringEntries.map((entry) => entry.value);
      expect(entries).toEqual([covering]);
    },
  );
});

describe("plan", () => {
  it.each(COVERED.filter(([value, , matchType]) => matchType !== "exact" && !value.startsWith("::")))(
    "warns about the allow that covers a new deny of %s: %s",
    async (value, covering) => {
      writeFileSync(join(directory, "deny.yaml"), `version: 1\ndeny: ["${value}"]\n`);
      const { stdout, output } = await email("plan", "deny.yaml", "--no-evidence");
      expect(output).not.toContain("No risks found");
      expect(output).toContain(`"${covering}", which covers it, is allowed at the tenant`);
      expect(stdout).not.toBe("");
    },
  );

  it("warns about an allow that a new deny of a domain covers", async () => {
    writeFileSync(join(directory, "deny.yaml"), 'version: 1\ndeny: ["wild.example"]\n');
    const { output } = await email("plan", "deny.yaml", "--no-evidence");
    expect(output).not.toContain("No risks found");
    expect(output).toContain('"*.wild.example", which it covers, is allowed at the tenant');
  });

  it.each(["198.51.100.7", "192.0.2.9"])("moves the allow that is another spelling of %s", async (value) => {
    writeFileSync(
      join(directory, "deny.yaml"),
      `version: 1\ndeny: ["${value}"]\nlists: { entries: { adopt: true } }\n`,
    );
    const { output } = await email("plan", "deny.yaml", "--no-evidence");
    expect(output).toMatch(/allow → deny/);
    expect(output).not.toContain("1 to add");
  });

  it.each(["198.51.100.7/32", "::ffff:198.51.100.7", "198.51.100.7"])(
    "plans no change when the tenant already allows %s",
    async (value) => {
      writeFileSync(
        join(directory, "allow.yaml"),
        `version: 1\nallow: [{ value: "${value}", acceptRisk: "its relay" }]\n`,
      );
      const { code, output } = await email("plan", "allow.yaml", "--no-evidence");
      expect(code, output).toBe(0);
    },
  );
});

describe("add", () => {
  it("names the allow that is another spelling of the value", async () => {
    const values = ["198.51.100.7", "192.0.2.9", "d.example", "xn--bcher-kva.example"];
    writeFileSync(join(directory, "held.yaml"), `version: 1\ndeny: ${JSON.stringify(values)}\n`);
    const { output } = await email("add", "deny", ...values, "--file", "held.yaml", "--dry-run");
    expect(output.match(/The tenant has it on its allow list/g), output).toHaveLength(4);
    expect(output).not.toContain("The tenant doesn't have it.");
  });

  it("names the allow that covers the value", async () => {
    const covered = COVERED.filter(([value, , matchType]) => matchType !== "exact" && !value.startsWith("::"));
    const values = covered.map(([value]) => value);
    const { output } = await email("add", "deny", ...values, "no.example", "--file", "settings.yaml", "--dry-run");
    for (const [, covering] of covered)
      expect(output).toContain(`The tenant has "${covering}", which covers it, on its allow list.`);
    expect(output.match(/which covers it/g)).toHaveLength(values.length);
  });

  it("omits an entry on the same list that covers the value", async () => {
    const { output } = await email("add", "allow", "host.parent.example", "--file", "settings.yaml", "--dry-run");
    expect(output).not.toContain("which covers it");
  });
});

describe("lint", () => {
  it.each([
    ["198.51.100.7/32", "198.51.100.7"],
    ["::ffff:192.0.2.9", "192.0.2.9"],
    ["2001:db8::1/128", "2001:DB8:0::1"],
  ])("rejects allowing %s and denying %s", async (allow, deny) => {
    writeFileSync(join(directory, "both.yaml"), `version: 1\nallow: ["${allow}"]\ndeny: ["${deny}"]\n`);
    const { code, output } = await email("lint", "both.yaml");
    expect(code, output).toBe(2);
    expect(output).toContain("(duplicate-declaration)");
  });
});

it.each(["global", "graymail"])("warns about an allow of %s mail that conflicts with a deny", async (scope) => {
  await using both = await LiteralService.start({
    allowsDuplicates: true,
    entries: [
      { list: "allow", value: "evil.example", verdict_scope: scope },
      { list: "deny", value: "evil.example" },
    ],
  });
  const run = createCli(directory, {
    ...runEnvironment(),
    HOME: directory,
    EMAIL_SECURITY_BASE_URL: both.url,
    EMAIL_SECURITY_API_KEY: "key",
    COLUMNS: "200",
  });
  writeFileSync(join(directory, "both.yaml"), "version: 1\ndeny: [evil.example]\n");
  const plan = await run("plan", "both.yaml", "--no-evidence");
  expect(plan.output).toMatch(/"evil\.example" is denied, but the tenant also has an\s+undeclared allow/);
  expect((await run("drift", "both.yaml")).output).toContain("allow evil.example");
});

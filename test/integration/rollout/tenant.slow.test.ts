import { existsSync, readFileSync } from "node:fs";
import { afterAll, beforeAll, expect, it } from "vitest";
import { openJournalDatabase } from "../../../provider/rollout/database/open-database";
import { Journal } from "../../../provider/rollout/journal/journal";
import { readTargets } from "../../../provider/rollout/targets/read-targets";
import { type Sandbox, startSandbox } from "../../../provider/sandbox";
import { readSettings } from "../../../provider/settings-files/read-settings";
import { type CliResult, runCli } from "../../support/cli";
import { writeRollout } from "../../support/rollout-fixtures";
import { buildTenant, buildConsoleEntry as entry } from "../../support/scenario-tenant";
import { createSettingsRepository, type SettingsRepository } from "../../support/settings-repository";

/* `tenant add` and `tenant remove`: git, refusals, and baselines with their own rules. */

const buildMailboxOwner = (name: string) => ({
  employees: [{ email: `ceo@${name}.example`, fullName: "C. E. O.", jobTitle: "Boss", department: "Board" }],
  manualVips: [{ email: `ceo@${name}.example`, comment: "", addedBy: "Dana", dateAdded: "2026-01-01T00:00:00Z" }],
});

const many = Array.from({ length: 6 }, (_, index) => entry("deny", `own${index}.example`));

let sandbox: Sandbox;

beforeAll(async () => {
  sandbox = await startSandbox({
    scenario: {
      name: "coming",
      tenants: [
        { ...buildTenant("acme", []), ...buildMailboxOwner("acme") },
        { ...buildTenant("hooli", [entry("deny", "evil.example")]), ...buildMailboxOwner("hooli") },
        buildTenant("nobodys", many),
        buildTenant("empty", []),
      ],
    },
  });
});
afterAll(async () => {
  await sandbox.close();
});

const formatTargets = (more = ""): string =>
  `version: 1
project: p
defaults:
  baseUrl: ${sandbox.url}
  key: { environment: "{NAME}_KEY" }
  settings: settings/{name}.yaml
tenants:
  one: {}
  two: {}
${more}`;

const own = "version: 1\ninclude: [baseline.yaml]\n";

function createRepository(files: Readonly<Record<string, string>> = {}): SettingsRepository {
  return createSettingsRepository({
    "tenants.yaml": formatTargets(),
    "settings/baseline.yaml": "version: 1\ndeny: [evil.example]\n",
    "settings/one.yaml": own,
    "settings/two.yaml": own,
    ...files,
  });
}

const createTenantCli =
  ({ path }: { readonly path: string }) =>
  async (...args: string[]): Promise<CliResult> => {
    const keys = sandbox.tenants.map(({ name, apiKeys }) => [`${name.toUpperCase()}_KEY`, apiKeys.ci] as const);
    const run = await runCli(path, ["tenant", ...args], {
      ...Object.fromEntries(keys),
      HOME: path,
      EMAIL_SECURITY_KEY_VARIABLES: keys.map(([name]) => name).join(","),
    });
    for (const [, key] of keys) expect(run.stdout + run.stderr).not.toContain(key);
    return run;
  };

it("commits each change of the tenants on its own branch", async () => {
  using directory = createRepository({ "notes.md": "one\n" });
  directory.write("notes.md", "two\n");
  const run = createTenantCli(directory);
  const added = await run("add", "hooli", "--commit");
  expect([added.code, added.stderr]).toEqual([
    0,
    expect.stringMatching(
      /^Committed settings\/hooli\.yaml, tenants\.yaml as \w+ on the new branch email-security\/tenant-hooli/,
    ),
  ]);
  expect(added.stdout.replace(/\s+/g, " ")).toContain(
    "A first rollout, if there is no stack yet, would write nothing: the tenant matches its files.",
  );
  expect(directory.git("show", "--format=%s", "--name-status", "HEAD")).toBe(
    "Add the tenant hooli\n\nA\tsettings/hooli.yaml\nM\ttenants.yaml\n",
  );
  expect(directory.git("status", "--porcelain")).toBe(" M notes.md\n");

  const removed = await run("remove", "hooli", "--commit");
  expect([removed.code, removed.stderr]).toEqual([0, expect.stringContaining("without-tenant-hooli")]);
  expect(directory.git("show", "--format=%s", "--name-status", "HEAD")).toBe(
    "Remove the tenant hooli\n\nD\tsettings/hooli.yaml\nM\ttenants.yaml\n",
  );
  expect(directory.git("diff", "--stat", "main", "HEAD")).toBe("");

  // When a hook fails, files and branch stay as they were.
  directory.writeScript(".git/hooks/pre-commit", "exit 1");
  const rejection = await run("add", "hooli", "--commit");
  expect([rejection.code, rejection.stderr]).toEqual([1, expect.stringContaining("files and branch are unchanged")]);
  expect(directory.git("status", "--porcelain")).toBe(" M notes.md\n");
  expect(existsSync(directory.at("settings/hooli.yaml"))).toBe(false);
});

it("rejects a tenant that looks like a listed one without --distinct-from", async () => {
  using directory = createRepository({
    "settings/one.yaml": `${own}ownDomains: [acme.example]\n`,
    "settings/two.yaml": `${own}ownDomains: [two.example]\n`,
  });
  const before = readFileSync(directory.at("tenants.yaml"), "utf8");
  const run = createTenantCli(directory);
  const known = await run("add", "acme");
  expect([known.code, known.stderr]).toEqual([
    1,
    expect.stringMatching(
      /"acme" looks like an existing tenant: its VIPs have mailboxes in "acme\.example", an own domain of "one" \(tenants\.yaml:8\)\. Nothing was written.*--distinct-from one\. \[ERR_OTHER_TENANT\]/,
    ),
  ]);
  const strange = await run("add", "acme", "--distinct-from", "one", "--own-domains", "other.example");
  expect([strange.code, strange.stderr]).toEqual([1, expect.stringContaining("ERR_OTHER_TENANT")]);
  expect(existsSync(directory.at("settings/acme.yaml"))).toBe(false);
  expect(readFileSync(directory.at("tenants.yaml"), "utf8")).toBe(before);
  const addRun = await run("add", "acme", "--distinct-from", "one");
  expect(addRun.code, addRun.stderr).toBe(2);

  // Without people, the tenant is recognized by entries that only one tenant declares.
  directory.write("settings/two.yaml", `${own}deny:\n${many.map(({ value }) => `  - ${value}\n`).join("")}`);
  const entries = await run("add", "nobodys");
  expect(entries.stderr).toContain('it has 6 of the 6 entries that only "two" (tenants.yaml:9) declares');
});

it("enforces the baseline's policy when adding a tenant", async () => {
  using directory = createRepository({
    "settings/baseline.yaml":
      "version: 1\npolicy: { requireTicket: [deny] }\nlists: { entries: { mode: exclusive } }\ndeny: [{ value: shared.example, ticket: INC-1 }]\n",
  });
  const run = createTenantCli(directory);
  const rejection = await run("add", "hooli");
  expect([rejection.code, rejection.stderr]).toEqual([
    1,
    expect.stringMatching(/--ticket[\s\S]*ERR_SETTINGS_FILE[\s\S]*policy-ticket/),
  ]);
  expect(existsSync(directory.at("settings/hooli.yaml"))).toBe(false);
  const added = await run("add", "hooli", "--ticket", "INC-2", "--owner", "Dana");
  expect(added.code, added.stderr).toBe(2);
  const [evil] = readSettings(directory.at("settings/hooli.yaml"), { ownDomains: [] }).entries;
  expect(evil).toMatchObject({ value: "evil.example", ticket: "INC-2", owner: "Dana" });
});

it("rejects a new tenant when too few baselines can be read", async () => {
  using directory = createRepository({ "settings/baseline.yaml": "version: 1\ndeny: evil.example\n" });
  const run = createTenantCli(directory);
  const requestCount = sandbox.requests.length;
  const unknown = await run("add", "hooli");
  expect([unknown.code, unknown.stderr]).toEqual([
    1,
    expect.stringMatching(/settings files of 2 of 2 tenants can't be read.*"settings\/one\.yaml".*ERR_CONFIG/),
  ]);
  expect(existsSync(directory.at("settings/hooli.yaml"))).toBe(false);
  expect(sandbox.requests).toHaveLength(requestCount);
  // Two of three tenants can be read, which is enough.
  directory.write("settings/baseline.yaml", "version: 1\ndeny: [evil.example]\n");
  directory.write("tenants.yaml", formatTargets("  three: {}\n"));
  const known = await run("add", "hooli", "--dry-run");
  expect([known.code, known.stdout]).toEqual([0, expect.stringContaining("+  - baseline.yaml")]);
  // Two of four is only half, which isn't enough.
  directory.write("tenants.yaml", formatTargets("  three: {}\n  four: {}\n"));
  const half = await run("add", "hooli", "--dry-run");
  expect([half.code, half.stderr]).toEqual([1, expect.stringContaining("2 of 4 tenants can't be read")]);
  const none = await run("add", "hooli", "--no-baseline", "--dry-run");
  expect(none.code, none.stderr).toBe(0);
});

it("creates the first targets file", async () => {
  using directory = createSettingsRepository({ "readme.md": "" });
  const run = createTenantCli(directory);
  const incomplete = await run("add", "empty", "--base-url", sandbox.url);
  expect(incomplete.stderr).toContain("set --key-env VARIABLE");
  const first = await run("add", "empty", "--base-url", sandbox.url, "--key-env", "EMPTY_KEY");
  expect(first.code, first.stderr).toBe(0);
  expect(readFileSync(directory.at("tenants.yaml"), "utf8")).toBe(
    `version: 1

tenants:
  empty:
    baseUrl: ${sandbox.url}
    key: { environment: EMPTY_KEY }
    settings: settings/empty.yaml
`,
  );
  const only = await run("remove", "empty");
  expect([only.code, only.stderr]).toEqual([1, expect.stringContaining("is the only tenant")]);
  directory.write(
    "tenants.yaml",
    `${readFileSync(directory.at("tenants.yaml"), "utf8")}    labels: { ring: a }\nwaves: [{ name: a, match: { ring: a }, gate: true }]\n`,
  );
  const nowhere = await run("add", "hooli", "--base-url", sandbox.url, "--key-env", "HOOLI_KEY");
  expect(nowhere.stderr).toContain('No wave would include "hooli". Nothing was written. Set labels');
  const placed = await run("add", "hooli", "--base-url", sandbox.url, "--key-env", "HOOLI_KEY", "--wave", "a");
  expect(placed.code, placed.stderr).toBe(0);
  const { targets } = readTargets(directory.at("tenants.yaml"));
  expect(targets.map(({ name, labels }) => [name, labels])).toEqual([
    ["empty", { ring: "a" }],
    ["hooli", { ring: "a" }],
  ]);
});

it("refuses to remove a tenant that an open rollout must change", async () => {
  using directory = createRepository({
    "tenants.yaml": formatTargets("  three: { settings: settings/one.yaml }\n"),
  });
  const run = createTenantCli(directory);
  const place = directory.at("rollouts.db");
  const database = await openJournalDatabase(place, {});
  const journal = await Journal.open(database);
  const change = { operation: "add", kind: "entry", key: "domain evil.example", value: "evil.example" } as const;
  const id = await writeRollout(journal, { tenants: { one: [change], two: [change] }, end: "stopped" });
  await database.close();
  const open = await run("remove", "two", "--database", place);
  expect([open.code, open.stderr]).toEqual([
    1,
    expect.stringMatching(
      new RegExp(
        `The rollout ${id} is not finished, and still has to change "two". Nothing was changed.*ERR_ROLLOUT_BUSY`,
      ),
    ),
  ]);
  // The first rollout is done in that journal.
  const shared = await run("remove", "one", "--database", place);
  expect(shared.code, shared.stderr).toBe(0);
  expect(shared.stdout).toContain("settings/one.yaml is kept: it is also the settings file of three.");
  expect(shared.stdout).toContain("stack rm --force --yes --stack one`");
  const wrong = await run("remove", "two", "--destroy", "--yes", "one");
  expect([wrong.code, wrong.stderr]).toEqual([1, expect.stringContaining('--yes specifies a tenant other than "two"')]);
  const reviewed = await run("remove", "two", "--destroy", "--yes", "two", "--pr");
  expect([reviewed.code, reviewed.stderr]).toEqual([1, expect.stringContaining("without --commit and --pr")]);
  expect(directory.git("status", "--porcelain", "--", "settings")).toBe("");
});

it("removes a tenant from the file that declares it", async () => {
  using directory = createRepository({
    "tenants.yaml": formatTargets("  three: { settings: settings/baseline.yaml }\ninclude: [more/eu.yaml]\n"),
    "more/eu.yaml": `version: 1\ntenants:\n  # In the EU.\n  four: { settings: ../settings/four.yaml }\n  five: { settings: ../settings/two.yaml }\n`,
    "settings/four.yaml": "version: 1\ninclude: [four/own.yaml]\n",
    "settings/four/own.yaml": "version: 1\ndeny: []\n",
  });
  const run = createTenantCli(directory);
  const top = readFileSync(directory.at("tenants.yaml"), "utf8");
  const four = await run("remove", "four");
  expect([four.code, four.stderr]).toEqual([0, "Wrote more/eu.yaml.\nRemoved settings/four.yaml.\n"]);
  expect(four.stdout).toContain("which are kept and now unused:\n  settings/four/own.yaml.");
  expect(readFileSync(directory.at("more/eu.yaml"), "utf8")).toBe(
    "version: 1\ntenants:\n  five: { settings: ../settings/two.yaml }\n",
  );
  const three = await run("remove", "three");
  expect([three.code, three.stderr]).toEqual([0, "Wrote tenants.yaml.\n"]);
  expect(three.stdout).toContain("settings/baseline.yaml is kept: the files of one include it.");
  expect(readFileSync(directory.at("tenants.yaml"), "utf8")).toBe(top.replace(/ {2}three.*\n/, ""));
  const last = await run("add", "hooli", "--settings", "../hooli.yaml");
  expect([last.code, last.stderr]).toEqual([1, expect.stringContaining("is outside this file's repository")]);
});

it("adds a tenant that shares only baseline entries with another", async () => {
  using directory = createRepository({
    "tenants.yaml": formatTargets().replace("  two: {}\n", ""),
    "settings/baseline.yaml": `version: 1\nownDomains: [hooli.example]\ndeny:\n${many.map(({ value }) => `  - ${value}\n`).join("")}`,
  });
  const run = createTenantCli(directory);
  const entries = await run("add", "nobodys");
  expect([entries.code, entries.stderr]).toEqual([0, "Wrote settings/nobodys.yaml, tenants.yaml.\n"]);
  const people = await run("add", "hooli");
  expect([people.code, people.stderr]).toEqual([2, "Wrote settings/hooli.yaml, tenants.yaml.\n"]);
});

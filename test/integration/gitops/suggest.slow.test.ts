import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type Sandbox, startSandbox } from "../../../provider/sandbox";
import { readSettings } from "../../../provider/settings-files/read-settings";
import { createCli } from "../../support/cli";
import { findTerminalCommands } from "../../support/hostile-text";
import { runEnvironment } from "../../support/run-environment";
import { createTestDirectory, type TestDirectory } from "../../support/test-directory";

let sandbox: Sandbox;

beforeAll(async () => {
  sandbox = await startSandbox({ scenario: "acme", clock: () => NOW });
});
afterAll(async () => {
  await sandbox.close();
});

/** The sandbox's clock, so that its mail is always the same. The command uses the real time. */
const NOW = new Date("2026-11-21T12:00:00.000Z");
const DAY = 24 * 60 * 60 * 1_000;
const soon = new Date(Date.now() + 10 * DAY).toISOString().slice(0, 10);

/**
 * Returns a repository in which each file has a different peculiarity: its name, its line endings, its final newline or
 * its location.
 */
function createRepository(): TestDirectory {
  const directory = createTestDirectory({
    "tenants/acme & söhne/settings.yaml": [
      "# the tenant's own ##vso[task.complete]done",
      "version: 1",
      "include: [../../baseline.yaml, allow.yaml]",
      "ownDomains: [acme.example]",
      "vips:",
      "  - ruth.castellan@acme.example # the chief",
      "deny:",
      "  - evil.example",
      "  - www.evil.example",
      "",
    ].join("\r\n"),
    "tenants/acme & söhne/allow.yaml": `\uFEFFversion: 1\nallow:\n  - { value: quiet.example, expires: ${soon} }`,
    "baseline.yaml": "version: 1\ndeny:\n  - bad.example # all of it\n  - x@bad.example\n",
  });
  runGit(directory, "init", "--quiet");
  runGit(directory, "config", "core.autocrlf", "false");
  runGit(directory, "add", "--all");
  return directory;
}

it("judges expires as of the day in --today", async () => {
  using directory = createRepository();
  const email = createCli(directory.at("tenants/acme & söhne"), buildEnvironment());
  expect((await email("suggest", "--only", "expiring-allow")).code).toBe(2);
  expect(await email("suggest", "--only", "expiring-allow", "--today", "2020-01-01")).toMatchObject({
    code: 0,
    stderr: "",
  });
});

it("prints suggestions with a patch that git applies", async () => {
  using directory = createRepository();
  const cwd = directory.at("tenants/acme & söhne");
  const email = createCli(cwd, buildEnvironment());

  const suggestions = await email("suggest");
  expect(suggestions.stderr).toBe("");
  expect(suggestions.code).toBe(2);
  expect(findTerminalCommands(suggestions.output)).toEqual([]);
  expect(suggestions.stdout).toMatch(/^Checked \d{3,} threats and \d+ reports of the last 30 days\.\n/);
  expect(suggestions.stdout).toMatch(/ {2}- Make \S+@acme\.example a VIP\n {4}\d+ threats were sent to it/);
  expect(suggestions.stdout).toMatch(/ {2}- Deny \S+\n {4}\d+ users? reported mail from it as phishing, last on /);
  expect(suggestions.stdout).toContain("Remove the deny of www.evil.example (settings.yaml:9)");
  expect(suggestions.stdout).toContain("Remove the deny of x@bad.example (../../baseline.yaml:4)");
  expect(suggestions.stdout).toContain("Decide whether to keep the allow of quiet.example (allow.yaml:3)");
  expect(suggestions.stdout).toMatch(/It\s+isn't\s+part\s+of\s+the\s+patch\./);
  expect(suggestions.stdout).toContain("\n-  - x@bad.example\n");
  expect(runGit(directory, "diff", "--name-only")).toBe("");

  const piped = await email("suggest", "--patch", "-");
  expect(piped.code).toBe(2);
  writeFileSync(directory.at("a.patch"), piped.stdout);
  runGit(directory, "apply", "--check", "a.patch");
  const file = await email("suggest", "--patch", directory.at("b.patch"));
  expect(file.code).toBe(2);
  expect(readFileSync(directory.at("b.patch"), "utf8")).toBe(piped.stdout);

  runGit(directory, "apply", "a.patch");
  const applied = runGit(directory, "diff");
  expect(applied).toContain("\r\n");
  runGit(directory, "checkout", "--", ".");
  const written = await email("suggest", "--write");
  expect(written.code).toBe(0);
  expect(written.stderr).toBe("Wrote settings.yaml.\nWrote ../../baseline.yaml.\n");
  expect(runGit(directory, "diff")).toBe(applied);

  const settings = readSettings(directory.at("tenants/acme & söhne/settings.yaml"));
  const suggested = [...suggestions.stdout.matchAll(/ {2}- (?:Deny (\S+)|Make (\S+) a VIP)\n/g)].map(
    ([, denied, vip]) => denied ?? vip,
  );
  const declared = [
    ...settings.entries.filter(({ list }) => list === "deny").map(({ value }) => value),
    ...settings.vips.map(({ email: mailbox }) => mailbox),
  ];
  expect(declared.sort()).toEqual(["bad.example", "evil.example", "ruth.castellan@acme.example", ...suggested].sort());

  // Applied suggestions aren't suggested again.
  const again = await email("suggest");
  expect(again.stdout).not.toMatch(/ {2}- (Deny|Make|Remove) /);
}, 300_000);

it("suggests only VIPs and denies that the mail supports", async () => {
  using directory = createRepository();
  const email = createCli(directory.at("tenants/acme & söhne"), buildEnvironment());
  const { stdout } = await email("suggest", "--only", "vip", "deny", "--days", "10");
  expect(stdout).not.toContain("Remove the ");

  const since = new Date(NOW.getTime() - 10 * DAY).toISOString();
  const threats = sandbox.threats("acme").filter(({ time }) => time >= since);
  const vips = new Set(sandbox.vips("acme").map(({ email: mailbox }) => mailbox));
  for (const [, mailbox = "", count] of stdout.matchAll(/Make (\S+) a VIP\n {4}(\d+) threat/g)) {
    const attacks = threats.filter(
      ({ recipient_email, verdict }) =>
        recipient_email === mailbox && ["malicious", "unknown", "denied", "no_analysis"].includes(verdict),
    );
    expect(`${mailbox} ${attacks.length}`).toBe(`${mailbox} ${count}`);
    expect(vips.has(mailbox)).toBe(false);
  }
  const reports = sandbox
    .phishingReports("acme")
    .filter(({ report_date, verdict }) => report_date >= since && verdict === "malicious");
  const denied = [...stdout.matchAll(/Deny (\S+)\n/g)].map(([, value = ""]) => value);
  expect(denied.length).toBeGreaterThan(0);
  const remainingThreats = threats.filter(
    ({ verdict, action_taken }) => verdict === "malicious" && action_taken === "none",
  );
  const senders = [
    ...reports.map(({ sender }) => sender),
    ...remainingThreats.map(({ sender_email = "" }) => sender_email),
  ];
  for (const value of denied) expect([value, senders.some((sender) => sender.endsWith(value))]).toEqual([value, true]);
});

it("limits the number of suggestions with --limit", async () => {
  using directory = createRepository();
  const email = createCli(directory.at("tenants/acme & söhne"), buildEnvironment());
  const first = await email("suggest", "--only", "shadowed", "--limit", "1", "--write");
  expect(first.code).toBe(2);
  expect(first.stdout).toContain("Redundant entries (the first 1 of 2)");
  const second = await email("suggest", "--only", "shadowed", "--limit", "1", "--write");
  expect(second.code).toBe(0);
  const third = await email("suggest", "--only", "shadowed", "--limit", "1");
  expect(third.code).toBe(0);
  expect(third.stdout).toContain("Nothing to suggest.");
});

it("reports mail that it could not read", async () => {
  using directory = createRepository();
  const failing = await startSandbox({
    scenario: "acme",
    intercept: ({ path }) =>
      path.endsWith("/threats") ? { status: 403, body: { error: "not for you \u001b[2J" } } : undefined,
  });
  try {
    const email = createCli(directory.at("tenants/acme & söhne"), {
      ...buildEnvironment(),
      EMAIL_SECURITY_BASE_URL: failing.url,
    });
    const run = await email("suggest", "--only", "shadowed");
    expect(run.stdout).toContain("The threats could not be read. GET /api/v1/threats");
    expect(findTerminalCommands(run.output)).toEqual([]);
    const missing = await email("suggest", "nothing.yaml");
    expect(missing).toMatchObject({ code: 1, stdout: "" });
    expect(missing.stderr).toContain("ERR_SETTINGS_FILE");
  } finally {
    await failing.close();
  }
});

function buildEnvironment(): NodeJS.ProcessEnv {
  return {
    ...runEnvironment(),
    EMAIL_SECURITY_BASE_URL: sandbox.url,
    EMAIL_SECURITY_API_KEY: "sandbox-acme-ci",
  };
}

function runGit({ path }: TestDirectory, ...args: string[]): string {
  return execFileSync("git", args, { cwd: path, encoding: "utf8" });
}

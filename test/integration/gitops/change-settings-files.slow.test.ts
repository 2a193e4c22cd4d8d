import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { startSandbox } from "../../../provider/sandbox";
import { createCli } from "../../support/cli";
import { findTerminalCommands } from "../../support/hostile-text";
import { runEnvironment } from "../../support/run-environment";
import { createSettingsRepository, type SettingsRepository } from "../../support/settings-repository";
import { createTestDirectory } from "../../support/test-directory";

const SETTINGS = "version: 1\npolicy:\n  requireTicket: [deny]\ndeny:\n  - value: bad.example\n    ticket: INC-1\n";

function createRepository(): SettingsRepository {
  return createSettingsRepository({ "settings.yaml": SETTINGS, "notes.md": "one\n", "staged.md": "one\n" });
}

const ENVIRONMENT = runEnvironment();

it("commits only the settings file, on a new branch", async () => {
  using directory = createRepository();
  using remote = createTestDirectory({});
  directory.git("init", "--quiet", "--bare", remote.path);
  const url = "https://dana:secret@github.example/acme/settings.git";
  directory.git("remote", "add", "origin", url);
  directory.git("config", `url.${remote.path}.insteadOf`, url);
  directory.write("notes.md", "two\n");
  directory.write("staged.md", "two\n");
  directory.git("add", "staged.md");
  const email = createCli(directory.path, ENVIRONMENT);

  const run = await email("add", "deny", "hxxps://evil[.]example/x", "--ticket=--pr $(id)", "--commit");
  expect(run.stderr).toMatch(
    /^Committed settings\.yaml as \w+ on the new branch email-security\/deny-evil\.example-pr-id, which is now checked out; `git switch main` switches back\.\n$/,
  );
  expect(run.code).toBe(0);
  expect(directory.git("show", "--format=%s%n%b", "--name-only", "HEAD")).toBe(
    "Deny evil.example (--pr $(id))\nTicket: --pr $(id)\n\n\nsettings.yaml\n",
  );
  expect(directory.git("status", "--porcelain")).toBe(" M notes.md\nM  staged.md\n");

  const pushed = await email("remove", "bad.example", "--pr");
  expect(pushed.output).not.toContain("secret");
  expect(pushed.stderr).toContain(
    "It is based on email-security/deny-evil.example-pr-id, and is reviewed together with its changes.\nPushed to origin.\n",
  );
  expect(pushed.code).toBe(2);
  expect(directory.git("--git-dir", remote.path, "branch", "--list")).toContain("email-security/remove-bad.example");
});

it("restores file and branch when git makes no commit", async () => {
  using directory = createRepository();
  const email = createCli(directory.path, ENVIRONMENT);
  directory.writeScript(".git/hooks/pre-commit", "echo no; exit 1");
  const rejection = await email("add", "deny", "evil.example", "--ticket", "INC-2", "--commit");
  expect(rejection.code).toBe(1);
  expect(rejection.stderr).toContain("git could not commit; files and branch are unchanged: [ERR_GIT]\nno\n");
  expect(readFileSync(directory.at("settings.yaml"), "utf8")).toBe(SETTINGS);
  expect(directory.git("branch")).toBe("* main\n");

  directory.write("settings.yaml", `${SETTINGS}# mine\n`);
  const dirty = await email("add", "deny", "evil.example", "--ticket", "INC-2", "--commit");
  expect(dirty.stderr).toContain(
    "settings.yaml has uncommitted changes. Nothing was written. Commit or stash them first",
  );
  expect(readFileSync(directory.at("settings.yaml"), "utf8")).toBe(`${SETTINGS}# mine\n`);
});

it("writes nothing when the policy is violated or a value is invalid", async () => {
  using directory = createRepository();
  const email = createCli(directory.path, ENVIRONMENT);
  const policy = await email("add", "deny", "evil.example");
  expect(policy.stderr).toContain('"evil.example" has no ticket');
  expect(policy.stderr).toContain("Give --ticket.");
  const unread = await email("add", "deny", "evil.example", "\u001b[31mred", "192.0.2.0/24", "--ticket", "INC-2");
  expect(unread.stderr).toContain('"192.0.2.0/24" is a range of addresses');
  expect(findTerminalCommands(unread.output)).toEqual([]);
  const nothing = await email("add");
  expect(nothing.stderr).toContain("the prompts need a terminal");
  expect([policy.code, unread.code, nothing.code]).toEqual([1, 1, 1]);
  expect(readFileSync(directory.at("settings.yaml"), "utf8")).toBe(SETTINGS);
});

it("continues without the tenant's mail when the service fails", async () => {
  using directory = createRepository();
  const args = ["add", "deny", "evil.example", "--ticket", "INC-2", "--dry-run"] as const;
  await using sandbox = await startSandbox({ scenario: "acme" });
  const tenantEnvironment = {
    ...ENVIRONMENT,
    EMAIL_SECURITY_BASE_URL: sandbox.url,
    EMAIL_SECURITY_API_KEY: "sandbox-acme-ci",
  };
  const evidenceRun = await createCli(directory.path, tenantEnvironment)(...args);
  expect(evidenceRun.stdout).toMatch(
    /No mail that the service detected came from it in the last 30 days|The service detected threats/,
  );
  const rejectedEnvironment = { ...tenantEnvironment, EMAIL_SECURITY_API_KEY: "no-such-key" };
  const failed = await createCli(directory.path, rejectedEnvironment)(...args);
  expect(failed.stdout).toContain("The tenant was not checked: ");
  expect([evidenceRun.code, failed.code]).toEqual([0, 0]);
  expect(failed.stdout).toContain("+  - value: evil.example");
});

it("reports whether the tenant holds an already declared entry", async () => {
  const settings = "version: 1\ndeny:\n  - auditors.example.org\n  - evil.example\n";
  using directory = createSettingsRepository({ "settings.yaml": settings });
  await using sandbox = await startSandbox({ scenario: "acme" });
  const tenantEnvironment = {
    ...ENVIRONMENT,
    EMAIL_SECURITY_BASE_URL: sandbox.url,
    EMAIL_SECURITY_API_KEY: "sandbox-acme-ci",
  };
  const run = await createCli(directory.path, tenantEnvironment)("add", "deny", "auditors.example.org", "evil.example");
  expect(run.stdout).toMatch(
    /^already declared: deny of auditors\.example\.org \(settings\.yaml:3\)\n {2}The tenant has it on its allow list, by /,
  );
  expect(run.stdout).toContain(
    "already declared: deny of evil.example (settings.yaml:4)\n  The tenant doesn't have it.\n",
  );
  expect(run.stdout).toContain("There is nothing to change.\n");
  expect(run.code).toBe(0);
});

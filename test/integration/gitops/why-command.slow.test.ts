import { afterAll, beforeAll, expect, it } from "vitest";
import { type WhyReport, whySchema } from "../../../provider/gitops/why-schema";
import { type Sandbox, startSandbox } from "../../../provider/sandbox";
import { createCli } from "../../support/cli";
import { commandsIn } from "../../support/hostile-text";
import { runEnvironment } from "../../support/run-environment";
import { deniedFlood, HOSTILE } from "../../support/settings-history";
import { GIT_ENVIRONMENT } from "../../support/settings-repository";

let sandbox: Sandbox;

beforeAll(async () => {
  sandbox = await startSandbox({ scenario: "acme", clock: () => new Date() });
});
afterAll(async () => {
  await sandbox.close();
});

it("explains an entry as JSON and Markdown", async () => {
  using repository = deniedFlood();
  const email = createCli(repository.path, {
    ...runEnvironment(),
    ...GIT_ENVIRONMENT,
    EMAIL_SECURITY_BASE_URL: sandbox.url,
    EMAIL_SECURITY_API_KEY: "sandbox-acme-ci",
  });
  const json = await email("why", "flood.example", "settings.yaml", "--format", "json");
  const report = JSON.parse(json.stdout) as WhyReport;
  expect(report.history.map(({ commit, before, after }) => [commit?.subject, before?.fields, after?.fields])).toEqual([
    [HOSTILE, { ticket: "INC-1", expires: "2099-10-01" }, { ticket: "INC-1", expires: "2099-12-31" }],
    ["Deny the flood (#7)", undefined, { ticket: "INC-1", expires: "2099-10-01" }],
  ]);
  expect(whySchema.parse(report)).toEqual(report);

  const markdown = await email("why", "flood.example", "--format", "markdown");
  expect(commandsIn(markdown.output)).toEqual([]);
  expect(markdown.stdout).toContain("## Why `flood.example`");
  expect(markdown.stdout).toContain("  - pull request `#7` `https://github.com/acme/mail/pull/7`");
});

it("exits with 2 when the tenant can't be read", async () => {
  using repository = deniedFlood();
  const email = createCli(repository.path, { ...runEnvironment(), ...GIT_ENVIRONMENT });
  const alone = await email("why", "flood.example");
  expect(alone.code).toBe(2);
  expect(alone.stdout).toContain("Deny the");
  expect(alone.stdout).toMatch(/Not known\n\n {2}- {2}The tenant was not read/);

  const nobody = await email("why", "not a value");
  expect(nobody).toMatchObject({ code: 1, stdout: "" });
});

it("shows mail evidence for a value on no list", async () => {
  using repository = deniedFlood();
  const email = createCli(repository.path, {
    ...runEnvironment(),
    ...GIT_ENVIRONMENT,
    EMAIL_SECURITY_BASE_URL: sandbox.url,
    EMAIL_SECURITY_API_KEY: "sandbox-acme-ci",
  });
  const { code, stdout } = await email("why", "nowhere.example");
  expect(stdout).toContain("file     No file declares it.");
  expect(stdout).toContain("mail     entry: No threats from this sender in 30 days.");
  expect(code).toBe(0);
});

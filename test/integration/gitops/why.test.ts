import { afterAll, beforeAll, expect, it } from "vitest";
import type { WhyStory } from "../../../provider/gitops/why/story";
import { type Sandbox, startSandbox } from "../../../provider/sandbox";
import { commandLine } from "../../support/command-line";
import { commandsIn } from "../../support/hostile-text";
import { GIT_ENVIRONMENT } from "../../support/settings-history";
import { deniedFlood } from "../../support/settings-story";

let sandbox: Sandbox;

beforeAll(async () => {
  sandbox = await startSandbox({ scenario: "acme", clock: () => new Date() });
});
afterAll(async () => {
  await sandbox.close();
});

it("tells an entry's story from files, git, the tenant and its mail, and nothing of it does anything", async () => {
  using folder = deniedFlood();
  const environment = {
    PATH: process.env["PATH"],
    ...GIT_ENVIRONMENT,
    EMAIL_SECURITY_BASE_URL: sandbox.url,
    EMAIL_SECURITY_API_KEY: "sandbox-acme-ci",
    COLUMNS: "80",
  };
  const email = commandLine(folder.path, environment);
  const text = await email("why", "FLOOD.example");
  expect(commandsIn(text.output)).toEqual([]);
  expect(text.stderr).toBe("");
  expect(text.code).toBe(0);
  expect(text.output).not.toContain("hunter2");
  const lines = text.stdout.split("\n");
  expect(lines.filter((line) => line.length > 80)).toEqual([]);
  expect(text.stdout.replace(/\s+/g, " ")).toContain(
    "changed in deny in baseline.yaml: expires 2099-10-01 → 2099-12-31",
  );
  expect(text.stdout).toContain("included: settings.yaml → baseline.yaml");
  expect(text.stdout).toContain("pull request #7 https://github.com/acme/mail/pull/7");
  expect(text.stdout).toContain("The tenant does not hold it.");
});

it("tells what a tenant holds that no file declares", async () => {
  using folder = deniedFlood();
  const [row] = sandbox.allowDenyEntries("acme");
  const email = commandLine(folder.path, {
    PATH: process.env["PATH"],
    ...GIT_ENVIRONMENT,
    EMAIL_SECURITY_BASE_URL: sandbox.url,
    EMAIL_SECURITY_API_KEY: "sandbox-acme-ci",
  });
  sandbox.clearRequests();
  const { code, stdout } = await email("why", row?.value ?? "", "--json", "--no-evidence");
  expect(code).toBe(2);
  const story = JSON.parse(stdout) as WhyStory;
  expect(story.files).toEqual([]);
  expect(story.held).toMatchObject([{ list: row?.list, by: row?.created_by, isDeclared: false }]);
  expect(story.missing).toEqual(["The tenant's mail was not looked at (--no-evidence)."]);
  expect(new Set(sandbox.requests.map(({ method }) => method))).toEqual(new Set(["GET"]));
});

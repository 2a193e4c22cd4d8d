import { afterAll, beforeAll, expect, it } from "vitest";
import type { WhyStory } from "../../../provider/gitops/why/story";
import { whySchema } from "../../../provider/gitops/why/why-schema";
import { type Sandbox, startSandbox } from "../../../provider/sandbox";
import { commandLine } from "../../support/command-line";
import { commandsIn } from "../../support/hostile-text";
import { GIT_ENVIRONMENT, settingsHistory } from "../../support/settings-history";

let sandbox: Sandbox;

beforeAll(async () => {
  sandbox = await startSandbox({ scenario: "acme", clock: () => new Date() });
});
afterAll(async () => {
  await sandbox.close();
});

const HOSTILE = "Allow it \u001b[31m##vso[task.complete]done\u202e";

function history() {
  const folder = settingsHistory();
  folder.git("remote", "add", "origin", "https://someone:hunter2@github.com/acme/mail.git");
  folder.commit("Begin (#1)", {
    "settings.yaml": "version: 1\ninclude: [baseline.yaml]\n",
    "baseline.yaml": "version: 1\n",
  });
  folder.commit("Deny the flood (#7)", {
    "baseline.yaml":
      "version: 1\ndeny:\n  - value: Flood.example\n    ticket: INC-1\n    expires: 2099-10-01\n",
  });
  folder.commit(HOSTILE, {
    "baseline.yaml":
      "version: 1\ndeny:\n  - value: flood.example\n    ticket: INC-1\n    expires: 2099-12-31\n",
  });
  return folder;
}

it("tells an entry's story from files, git, the tenant and its mail, and nothing of it does anything", async () => {
  using folder = history();
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

  const json = await email("why", "flood.example", "settings.yaml", "--json");
  const story = JSON.parse(json.stdout) as WhyStory;
  expect(
    story.history.map(({ commit, before, after }) => [commit?.subject, before?.fields, after?.fields]),
  ).toEqual([
    [HOSTILE, { ticket: "INC-1", expires: "2099-10-01" }, { ticket: "INC-1", expires: "2099-12-31" }],
    ["Deny the flood (#7)", undefined, { ticket: "INC-1", expires: "2099-10-01" }],
  ]);
  expect(whySchema.parse(story)).toEqual(story);

  const markdown = await email("why", "flood.example", "--markdown");
  expect(commandsIn(markdown.output)).toEqual([]);
  expect(markdown.stdout).toContain("## Why `flood.example`");
  expect(markdown.stdout).toContain("  - pull request `#7` `https://github.com/acme/mail/pull/7`");
});

it("tells what files and git know where the tenant can't be asked, and ends in 2", async () => {
  using folder = history();
  const email = commandLine(folder.path, { PATH: process.env["PATH"], ...GIT_ENVIRONMENT });
  const alone = await email("why", "flood.example");
  expect(alone.code).toBe(2);
  expect(alone.stdout).toContain("Deny the");
  expect(alone.stdout).toMatch(/Not known\n\n {2}- {2}The tenant was not asked: /);

  const nobody = await email("why", "not a value");
  expect(nobody).toMatchObject({ code: 1, stdout: "" });
});

it("tells what the mail says of a value that is nowhere", async () => {
  using folder = history();
  const email = commandLine(folder.path, {
    PATH: process.env["PATH"],
    ...GIT_ENVIRONMENT,
    EMAIL_SECURITY_BASE_URL: sandbox.url,
    EMAIL_SECURITY_API_KEY: "sandbox-acme-ci",
  });
  const { code, stdout } = await email("why", "nowhere.example");
  expect(stdout).toContain("file     No file declares it.");
  expect(stdout).toContain("mail     entry: No threat from it in 30 days.");
  expect(code).toBe(0);
});

it("tells what a tenant holds that no file declares", async () => {
  using folder = history();
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

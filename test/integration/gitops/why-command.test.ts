import { execFileSync } from "node:child_process";
import { renameSync } from "node:fs";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { WhyReport } from "../../../provider/gitops/why-schema";
import { type Sandbox, startSandbox } from "../../../provider/sandbox";
import { createCli } from "../../support/cli";
import { findTerminalCommands } from "../../support/hostile-text";
import { runEnvironment } from "../../support/run-environment";
import { createFloodRepository } from "../../support/settings-history";
import { createSettingsRepository, GIT_ENVIRONMENT } from "../../support/settings-repository";

let sandbox: Sandbox;

beforeAll(async () => {
  sandbox = await startSandbox({ scenario: "acme", clock: () => new Date() });
});
afterAll(async () => {
  await sandbox.close();
});

it("explains an entry from files, git, the tenant and its mail", async () => {
  using repository = createFloodRepository();
  const environment = {
    ...runEnvironment(),
    ...GIT_ENVIRONMENT,
    EMAIL_SECURITY_BASE_URL: sandbox.url,
    EMAIL_SECURITY_API_KEY: "sandbox-acme-ci",
    COLUMNS: "80",
  };
  const email = createCli(repository.path, environment);
  const text = await email("why", "FLOOD.example");
  expect(findTerminalCommands(text.output)).toEqual([]);
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
  expect(text.stdout).toContain("The tenant doesn't have it.");
});

it("reports an entry that no file declares", async () => {
  using repository = createFloodRepository();
  const [row] = sandbox.allowDenyEntries("acme");
  const email = createCli(repository.path, {
    ...runEnvironment(),
    ...GIT_ENVIRONMENT,
    EMAIL_SECURITY_BASE_URL: sandbox.url,
    EMAIL_SECURITY_API_KEY: "sandbox-acme-ci",
  });
  sandbox.clearRequests();
  const { code, stdout } = await email("why", row?.value ?? "", "--format", "json", "--no-evidence");
  expect(code).toBe(2);
  const report = JSON.parse(stdout) as WhyReport;
  expect(report.files).toEqual([]);
  expect(report.actual).toMatchObject([{ list: row?.list, createdBy: row?.created_by, isDeclared: false }]);
  expect(report.missing).toEqual(["The tenant's mail was not read (--no-evidence)."]);
  expect(new Set(sandbox.requests.map(({ method }) => method))).toEqual(new Set(["GET"]));
});

const ENTRY = "version: 1\ndeny:\n  - value: evil.example\n    ticket: INC-1\n";
const OFFLINE = { ...runEnvironment(), ...GIT_ENVIRONMENT, COLUMNS: "200" };

it("distinguishes a squash commit's pull request from claims in its message", async () => {
  using repository = createSettingsRepository();
  repository.git("remote", "add", "origin", "https://github.com/acme/mail.git");
  repository.commit("Begin", { "settings.yaml": "version: 1\n" });
  repository.commit("Deny it (#34)\n\nSee merge request evil/other!99\n\nCo-authored-by: Eve <eve@acme.example>", {
    "settings.yaml": ENTRY,
  });
  const { stdout } = await createCli(repository.path, OFFLINE)("why", "evil.example");
  expect(stdout).toContain("pull request #34 https://github.com/acme/mail/pull/34\n");
  expect(stdout).toContain("only its message claims: merge request evil/other!99\n");
  expect(stdout).toContain("co-authors, according to its message: Eve <eve@acme.example>\n");
});

it("names the committer of another author's change", async () => {
  using repository = createSettingsRepository();
  repository.commit("Begin", { "settings.yaml": "version: 1\n" });
  repository.write("settings.yaml", ENTRY);
  execFileSync("git", ["commit", "--quiet", "--all", "--message=Deny it"], {
    cwd: repository.path,
    env: {
      ...runEnvironment(),
      ...GIT_ENVIRONMENT,
      GIT_AUTHOR_DATE: "2026-05-04T08:00:00Z",
      GIT_COMMITTER_DATE: "2026-06-05T09:30:00Z",
      GIT_COMMITTER_NAME: "Robin Okafor",
      GIT_COMMITTER_EMAIL: "robin@acme.example",
    },
  });
  const email = createCli(repository.path, OFFLINE);
  const { stdout } = await email("why", "evil.example");
  expect(stdout).toMatch(/2026-06-05 09:30 UTC +added to deny in settings\.yaml/);
  expect(stdout).toContain("by Dana Reyes <dana@acme.example>: Deny it");
  expect(stdout.replace(/\s+/g, " ")).toContain(
    "written on 2026-05-04 08:00 UTC; committed on 2026-06-05 09:30 UTC by Robin Okafor <robin@acme.example>",
  );
  const [event] = (JSON.parse((await email("why", "evil.example", "--format", "json")).stdout) as WhyReport).history;
  expect(event?.commit).toMatchObject({
    authoredAt: "2026-05-04T08:00:00.000Z",
    committer: "Robin Okafor <robin@acme.example>",
    committedAt: "2026-06-05T09:30:00.000Z",
  });
});

it.each([
  ["a nested repository that .gitignore names", {}],
  ["one whose GIT_DIR names another", { GIT_DIR: "other/.git", GIT_WORK_TREE: "other", GIT_INDEX_FILE: "i" }],
  ["one below the ceiling of directories", { GIT_CEILING_DIRECTORIES: "/" }],
])("reads history from the repository that holds the file: %s", async (_label, environment) => {
  using nested = createSettingsRepository();
  nested.commit("Deny it", { "settings.yaml": ENTRY });
  using repository = createSettingsRepository();
  repository.commit("Ignore it", { ".gitignore": "mail\n" });
  renameSync(nested.path, repository.at("mail"));
  using other = createSettingsRepository();
  other.commit("Something else", { "settings.yaml": "version: 1\n" });
  renameSync(other.path, repository.at("other"));
  const email = createCli(repository.path, { ...OFFLINE, ...environment });
  const { stdout } = await email("why", "evil.example", "mail/settings.yaml");
  expect(stdout).toContain("added to deny in settings.yaml (ticket INC-1)");
  expect(stdout).toContain("by Dana Reyes <dana@acme.example>: Deny it");
  expect(stdout).not.toContain("not committed yet");
});

it.each([
  ["in the feed", "", "source phish-feed (url), first seen on 2026-10-01, last seen on 2026-10-20"],
  [
    "that left the feed",
    ", last: 2026-10-12",
    "source phish-feed (url), first seen on 2026-10-01, last seen on 2026-10-12, no longer listed",
  ],
])("names the source of an entry %s", async (_label, last, detail) => {
  using repository = createSettingsRepository();
  repository.commit("Sync phish-feed", {
    "settings.yaml":
      "version: 1\ninclude: [sources/phish-feed.yaml]\nsources:\n  phish-feed: { kind: url, url: 'https://feeds.example/', into: deny, expires: 14d }\n",
    "sources/phish-feed.yaml": `version: 1\nsource: { name: phish-feed, kind: url, synced: 2026-10-20 }\ndeny:\n  - { value: evil.example, expires: 2099-12-31, seen: { first: 2026-10-01${last} } }\n`,
  });
  const email = createCli(repository.path, OFFLINE);
  expect((await email("why", "evil.example")).stdout.replace(/\s+/g, " ")).toContain(` ${detail} expires after `);
  const report = JSON.parse((await email("why", "evil.example", "--format", "json")).stdout) as WhyReport;
  expect(report.history).toMatchObject([{ after: { fields: { "seen.first": "2026-10-01" } } }]);
  expect(report.files).toMatchObject([{ source: { name: "phish-feed", kind: "url", firstSeen: "2026-10-01" } }]);
});

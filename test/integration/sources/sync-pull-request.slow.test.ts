import { execFileSync } from "node:child_process";
import { chmodSync, copyFileSync, mkdirSync, readFileSync } from "node:fs";
import { delimiter } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { syncSchema } from "../../../provider/sources/sync-report";
import { createCli } from "../../support/cli";
import type { GitHubState } from "../../support/github/simulated-github-repository";
import { runEnvironment } from "../../support/run-environment";
import { addRemote, createSettingsRepository, type SettingsRepository } from "../../support/settings-repository";
import { createTestDirectory, type TestDirectory } from "../../support/test-directory";
import { FeedServer } from "./feed-server";

let feed: FeedServer;
beforeAll(async () => {
  feed = await FeedServer.start();
});
afterAll(() => feed[Symbol.asyncDispose]());

const GENERATED = "settings/sources/phish.yaml";
const BRANCH = "email-security/sync-phish";

/** A repository whose settings declare two feeds, with its remote on GitHub. */
class SyncProject implements Disposable {
  readonly repository: SettingsRepository;
  readonly remote: TestDirectory;
  readonly #host: TestDirectory;

  constructor() {
    this.repository = createSettingsRepository({
      "settings/acme.yaml": `version: 1
include: [sources/phish.yaml, sources/spam.yaml]
ownDomains: [acme.example]
sources:
  phish: { kind: url, url: "${feed.origin}/phish.txt", into: deny, expires: 14d }
  spam: { kind: url, url: "${feed.origin}/spam.txt", into: deny, expires: 14d }
`,
    });
    this.remote = addRemote(this.repository, "git@github.com:acme/email-security.git");
    this.repository.git("push", "--quiet", "origin", "main");
    const state: GitHubState = { artifacts: [], comments: [], issues: [], reviews: [], pulls: [] };
    this.#host = createTestDirectory({ "state.json": JSON.stringify(state) });
    mkdirSync(this.#host.at("bin"));
    copyFileSync("test/support/github/gh.mjs", this.#host.at("bin/gh"));
    chmodSync(this.#host.at("bin/gh"), 0o755);
  }

  async sync(today: string, ...args: string[]) {
    const run = createCli(this.repository.path, {
      ...runEnvironment(),
      PATH: `${this.#host.at("bin")}${delimiter}${process.env["PATH"]}`,
      GH_CONFIG_DIR: this.#host.path,
      GH_TOKEN: "a token",
      EMAIL_SECURITY_SOURCES: `phish=${feed.origin}/ spam=${feed.origin}/`,
    });
    const { code, stdout, output } = await run("sync", "--pr", "--today", today, "--format", "json", ...args);
    expect(output).not.toContain("a token");
    return { code, sources: syncSchema.parse(JSON.parse(stdout)).sources };
  }

  get pulls(): GitHubState["pulls"] {
    return (JSON.parse(readFileSync(this.#host.at("state.json"), "utf8")) as GitHubState).pulls;
  }

  runRemoteGit(...args: string[]): string {
    return execFileSync("git", ["--git-dir", this.remote.path, ...args], { encoding: "utf8" }).trim();
  }

  /** Merges a branch at the remote as a host does, and updates the clone. */
  merge(branch: string): void {
    this.repository.git("pull", "--quiet", "--no-rebase", "--no-edit", "origin", branch);
    this.repository.git("push", "--quiet", "origin", "main");
  }

  [Symbol.dispose](): void {
    for (const directory of [this.repository, this.remote, this.#host]) directory[Symbol.dispose]();
  }
}

function listBoth(phish: readonly string[], spam: readonly string[] = ["spam.test"]): void {
  feed.answer = (request, response) => {
    const values = request.url === "/phish.txt" ? phish : spam;
    response.writeHead(200, { "content-type": "text/plain" }).end(`${values.join("\n")}\n`);
  };
}

it("proposes each source in one lasting pull request", async () => {
  using project = new SyncProject();
  listBoth(["evil.test", "bad.test", "acme.example"]);
  const first = await project.sync("2026-11-20");
  expect(first.code).toBe(0);
  expect(first.sources.map(({ proposal }) => proposal)).toEqual([
    { branch: BRANCH, state: "pushed", url: "https://github.com/acme/email-security/pull/1" },
    { branch: "email-security/sync-spam", state: "pushed", url: "https://github.com/acme/email-security/pull/2" },
  ]);
  expect(project.repository.git("status", "--porcelain")).toBe("");
  expect(project.pulls[0]?.body).toMatch(/Added \(2\)[\s\S]*`evil\.test`[\s\S]*Rejected:[\s\S]*`acme\.example`/);

  const tip = project.runRemoteGit("rev-parse", BRANCH);
  const later = await project.sync("2026-11-23");
  expect(later.sources.map(({ proposal }) => proposal?.state)).toEqual(["current", "current"]);
  expect(project.runRemoteGit("rev-parse", BRANCH)).toBe(tip);

  listBoth(["evil.test", "bad.test", "worse.test"]);
  await project.sync("2026-11-24");
  const text = project.runRemoteGit("show", `${BRANCH}:${GENERATED}`);
  expect(text).toContain("value: evil.test, expires: 2026-12-04, seen: { first: 2026-11-20 } }");
  expect(text).toContain("value: worse.test, expires: 2026-12-08, seen: { first: 2026-11-24 } }");

  project.merge(BRANCH);
  const merged = await project.sync("2026-11-25");
  expect(merged.sources[0]?.proposal).toMatchObject({ state: "unchanged" });
  expect(project.pulls[0]?.body).toContain("this can be closed");
});

it("proposes the other sources if one is blocked, and exits with 1", async () => {
  using project = new SyncProject();
  feed.answer = (request, response) => {
    if (request.url === "/phish.txt") response.writeHead(503).end();
    else response.writeHead(200, { "content-type": "text/plain" }).end("spam.test\n");
  };
  const { code, sources } = await project.sync("2026-11-20");
  expect(code).toBe(1);
  expect(sources.map(({ outcome, proposal }) => [outcome, proposal?.state])).toEqual([
    ["blocked", undefined],
    ["changed", "pushed"],
  ]);
  expect(project.pulls.map(({ head }) => head)).toEqual(["email-security/sync-spam"]);
});

it("proposes nothing from settings that differ from the default branch", async () => {
  using project = new SyncProject();
  listBoth(["evil.test"]);
  const file = "settings/acme.yaml";
  project.repository.write(file, `${readFileSync(project.repository.at(file), "utf8")}# mine\n`);
  const { code, sources } = await project.sync("2026-11-20", "--source", "phish");
  expect(code).toBe(1);
  expect(sources).toMatchObject([{ outcome: "blocked", problem: { code: "ERR_GIT" } }]);
  expect(project.runRemoteGit("branch", "--list")).toBe("* main");
});

import { execFileSync } from "node:child_process";
import { chmodSync, copyFileSync, mkdirSync, readFileSync } from "node:fs";
import { delimiter } from "node:path";
import { expect } from "vitest";
import { syncSchema } from "../../../provider/sources/sync-report";
import { createCli } from "../../support/cli";
import type { GitHubState } from "../../support/github/simulated-github-repository";
import { runEnvironment } from "../../support/run-environment";
import { addRemote, createSettingsRepository, type SettingsRepository } from "../../support/settings-repository";
import { createTestDirectory, type TestDirectory } from "../../support/test-directory";
import type { FeedServer } from "./feed-server";

/** The generated file of the first feed. */
export const GENERATED = "settings/sources/phish.yaml";

/** The branch on which its changes are proposed. */
export const BRANCH = "email-security/sync-phish";

/** A repository whose settings declare two feeds, with its remote on GitHub. */
export class SyncProject implements Disposable {
  readonly repository: SettingsRepository;
  readonly remote: TestDirectory;
  readonly #feed: FeedServer;
  readonly #host: TestDirectory;

  constructor(feed: FeedServer) {
    this.#feed = feed;
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
    const run = createCli(this.repository.path, this.environment);
    const { code, stdout, output } = await run("sync", "--pr", "--today", today, "--format", "json", ...args);
    expect(output).not.toContain("a token");
    return { code, sources: syncSchema.parse(JSON.parse(stdout)).sources };
  }

  get environment(): NodeJS.ProcessEnv {
    const { origin } = this.#feed;
    return {
      ...runEnvironment(),
      PATH: `${this.programs}${delimiter}${process.env["PATH"]}`,
      GH_CONFIG_DIR: this.#host.path,
      GH_TOKEN: "a token",
      EMAIL_SECURITY_SOURCES: `phish=${origin}/ spam=${origin}/`,
    };
  }

  /** The directory of the programs that are found first. */
  get programs(): string {
    return this.#host.at("bin");
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

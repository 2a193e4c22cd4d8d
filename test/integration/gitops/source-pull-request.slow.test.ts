import { execFileSync } from "node:child_process";
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { delimiter } from "node:path";
import { expect, it, onTestFinished, vi } from "vitest";
import { getSourceBranch, SourceBranches } from "../../../provider/gitops/source-branches";
import {
  describeProposal,
  type ProposalResult,
  proposeSourceChange,
} from "../../../provider/gitops/source-pull-request";
import type { GitHubState } from "../../support/github/simulated-github-repository";
import { addRemote, createSettingsRepository, type SettingsRepository } from "../../support/settings-repository";
import { createTestDirectory, type TestDirectory } from "../../support/test-directory";

const PATH = "settings/sources/phish-feed.yaml";
const FILE = { source: "phish-feed", path: PATH };
const BRANCH = "email-security/sync-phish-feed";
const DECLARING = "version: 1\nsources: {}\n";
const formatDenies = (...values: string[]): string =>
  `version: 1\ndeny:\n${values.map((value) => `  - value: ${value}\n`).join("")}`;

/** A repository on GitHub, with a clone, a branch of its own files and `gh`. */
class ProposalProject implements Disposable {
  readonly repository: SettingsRepository;
  readonly remote: TestDirectory;
  readonly #host: TestDirectory;

  constructor(files: Readonly<Record<string, string>> = {}, address = "git@github.com:acme/email-security.git") {
    this.repository = createSettingsRepository({ "settings/acme.yaml": DECLARING, ...files });
    this.remote = addRemote(this.repository, address);
    this.repository.git("push", "--quiet", "origin", "main");
    const state: GitHubState = { artifacts: [], comments: [], issues: [], reviews: [], pulls: [] };
    this.#host = createTestDirectory({ "state.json": JSON.stringify(state) });
    mkdirSync(this.#host.at("bin"));
    vi.stubEnv("PATH", `${this.#host.at("bin")}${delimiter}${process.env["PATH"]}`);
    vi.stubEnv("GH_CONFIG_DIR", this.#host.path);
    vi.stubEnv("GH_TOKEN", "a token");
    onTestFinished(() => void vi.unstubAllEnvs());
  }

  installGh(): this {
    copyFileSync("test/support/github/gh.mjs", this.#host.at("bin/gh"));
    execFileSync("chmod", ["+x", this.#host.at("bin/gh")]);
    return this;
  }

  installTool(name: "gh" | "glab", script: string): string {
    writeFileSync(this.#host.at(`bin/${name}`), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
    return this.#host.at(`bin/${name}`);
  }

  get pulls(): GitHubState["pulls"] {
    return (JSON.parse(readFileSync(this.#host.at("state.json"), "utf8")) as GitHubState).pulls;
  }

  async propose(text: string, description = "Report", repository = this.repository.path): Promise<ProposalResult> {
    const branches = await SourceBranches.fetch(repository, [FILE]);
    return await this.submit(branches, text, description);
  }

  async submit(branches: SourceBranches, text: string, description = "Report"): Promise<ProposalResult> {
    return await proposeSourceChange(branches, { ...FILE, text, title: "Sync phish-feed", description });
  }

  /** Runs git at the remote. */
  runRemoteGit(...args: string[]): string {
    return execFileSync("git", ["--git-dir", this.remote.path, ...args], { encoding: "utf8" }).trim();
  }

  /** The subjects of the commits on the branch that main doesn't have, the newest first. */
  get commits(): string[] {
    const output = this.runRemoteGit("log", "--format=%s", `main..${BRANCH}`);
    return output.split("\n").filter((line) => line !== "");
  }

  get proposedText(): string {
    return `${this.runRemoteGit("show", `${BRANCH}:${PATH}`)}\n`;
  }

  /** Commits on a branch as another person does, in a clone of their own. */
  commitAsPerson(branch: string, write: (clone: TestDirectory) => void, ...options: string[]): void {
    using clone = createTestDirectory({});
    const runCloneGit = (...args: string[]): string => execFileSync("git", args, { cwd: clone.path, encoding: "utf8" });
    runCloneGit("clone", "--quiet", "--branch", branch, this.remote.path, ".");
    write(clone);
    runCloneGit("add", "--all");
    const author = ["-c", "user.name=Toni", "-c", "user.email=toni@acme.example"];
    runCloneGit(...author, "commit", "--quiet", ...(options.length === 0 ? ["--message=By Toni"] : options));
    runCloneGit("push", "--quiet", "--force", "origin", branch);
  }

  [Symbol.dispose](): void {
    for (const directory of [this.repository, this.remote, this.#host]) directory[Symbol.dispose]();
  }
}

it("proposes a new file without touching the working tree", async () => {
  using project = new ProposalProject({ "notes.md": "one\n" }).installGh();
  const { repository } = project;
  repository.write("notes.md", "two\n");
  repository.write("staged.md", "staged\n");
  repository.git("add", "staged.md");
  const getState = (): string =>
    ["status --porcelain=v2 --branch", "for-each-ref refs/heads refs/stash", "stash list", "worktree list"]
      .map((command) => repository.git(...command.split(" ")))
      .join("\n");
  const before = getState();
  const result = await project.propose(formatDenies("evil.example"), "1 entry is added.");
  expect(getState()).toBe(before);
  expect(describeProposal(result)).toEqual([
    `Pushed ${BRANCH} to origin.`,
    "Opened https://github.com/acme/email-security/pull/1",
  ]);
  expect(project.commits).toEqual(["Sync phish-feed"]);
  expect(project.runRemoteGit("diff", "--name-status", "main", BRANCH)).toBe(`A\t${PATH}`);
  expect(project.proposedText).toBe(formatDenies("evil.example"));
  expect(project.pulls).toMatchObject([{ head: BRANCH, title: "Sync phish-feed", body: "1 entry is added." }]);
});

it("pushes nothing for a content that is proposed already", async () => {
  using project = new ProposalProject().installGh();
  await project.propose(formatDenies("evil.example"));
  const tip = project.runRemoteGit("rev-parse", BRANCH);
  project.commitAsPerson("main", (clone) => clone.write("other.md", "x\n"));
  const result = await project.propose(formatDenies("evil.example"));
  expect(result.update).toEqual({ state: "current" });
  expect(result.pullRequest?.action).toBe("current");
  expect(project.runRemoteGit("rev-parse", BRANCH)).toBe(tip);
});

it("rebuilds the branch on the current base branch", async () => {
  using project = new ProposalProject().installGh();
  await project.propose(formatDenies("evil.example"));
  project.commitAsPerson("main", (clone) => clone.write("other.md", "x\n"));
  const result = await project.propose(formatDenies("bad.example", "evil.example"), "2 entries are added.");
  expect(result.pullRequest).toEqual({ action: "updated", url: "https://github.com/acme/email-security/pull/1" });
  expect(project.commits).toEqual(["Sync phish-feed"]);
  expect(project.runRemoteGit("merge-base", "main", BRANCH)).toBe(project.runRemoteGit("rev-parse", "main"));
  expect(project.proposedText).toBe(formatDenies("bad.example", "evil.example"));
  expect(project.pulls).toMatchObject([{ body: "2 entries are added." }]);
});

it("rebuilds the branch if the base branch has another version of the file", async () => {
  using project = new ProposalProject({ [PATH]: formatDenies("a.example") }).installGh();
  await project.propose(formatDenies("a.example", "b.example"));
  project.commitAsPerson("main", (clone) => clone.write(PATH, formatDenies("b.example")));
  expect((await project.propose(formatDenies("a.example", "b.example"))).update).toEqual({ state: "pushed" });
  expect(project.runRemoteGit("merge-base", "main", BRANCH)).toBe(project.runRemoteGit("rev-parse", "main"));
});

it("starts from scratch after a squash merge that left the branch", async () => {
  using project = new ProposalProject().installGh();
  await project.propose(formatDenies("a.example"));
  project.commitAsPerson("main", (clone) => clone.write(PATH, formatDenies("a.example")));
  expect((await project.propose(formatDenies("a.example", "b.example"))).update).toEqual({ state: "pushed" });
  expect(project.runRemoteGit("diff", "--numstat", "main", BRANCH)).toBe(`1\t0\t${PATH}`);
});

it("keeps the commits of people", async () => {
  using project = new ProposalProject().installGh();
  await project.propose(formatDenies("evil.example"));
  project.commitAsPerson(BRANCH, (clone) => clone.write("settings/acme.yaml", `${DECLARING}# reviewed\n`));
  const result = await project.propose(formatDenies("bad.example", "evil.example"));
  expect(result.update).toEqual({ state: "added", others: 1 });
  expect(project.commits).toEqual(["Sync phish-feed", "By Toni", "Sync phish-feed"]);
  expect(project.proposedText).toBe(formatDenies("bad.example", "evil.example"));
  expect((await project.propose(formatDenies("bad.example", "evil.example"))).update).toEqual({ state: "current" });
});

it("keeps the lines that a person removed from the proposed file", async () => {
  const values = Array.from({ length: 9 }, (_, index) => `v${index}.example`);
  using project = new ProposalProject().installGh();
  await project.propose(formatDenies(...values));
  project.commitAsPerson(BRANCH, (clone) => clone.write(PATH, formatDenies(...values.slice(1))));
  expect((await project.propose(formatDenies(...values, "w.example"))).update).toEqual({ state: "added", others: 1 });
  expect(project.proposedText).toBe(formatDenies(...values.slice(1), "w.example"));
  expect((await project.propose(formatDenies(...values, "w.example"))).update).toEqual({ state: "current" });
});

it("changes nothing if a person changed the same lines", async () => {
  using project = new ProposalProject().installGh();
  await project.propose(formatDenies("evil.example"), "first");
  project.commitAsPerson(BRANCH, (clone) => clone.write(PATH, formatDenies("other.example")));
  const tip = project.runRemoteGit("rev-parse", BRANCH);
  const result = await project.propose(formatDenies("bad.example"), "second");
  expect(result.update).toEqual({ state: "conflict", others: 1 });
  expect(describeProposal(result)).toEqual([
    `Nothing was pushed, because 1 commit of other people on ${BRANCH} changed the same lines. Merge or close its pull request, or delete the branch; the next sync starts from main.`,
  ]);
  expect(project.runRemoteGit("rev-parse", BRANCH)).toBe(tip);
  expect(project.pulls).toMatchObject([{ body: "first" }]);
});

it.each(["the proposed file", "another file"])("keeps a commit that a person amended in %s", async (label) => {
  using project = new ProposalProject().installGh();
  await project.propose(formatDenies("evil.example"));
  const path = label === "another file" ? "other.md" : PATH;
  project.commitAsPerson(BRANCH, (clone) => clone.write(path, formatDenies("amended.example")), "--amend", "--no-edit");
  expect(project.runRemoteGit("log", "-1", "--format=%(trailers:key=Email-Security-Source,valueonly)", BRANCH)).toBe(
    "phish-feed",
  );
  const tip = project.runRemoteGit("rev-parse", BRANCH);
  await project.propose(formatDenies("bad.example"));
  expect(() => project.runRemoteGit("merge-base", "--is-ancestor", tip, BRANCH)).not.toThrow();
});

it("doesn't overwrite a push that arrives after it read the branch", async () => {
  using project = new ProposalProject().installGh();
  await project.propose(formatDenies("evil.example"));
  const branches = await SourceBranches.fetch(project.repository.path, [FILE]);
  project.commitAsPerson(BRANCH, (clone) => clone.write("other.md", "x\n"));
  await expect(project.submit(branches, formatDenies("bad.example"))).rejects.toThrow(
    `The branch ${BRANCH} could not be pushed to the remote origin. Somebody has pushed to it in the meantime. Run the command again.`,
  );
  expect(project.commits).toEqual(["By Toni", "Sync phish-feed"]);
});

it("doesn't overwrite a branch that is created after it read the remote", async () => {
  using project = new ProposalProject().installGh();
  const branches = await SourceBranches.fetch(project.repository.path, [FILE]);
  project.runRemoteGit("branch", BRANCH, "main");
  await expect(project.submit(branches, formatDenies("bad.example"))).rejects.toThrow("in the meantime");
  expect(project.commits).toEqual([]);
});

it("notes on an open pull request that nothing is left of it", async () => {
  using project = new ProposalProject().installGh();
  await project.propose(formatDenies("evil.example"));
  project.commitAsPerson("main", (clone) => clone.write(PATH, formatDenies("evil.example")));
  const result = await project.propose(formatDenies("evil.example"));
  expect(describeProposal(result)).toEqual([
    "There are no changes left in https://github.com/acme/email-security/pull/1, because main has the same entries. Close it.",
  ]);
  expect(project.pulls).toMatchObject([
    { state: "open", body: "There are no changes left compared with the branch main, so this can be closed.\n" },
  ]);
});

it("opens another pull request after a person closed one", async () => {
  using project = new ProposalProject().installGh();
  await project.propose(formatDenies("evil.example"));
  const gh = project.installTool(
    "gh",
    'printf "%s\\n" "$*" >> "$0.calls"; [ "$2" = list ] && echo "[]" || echo https://github.com/acme/email-security/pull/2',
  );
  expect((await project.propose(formatDenies("bad.example"))).pullRequest).toEqual({
    action: "opened",
    url: "https://github.com/acme/email-security/pull/2",
  });
  expect(readFileSync(`${gh}.calls`, "utf8")).toBe(
    `pr list --head=${BRANCH} --state=open --limit=100 --json=number,url,body,isCrossRepository\npr create --head=${BRANCH} --title=Sync phish-feed --body-file=-\n`,
  );
});

it("doesn't take a pull request from a fork for its own", async () => {
  using project = new ProposalProject();
  const fork = JSON.stringify([{ number: 3, url: "https://github.com/x/3", body: "", isCrossRepository: true }]);
  project.installTool("gh", `[ "$2" = list ] && echo '${fork}' || echo https://github.com/acme/email-security/pull/4`);
  expect((await project.propose(formatDenies("bad.example"))).pullRequest?.action).toBe("opened");
});

it("says where a person opens it if the host's program fails", async () => {
  using project = new ProposalProject();
  project.installTool("gh", "echo not logged in >&2; exit 4");
  const result = await project.propose(formatDenies("bad.example"));
  expect(describeProposal(result)).toEqual([
    `Pushed ${BRANCH} to origin.`,
    "It could not be opened for review from here: not logged in",
    `Open it for review: https://github.com/acme/email-security/compare/${BRANCH}?expand=1`,
  ]);
});

it("updates its merge request on GitLab", async () => {
  using project = new ProposalProject({}, "git@gitlab.acme.example:mail/settings.git");
  const url = "https://gitlab.acme.example/mail/settings/-/merge_requests/7";
  const glab = project.installTool(
    "glab",
    `printf "%s\\n" "$*" >> "$0.calls"; case $2 in list) cat "$0.list" 2>/dev/null || echo null;; create) echo ${url};; esac`,
  );
  expect((await project.propose(formatDenies("a.example"), "first")).pullRequest).toEqual({ action: "opened", url });
  const own = { iid: 7, web_url: url, description: "first", source_project_id: 1, target_project_id: 1 };
  writeFileSync(`${glab}.list`, JSON.stringify([{ ...own, iid: 6, source_project_id: 2 }, own]));
  expect((await project.propose(formatDenies("b.example"), "second")).pullRequest).toEqual({ action: "updated", url });
  const list = `mr list --source-branch=${BRANCH} --per-page=100 --output=json\n`;
  expect(readFileSync(`${glab}.calls`, "utf8")).toBe(
    `${list}mr create --source-branch=${BRANCH} --title=Sync phish-feed --description=first --yes\n${list}mr update 7 --description=second --yes\n`,
  );
});

it("works in a shallow clone with a detached HEAD", async () => {
  using project = new ProposalProject().installGh();
  project.commitAsPerson("main", (clone) => clone.write("other.md", "x\n"));
  const proposeFromClone = async (text: string): Promise<ProposalResult> => {
    using clone = createTestDirectory({});
    const runCloneGit = (...args: string[]): string => execFileSync("git", args, { cwd: clone.path, encoding: "utf8" });
    runCloneGit("clone", "--quiet", "--depth=1", `file://${project.remote.path}`, ".");
    runCloneGit("switch", "--quiet", "--detach");
    runCloneGit("config", "core.sshCommand", project.repository.git("config", "core.sshCommand").trim());
    runCloneGit("config", "ssh.variant", "ssh");
    runCloneGit("config", "user.name", "pipeline");
    runCloneGit("config", "user.email", "pipeline@localhost");
    runCloneGit("remote", "set-url", "origin", "git@github.com:acme/email-security.git");
    const result = await project.propose(text, "Report", clone.path);
    expect(runCloneGit("status", "--porcelain=v1", "--branch")).toBe("## HEAD (no branch)\n");
    return result;
  };
  expect((await proposeFromClone(formatDenies("a.example"))).update).toEqual({ state: "pushed" });
  project.commitAsPerson("main", (clone) => clone.write("another.md", "x\n"));
  expect((await proposeFromClone(formatDenies("a.example"))).update).toEqual({ state: "current" });
  expect((await proposeFromClone(formatDenies("b.example"))).update).toEqual({ state: "pushed" });
  expect(project.commits).toEqual(["Sync phish-feed"]);
});

it("leaves nothing behind when a hook rejects the push", async () => {
  using project = new ProposalProject().installGh();
  project.repository.writeScript(".git/hooks/pre-push", "echo not today >&2; exit 1");
  await expect(project.propose(formatDenies("a.example"))).rejects.toThrow("not today");
  expect(project.repository.git("status", "--porcelain")).toBe("");
  expect(project.repository.git("branch", "--list")).toBe("* main\n");
  expect(project.runRemoteGit("branch", "--list")).toBe("* main");
  expect(project.pulls).toEqual([]);
});

it("rejects a settings file that differs from the base branch", async () => {
  using project = new ProposalProject().installGh();
  const branches = await SourceBranches.fetch(project.repository.path, [FILE]);
  await branches.assertSameAsBase(["settings/acme.yaml", PATH]);
  project.repository.write("settings/acme.yaml", `${DECLARING}# mine\n`);
  await expect(branches.assertSameAsBase(["settings/acme.yaml"])).rejects.toThrow(
    '"settings/acme.yaml" differs from the branch main of the remote origin.',
  );
  await expect(branches.assertSameAsBase(["settings/missing.yaml"])).resolves.toBeUndefined();
});

it("reports that there is no remote", async () => {
  using repository = createSettingsRepository({ "settings.yaml": DECLARING });
  await expect(SourceBranches.fetch(repository.path, [FILE])).rejects.toThrow(
    "Nothing was pushed: this repository has no remote.",
  );
});

it.each([
  ["email-security/sync-feed", "settings/sources/feed.yaml"],
  ["email-security/sync-feed", "sources/feed.yaml"],
  ["email-security/sync-feed-in-infra-my-mail", "infra/my mail/settings/sources/feed.yaml"],
  ["email-security/sync-feed-in-acme", "settings/acme/sources/feed.yaml"],
  ["email-security/sync-feed-in-mail", "mail/sources/feed.yaml"],
])("uses the branch %s for %s", (branch, path) => {
  expect(getSourceBranch({ source: "feed", path })).toBe(branch);
});

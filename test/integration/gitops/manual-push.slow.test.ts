import { execFileSync } from "node:child_process";
import { rmSync, writeFileSync } from "node:fs";
import { expect, it } from "vitest";
import { quoteShellWord } from "../../../provider/model/shell-word";
import { type CliResult, createCli } from "../../support/cli";
import { runEnvironment } from "../../support/run-environment";
import { createSettingsRepository, type SettingsRepository } from "../../support/settings-repository";
import { createTestDirectory, type TestDirectory } from "../../support/test-directory";

const SETTINGS = "version: 1\ndeny:\n  - value: bad.example\n    ticket: INC-1\n";
const ENVIRONMENT = runEnvironment();
const ADD = ["add", "deny", "evil.example", "--ticket=INC-2", "--pr"];
const BRANCH = "email-security/deny-evil.example-inc-2";

/** Adds a bare repository in a directory as a remote of this name. */
function createRemote(repository: SettingsRepository, name: string): TestDirectory {
  const remote = createTestDirectory({});
  repository.git("init", "--quiet", "--bare", remote.path);
  repository.git("remote", "add", "--", name, remote.path);
  return remote;
}

/** Returns the commands that a message shows. */
function extractCommands({ stderr }: CliResult): string[] {
  return [...stderr.matchAll(/`([^`]*)`/g)].map(([, command = ""]) => command);
}

/** Runs a command exactly as printed. */
function runShell(directory: string, command = ""): void {
  execFileSync("sh", ["-c", command], { cwd: directory, stdio: "pipe" });
}

function listRemoteBranches(remote: TestDirectory): string {
  return execFileSync("git", ["--git-dir", remote.path, "for-each-ref", "--format=%(refname:short)"], {
    encoding: "utf8",
  });
}

function getUpstream(repository: SettingsRepository): string {
  return repository.git("rev-parse", "--abbrev-ref", "@{upstream}").trim();
}

it.each([
  ["a pre-push hook", ".git/hooks/pre-push"],
  ["the remote", "hooks/pre-receive"],
])("shows a push command that works once %s accepts the push", async (_label, hook) => {
  using repository = createSettingsRepository({ "settings.yaml": SETTINGS });
  using remote = createRemote(repository, "origin");
  const program = hook.startsWith(".git") ? repository.at(hook) : remote.at(hook);
  writeFileSync(program, "#!/bin/sh\necho not today >&2\nexit 1\n", { mode: 0o755 });
  const run = await createCli(repository.path, ENVIRONMENT)(...ADD);
  const command = `git push --set-upstream origin ${BRANCH}`;
  expect(run.stderr).toContain(
    `error: The commit is on the branch ${BRANCH}. It could not be pushed, for the reason below. To push it, run \`${command}\`, and open it for review. [ERR_GIT]\n`,
  );
  expect(run.stderr).toContain("not today\n");
  expect(run.code).toBe(1);
  expect(() => runShell(repository.path, command)).toThrow();
  rmSync(program);

  const again = await createCli(repository.path, ENVIRONMENT)(...ADD);
  expect(extractCommands(again)).toEqual([command]);
  runShell(repository.path, command);
  expect(listRemoteBranches(remote)).toBe(`${BRANCH}\n`);
  expect(getUpstream(repository)).toBe(`origin/${BRANCH}`);
});

it("shows commands to add a missing remote and push", async () => {
  using repository = createSettingsRepository({ "settings.yaml": SETTINGS });
  using remote = createTestDirectory({});
  repository.git("init", "--quiet", "--bare", remote.path);
  const email = createCli(repository.path, ENVIRONMENT);
  const run = await email(...ADD);
  expect(run.stderr).toContain("It was not pushed: this repository has no remote. Add one with ");
  const commands = extractCommands(run);
  const again = await email(...ADD);
  expect(again.stderr).toContain(
    `The branch ${BRANCH} has not been pushed, because this repository has no remote. Add one`,
  );
  expect(extractCommands(again)).toEqual(commands);
  for (const command of commands) runShell(repository.path, command.replace("URL", quoteShellWord(remote.path)));
  expect(listRemoteBranches(remote)).toBe(`${BRANCH}\n`);
});

it("shows a shell-quoted push command for each remote", async () => {
  using repository = createSettingsRepository({ "settings.yaml": SETTINGS });
  using directory = createRemote(repository, "back'up$(id)");
  using other = createRemote(repository, "mirror");
  const run = await createCli(repository.path, ENVIRONMENT)(...ADD);
  expect(run.stderr).toContain("this repository has several remotes, none of them named origin. Choose one");
  const commands = extractCommands(run);
  expect(commands).toHaveLength(2);
  for (const [index, remote] of [directory, other].entries()) {
    runShell(repository.path, commands[index]);
    expect(listRemoteBranches(remote)).toBe(`${BRANCH}\n`);
  }
});

it("pushes to the upstream remote of an oddly named branch", async () => {
  using repository = createSettingsRepository({ "settings.yaml": SETTINGS });
  using _origin = createRemote(repository, "origin");
  using fork = createRemote(repository, "fork");
  const odd = "it's-$(id);#1";
  repository.git("switch", "--quiet", "--create", odd);
  // A tag of the same name makes the branch's short name ambiguous.
  repository.git("tag", odd);
  repository.git("push", "--quiet", "--set-upstream", "fork", `refs/heads/${odd}`);
  const run = await createCli(repository.path, ENVIRONMENT)(...ADD);
  expect(run.stderr).toContain("\nPushed to fork.\n");
  expect(listRemoteBranches(fork)).toContain(`${BRANCH}\n`);
  runShell(repository.path, extractCommands(run)[0]);
  expect(repository.git("symbolic-ref", "HEAD")).toBe(`refs/heads/${odd}\n`);
});

it("shows push commands that work from outside the repository", async () => {
  using repository = createSettingsRepository({ "settings.yaml": SETTINGS });
  using remote = createRemote(repository, "origin");
  const odd = "email-security/it's-$(id)";
  repository.git("switch", "--quiet", "--create", odd);
  repository.git("commit", "--quiet", "--allow-empty", "--message=mine");
  using outside = createTestDirectory({});
  const run = await createCli(
    outside.path,
    ENVIRONMENT,
  )(...["add", "deny", "bad.example", "--ticket=INC-1", "--pr", "--file", repository.at("settings.yaml")]);
  const [command] = extractCommands(run);
  expect(command).toMatch(/^git -C \S+ push --set-upstream origin /);
  runShell(outside.path, command);
  expect(listRemoteBranches(remote)).toBe(`${odd}\n`);
});

it("shows how to rename a branch whose name the remote already has", async () => {
  using repository = createSettingsRepository({ "settings.yaml": SETTINGS });
  using remote = createRemote(repository, "origin");
  repository.git("push", "--quiet", "origin", `main:${BRANCH}`, "main");
  // After the last fetch, another clone creates its own branch of this name.
  using other = createTestDirectory({});
  repository.git("clone", "--quiet", "--branch", BRANCH, remote.path, other.at("clone"));
  const commit = ["-c", "user.name=Lee", "-c", "user.email=lee@acme.example", "commit", "--quiet"];
  repository.git("-C", other.at("clone"), ...commit, "--allow-empty", "--message=theirs");
  repository.git("-C", other.at("clone"), "push", "--quiet");
  repository.git("update-ref", "-d", `refs/remotes/origin/${BRANCH}`);

  const email = createCli(repository.path, ENVIRONMENT);
  const run = await email(...ADD);
  expect(run.stderr).toContain("origin has another branch of this name. Rename yours with `git branch --move ");
  const commands = extractCommands(run);
  expect(extractCommands(await email(...ADD))).toEqual(commands);
  for (const command of commands) runShell(repository.path, command);
  expect(listRemoteBranches(remote)).toBe(`${BRANCH}\n${BRANCH}-2\nmain\n`);
  expect(getUpstream(repository)).toBe(`origin/${BRANCH}-2`);
  expect((await email(...ADD)).code).toBe(0);
});

it("pushes from a detached HEAD in a linked worktree", async () => {
  using repository = createSettingsRepository({ "mail/settings.yaml": SETTINGS });
  using remote = createRemote(repository, "origin");
  using parent = createTestDirectory({});
  const worktree = parent.at("work tree");
  repository.git("worktree", "add", "--quiet", "--detach", worktree);
  const run = await createCli(parent.at("work tree/mail"), ENVIRONMENT)(...ADD);
  expect(run.stderr).toContain("which is now checked out.\nPushed to origin.\n");
  expect(listRemoteBranches(remote)).toBe(`${BRANCH}\n`);
});

import { spawn } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { delimiter } from "node:path";
import { expect, it, vi } from "vitest";
import { createCli } from "../../support/cli";
import { COMMAND } from "../../support/command-process";
import { findTerminalCommands } from "../../support/hostile-text";
import { runEnvironment } from "../../support/run-environment";
import { addRemote, createSettingsRepository, type SettingsRepository } from "../../support/settings-repository";
import { unwrapError } from "../../support/unwrap-error";

const SETTINGS = "version: 1\ndeny:\n  - value: bad.example\n    ticket: INC-1\n";

function buildEnvironment(repository: SettingsRepository): NodeJS.ProcessEnv {
  return {
    ...runEnvironment(),
    PATH: `${repository.at("bin")}${delimiter}${process.env["PATH"]}`,
    EMAIL_SECURITY_API_KEY: "canary-key",
  };
}

/** A script that records its arguments, environment and standard input, as a stand-in for a code host's CLI. */
const RECORDING = 'printf "%s\\n" "$@" > "$0.args"; env > "$0.env"; cat > "$0.input"';

const ADD_COMMAND = ["add", "deny", "evil.example", "--for", "2099-12-31", "--ticket", "INC-1042", "--offline", "--pr"];

it("opens a pull request with gh without exposing the API key", async () => {
  using repository = createSettingsRepository({ "settings.yaml": SETTINGS, ".gitignore": "bin\n" });
  using remote = addRemote(repository, "git@github.com:acme/settings.git");
  const gh = repository.writeScript("bin/gh", `${RECORDING}; echo https://github.com/acme/settings/pull/7`);
  const run = await createCli(repository.path, buildEnvironment(repository))(...ADD_COMMAND);
  expect(run.stderr).toMatch(
    /^Committed settings\.yaml as \w+ on the new branch (\S+), which is now checked out; .*\nPushed to origin\.\nOpened https:\/\/github\.com\/acme\/settings\/pull\/7\n$/,
  );
  expect(run.code).toBe(0);
  const branch = "email-security/deny-evil.example-inc-1042";
  expect(readFileSync(`${gh}.args`, "utf8")).toBe(
    `pr\ncreate\n--head=${branch}\n--title=Deny evil.example until 2099-12-31 (INC-1042)\n--body-file=-\n`,
  );
  expect(readFileSync(`${gh}.input`, "utf8")).toBe("Ticket: INC-1042");
  expect(readFileSync(`${gh}.env`, "utf8")).not.toContain("canary-key");
  expect(repository.git("--git-dir", remote.path, "branch", "--list").trim()).toBe(branch);
  expect(repository.git("status", "--porcelain")).toBe("");
});

it("prints the page to open when gh fails", async () => {
  using repository = createSettingsRepository({ "settings.yaml": SETTINGS, ".gitignore": "bin\n" });
  using _remote = addRemote(repository, "ssh://git@github.com:22/acme/settings.git");
  repository.writeScript(
    "bin/gh",
    "printf '\\033[31mnot logged in to https://dana:secret@github.com\\n::error::x\\n' >&2; exit 4",
  );
  const email = createCli(repository.path, buildEnvironment(repository));
  const rejection = await email(...ADD_COMMAND);
  expect(rejection.stderr).toContain(
    "It could not be opened for review from here: \\u{1b}[31mnot logged in to https://github.com\n",
  );
  expect(rejection.stderr).toContain(
    "Open it for review: https://github.com/acme/settings/compare/email-security/deny-evil.example-inc-1042?expand=1\n",
  );
  expect(rejection.output).not.toContain("secret");
  expect(findTerminalCommands(rejection.output)).toEqual([]);
  expect(rejection.code).toBe(2);

  repository.git("remote", "set-url", "origin", "ssh://git@git.acme.example:2222/mail/settings.git");
  const unknown = await email("remove", "bad.example", "--offline", "--pr");
  expect(unknown.stderr).toContain(
    "Open the branch email-security/remove-bad.example for review on the page of your repository, whose host isn't recognized: https://git.acme.example/mail/settings\n",
  );
  expect(unknown.code).toBe(2);
});

it("reports what an earlier run did not commit or push", async () => {
  using repository = createSettingsRepository({ "settings.yaml": SETTINGS, ".gitignore": "bin\n" });
  using _remote = addRemote(repository, "git@github.com:acme/settings.git");
  repository.writeScript("bin/gh", "echo https://github.com/acme/settings/pull/7");
  const email = createCli(repository.path, buildEnvironment(repository));
  const alone = await email(...ADD_COMMAND.slice(0, -1));
  expect([alone.code, alone.stderr]).toEqual([0, "Wrote settings.yaml.\n"]);
  const uncommitted = await email(...ADD_COMMAND);
  expect(uncommitted.stdout).toContain("There is nothing to change.\n");
  expect(uncommitted.stderr).toBe("settings.yaml has uncommitted changes; commit it by hand.\n");
  expect(uncommitted.code).toBe(2);

  repository.git("checkout", "--quiet", "settings.yaml");
  const ssh = repository.git("config", "core.sshCommand").trim();
  repository.git("config", "core.sshCommand", "false");
  expect((await email(...ADD_COMMAND)).stderr).toContain("It could not be pushed");
  const unpushed = await email(...ADD_COMMAND);
  expect(unpushed.stderr).toBe(
    "The branch email-security/deny-evil.example-inc-1042 has not been pushed in its current state. To push it, run `git push --set-upstream origin email-security/deny-evil.example-inc-1042`, and open it for review.\n",
  );
  expect(unpushed.code).toBe(2);

  repository.git("config", "core.sshCommand", ssh);
  repository.git("push", "--quiet", "--set-upstream", "origin", "HEAD");
  const pushed = await email(...ADD_COMMAND);
  expect([pushed.code, pushed.stderr]).toEqual([0, ""]);
});

it("opens a merge request with glab", async () => {
  using repository = createSettingsRepository({ "settings.yaml": SETTINGS, ".gitignore": "bin\n" });
  using _remote = addRemote(repository, "git@gitlab.acme.example:mail/settings.git");
  const glab = repository.writeScript(
    "bin/glab",
    `${RECORDING}; echo https://gitlab.acme.example/mail/settings/-/merge_requests/7`,
  );
  const run = await createCli(repository.path, buildEnvironment(repository))(...ADD_COMMAND);
  expect(run.stderr).toContain("Opened https://gitlab.acme.example/mail/settings/-/merge_requests/7\n");
  expect(run.code).toBe(0);
  expect(readFileSync(`${glab}.args`, "utf8").split("\n")).toEqual([
    "mr",
    "create",
    "--source-branch=email-security/deny-evil.example-inc-1042",
    "--title=Deny evil.example until 2099-12-31 (INC-1042)",
    "--description=Ticket: INC-1042",
    "--yes",
    "",
  ]);
});

it("writes nothing while a merge is in progress", async () => {
  using repository = createSettingsRepository({ "settings.yaml": SETTINGS, "notes.md": "one\n" });
  repository.git("switch", "--quiet", "--create", "other");
  repository.write("notes.md", "two\n");
  repository.git("commit", "--quiet", "--all", "--message=two");
  repository.git("switch", "--quiet", "main");
  repository.write("notes.md", "three\n");
  repository.git("commit", "--quiet", "--all", "--message=three");
  expect(() => repository.git("merge", "other")).toThrow();
  const run = await createCli(repository.path, buildEnvironment(repository))(...ADD_COMMAND.slice(0, -1), "--commit");
  expect(run.stderr).toBe(
    "error: A merge is in progress in this repository. Nothing was written. Finish it first: `git merge --continue` or `git merge --abort`. [ERR_GIT]\n",
  );
  expect(run.code).toBe(1);
  expect(readFileSync(repository.at("settings.yaml"), "utf8")).toBe(SETTINGS);
});

it.each(["the command", "all that it started"])(
  "restores file and branch when %s is interrupted during a commit",
  async (label) => {
    using repository = createSettingsRepository({ "settings.yaml": SETTINGS });
    repository.writeScript(
      ".git/hooks/pre-commit",
      "touch .git/here; n=0; while [ ! -e .git/go ] && [ $n -lt 600 ]; do sleep 0.1; n=$((n + 1)); done",
    );
    const child = spawn(process.execPath, [COMMAND, ...ADD_COMMAND.slice(0, -1), "--commit"], {
      cwd: repository.path,
      env: buildEnvironment(repository),
      detached: true,
    });
    let stderr = "";
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      stderr += text;
    });
    const ended = new Promise<number | null>((done) => child.once("close", done));
    await vi.waitUntil(() => existsSync(repository.at(".git/here")), { timeout: 60_000, interval: 20 });
    expect(readFileSync(repository.at("settings.yaml"), "utf8")).toContain("evil.example");
    process.kill(label === "the command" ? (child.pid ?? 0) : -(child.pid ?? 0), "SIGINT");
    repository.write(".git/go", "");
    expect(await ended).toBe(1);
    expect(unwrapError(stderr)).toContain("files and branch are unchanged");
    expect(readFileSync(repository.at("settings.yaml"), "utf8")).toBe(SETTINGS);
    expect(repository.git("branch")).toBe("* main\n");
    expect(repository.git("status", "--porcelain")).toBe("");
  },
);

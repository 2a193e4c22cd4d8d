import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { createCli } from "../../support/cli";
import { runEnvironment } from "../../support/run-environment";
import { createSettingsRepository, type SettingsRepository } from "../../support/settings-repository";
import { createTestDirectory } from "../../support/test-directory";

const SETTINGS = "version: 1\ndeny:\n  - value: bad.example\n    ticket: INC-1\n";
const FILES = { "settings.yaml": SETTINGS, "notes.md": "one\n", "staged.md": "one\n" };
const ENVIRONMENT = runEnvironment();

const commitDeny = async (repository: SettingsRepository, ...options: string[]) =>
  await createCli(repository.path, ENVIRONMENT)(
    "add",
    "deny",
    "evil.example",
    "--ticket=INC-2",
    "--commit",
    ...options,
  );

/** A formatter's change to the settings file. */
const REFORMAT = 'echo "# formatted" >> settings.yaml';

function expectUnchanged(repository: SettingsRepository): void {
  expect(readFileSync(repository.at("settings.yaml"), "utf8")).toBe(SETTINGS);
  expect(repository.git("branch")).toBe("* main\n");
}

it("commits what a pre-commit hook reformats and stages", async () => {
  using repository = createSettingsRepository(FILES);
  repository.writeScript(".git/hooks/pre-commit", `${REFORMAT}; git add settings.yaml`);
  const run = await commitDeny(repository);
  expect(run.code, run.output).toBe(0);
  expect(repository.git("status", "--porcelain")).toBe("");
  expect(repository.git("show", "HEAD:settings.yaml")).toContain("# formatted\n");
  repository.git("switch", "--quiet", "main");
  expect(repository.git("status", "--porcelain")).toBe("");
});

it("keeps previously staged files when a hook stages others", async () => {
  using repository = createSettingsRepository(FILES);
  repository.write("staged.md", "two\n");
  repository.git("add", "staged.md");
  repository.writeScript(
    ".git/hooks/pre-commit",
    "echo two > notes.md; echo new > 'new file.md'; git add notes.md 'new file.md'",
  );
  const run = await commitDeny(repository);
  expect(run.stderr).toContain("\nA hook added to the commit: new file.md, notes.md.\n");
  expect(run.code).toBe(0);
  expect(repository.git("show", "--format=", "--name-only", "HEAD")).toBe("new file.md\nnotes.md\nsettings.yaml\n");
  expect(repository.git("status", "--porcelain")).toBe("M  staged.md\n");
});

it("reports a change that a hook left unstaged", async () => {
  using repository = createSettingsRepository(FILES);
  repository.writeScript(".git/hooks/pre-commit", REFORMAT);
  const run = await commitDeny(repository);
  expect(run.stderr).toContain("\nA hook changed settings.yaml without staging it: the commit lacks that change.\n");
  expect(repository.git("status", "--porcelain")).toBe(" M settings.yaml\n");
});

it("restores file, index and branch when a pre-commit hook fails", async () => {
  using repository = createSettingsRepository(FILES);
  repository.write("staged.md", "two\n");
  repository.git("add", "staged.md");
  repository.writeScript(".git/hooks/pre-commit", `${REFORMAT}; git add settings.yaml; echo no; exit 1`);
  const run = await commitDeny(repository);
  expect(run.stderr).toBe("error: git could not commit; files and branch are unchanged: [ERR_GIT]\nno\n");
  expectUnchanged(repository);
  expect(repository.git("status", "--porcelain")).toBe("M  staged.md\n");
});

it("returns to the branch when a post-checkout hook fails", async () => {
  using repository = createSettingsRepository(FILES);
  repository.writeScript(".git/hooks/post-checkout", "echo no; exit 1");
  const run = await commitDeny(repository);
  expect(run.stderr).toMatch(
    /^error: The branch email-security\/\S+ can't be created; files and branch are unchanged: \[ERR_GIT\]\nno\n$/,
  );
  expectUnchanged(repository);
  expect(repository.git("status", "--porcelain")).toBe("");
});

it("names the other files that a failing hook changed", async () => {
  using repository = createSettingsRepository(FILES);
  repository.writeScript(
    ".git/hooks/pre-commit",
    "echo two > notes.md; git add notes.md; echo new > new.md; echo no; exit 1",
  );
  const run = await commitDeny(repository);
  expect(run.stderr).toBe(
    "error: git could not commit; files and branch are unchanged, except what a hook changed (notes.md, new.md): [ERR_GIT]\nno\n",
  );
  expectUnchanged(repository);
  expect(repository.git("status", "--porcelain")).toBe(" M notes.md\n?? new.md\n");
});

it("returns to a detached HEAD when a core.hooksPath hook fails", async () => {
  using repository = createSettingsRepository({ ...FILES, "hooks/commit-msg": "" });
  repository.writeScript("hooks/commit-msg", "exit 1");
  repository.git("commit", "--quiet", "--all", "--message=hook");
  repository.git("config", "core.hooksPath", "hooks");
  repository.git("switch", "--quiet", "--detach");
  const head = repository.git("rev-parse", "HEAD");
  const run = await commitDeny(repository);
  expect(run.stderr).toContain("git could not commit; files and branch are unchanged");
  expect(repository.git("rev-parse", "--abbrev-ref", "HEAD")).toBe("HEAD\n");
  expect(repository.git("rev-parse", "HEAD")).toBe(head);
  expect(repository.git("status", "--porcelain")).toBe("");
});

it("restores everything when the commit can't be signed", async () => {
  using repository = createSettingsRepository(FILES);
  const program = repository.writeScript(".git/sign", "exit 1");
  repository.git("config", "commit.gpgSign", "true");
  repository.git("config", "gpg.program", program);
  const rejection = await commitDeny(repository);
  expect(rejection.stderr).toContain("git could not commit; files and branch are unchanged");
  expectUnchanged(repository);

  repository.writeScript(
    ".git/sign",
    'cat > /dev/null; echo "[GNUPG:] SIG_CREATED " >&2; echo "-----BEGIN PGP SIGNATURE-----"',
  );
  repository.writeScript(".git/hooks/pre-commit", `${REFORMAT}; git add settings.yaml`);
  const signed = await commitDeny(repository);
  expect(signed.code, signed.output).toBe(0);
  expect(repository.git("cat-file", "commit", "HEAD")).toContain("gpgsig -----BEGIN PGP SIGNATURE-----");
  expect(repository.git("status", "--porcelain")).toBe("");
});

it("leaves a linked worktree clean when its hook reformats files", async () => {
  using repository = createSettingsRepository({ "mail/settings.yaml": SETTINGS });
  using parent = createTestDirectory({});
  const worktree = parent.at("work tree");
  repository.git("worktree", "add", "--quiet", "-b", "other", worktree);
  repository.writeScript(".git/hooks/pre-commit", "echo '# formatted' >> mail/settings.yaml; git add --all");
  const run = await createCli(parent.at("work tree/mail"), ENVIRONMENT)("add", "deny", "evil.example", "--commit");
  expect(run.stderr).toMatch(/; `git switch other` switches back\.\n$/);
  expect(run.code).toBe(0);
  expect(repository.git("-C", worktree, "status", "--porcelain")).toBe("");
  expect(repository.git("-C", worktree, "show", "HEAD:mail/settings.yaml")).toContain("# formatted");
  expect(repository.git("status", "--porcelain")).toBe("");
});

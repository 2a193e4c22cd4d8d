import { execFileSync } from "node:child_process";
import { expect, it } from "vitest";
import { GIT_ENVIRONMENT } from "../../support/settings-repository";
import { createTestDirectory } from "../../support/test-directory";
import { listUnchangedToolTests, TOOL_TEST_FILES } from "../../support/tool-tests.mts";

const SANDBOX_TESTS = "test/integration/sandbox/**/*.test.ts";

/** Creates a repository with one commit on a branch. */
function createRepository(branch: string) {
  const directory = createTestDirectory({ "provider/sandbox/index.ts": "", "README.md": "" });
  const runGit = (...args: string[]) =>
    execFileSync("git", args, { cwd: directory.path, env: { ...process.env, ...GIT_ENVIRONMENT } });
  runGit("init", "--quiet", `--initial-branch=${branch}`);
  runGit("add", ".");
  runGit("commit", "--quiet", "--message=First");
  return { ...directory, runGit };
}

it("leaves out all tool tests if no tool changed", () => {
  using repository = createRepository("main");
  repository.write("README.md", "New");
  expect(listUnchangedToolTests(["run"], repository.path)).toEqual(TOOL_TEST_FILES);
});

it.each(["provider/sandbox/index.ts", "provider/sandbox/new.ts"])("keeps the sandbox's tests if %s changed", (file) => {
  using repository = createRepository("main");
  repository.write(file, "New");
  expect(listUnchangedToolTests(["run"], repository.path)).toEqual(
    TOOL_TEST_FILES.filter((pattern) => pattern !== SANDBOX_TESTS),
  );
});

it("keeps the sandbox's tests on a branch that changed it", () => {
  using repository = createRepository("main");
  repository.runGit("switch", "--quiet", "--create", "topic");
  repository.write("provider/sandbox/index.ts", "New");
  repository.runGit("commit", "--quiet", "--all", "--message=Second");
  expect(listUnchangedToolTests(["run"], repository.path)).not.toContain(SANDBOX_TESTS);
});

it("leaves out nothing if the command names tests", () => {
  using repository = createRepository("main");
  expect(listUnchangedToolTests(["run", "test/integration/sandbox"], repository.path)).toEqual([]);
});

it("leaves out nothing without a main branch", () => {
  using repository = createRepository("topic");
  expect(listUnchangedToolTests(["run"], repository.path)).toEqual([]);
});

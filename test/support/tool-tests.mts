import { spawnSync } from "node:child_process";

/** Tests of the repository's own tools and of the sandbox, with the paths that their results depend on. */
const TOOL_TESTS: readonly { readonly directory: string; readonly sources: readonly string[] }[] = [
  { directory: "test/integration/engine-setup", sources: ["provider/engine", "provider/package.json", "scripts"] },
  { directory: "test/integration/release", sources: [".ci", ".github", "provider/package.json", "scripts", "sdk"] },
  { directory: "test/integration/sandbox", sources: ["provider/model", "provider/sandbox"] },
];

/** The patterns of all of these tests. */
export const TOOL_TEST_FILES = TOOL_TESTS.map(({ directory }) => `${directory}/**/*.test.ts`);

/** Paths that all tests depend on. */
const SHARED = ["package-lock.json", "test/support", "vitest.config.mts"];

/**
 * Returns the patterns of tool tests that `npm test` leaves out, because nothing that they depend on differs from the
 * last commit that main and this branch share. Leaves out nothing if the command names test files, or if git can't tell.
 */
export function listUnchangedToolTests(args: readonly string[], repository = "."): string[] {
  const runGit = (...gitArgs: readonly string[]): string | undefined => {
    const { status, stdout } = spawnSync("git", gitArgs, { cwd: repository, encoding: "utf8" });
    return status === 0 ? stdout : undefined;
  };
  if (args.some((argument) => !argument.startsWith("-") && argument.includes("test/"))) return [];
  const base = runGit("merge-base", "HEAD", "main") ?? runGit("merge-base", "HEAD", "origin/main");
  if (base === undefined) return [];
  const isUnchanged = (paths: readonly string[]): boolean =>
    runGit("diff", "--name-only", base.trim(), "--", ...paths) === "" &&
    runGit("ls-files", "--others", "--exclude-standard", "--", ...paths) === "";
  return TOOL_TESTS.filter(({ directory, sources }) => isUnchanged([directory, ...sources, ...SHARED])).map(
    ({ directory }) => `${directory}/**/*.test.ts`,
  );
}

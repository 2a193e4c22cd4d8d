import { availableParallelism } from "node:os";
import { defineConfig, type TestProjectInlineConfiguration } from "vitest/config";
import { listUnchangedToolTests, TOOL_TEST_FILES } from "./test/support/tool-tests.mts";

/** Tests of both providers: run over the native plugin, and over Pulumi's host of dynamic resources. */
const CONFORMANCE = [
  "integration/resources/**/*",
  "integration/faults/resources",
  "integration/hostile-responses/resources",
  "integration/secrets/hostile-text",
];

/** Tests of the native plugin's protocol, and of features that only it has. */
const NATIVE_ONLY = ["integration/plugin/**/*"];

/** Tests of neither provider, or of the internals of the dynamic one. */
const DYNAMIC_ONLY = ["import", "detailed-diff", "calls-during-configuration"].map(
  (name) => `integration/resources/${name}`,
);

/** Conformance tests that `npm test` runs over the dynamic provider, whose process takes four times as long to start. */
const BRIEFLY = ["integration/resources/vip-employee", "integration/resources/duplicate-spellings"];

/** Conformance tests of the client below both providers. Only `npm run test:long` runs them over the dynamic one, in full. */
const LONG_ONLY = ["integration/faults/resources"];

/** Tests with properties: `npm test` runs a quarter of the cases, and `npm run test:all` runs all of them. */
const PROPERTIES = {
  unit: ["unit/**/*.properties"],
  integration: ["integration/models/random-sequences", "integration/gitops/plan-accuracy"],
};

/** Files that a run leaves out, with spaces between them. */
const EXCLUDED = process.env["TEST_EXCLUDE"]?.split(" ") ?? [];

const QUICK = [".test.ts"];
const SLOW = [".slow.test.ts"];

function files(places: readonly string[], endings: readonly string[]): string[] {
  return places.flatMap((place) => endings.map((ending) => `test/${place}${ending}`));
}

/**
 * A test's name says when it runs: `x.test.ts` in `npm test`, and `x.slow.test.ts` in `npm run test:all` (`--mode all`),
 * which also runs all cases of properties, the tests of unchanged tools, the other conformance tests over the dynamic
 * provider, and all of them over a plugin that each run loads again. `npm run test:long` (`--mode long`) runs shards of both.
 */
export default defineConfig(({ mode }) => {
  const endings = { all: SLOW, long: [...QUICK, ...SLOW] }[mode] ?? QUICK;
  const isWhole = mode !== "test";
  const toolTests = mode === "all" ? TOOL_TEST_FILES : [];
  const unchangedToolTests = isWhole ? [] : listUnchangedToolTests(process.argv.slice(2));
  const properties = (project: keyof typeof PROPERTIES): string[] =>
    mode === "all" ? files(PROPERTIES[project], QUICK) : [];
  const project = (
    name: string,
    seconds: number,
    { include, exclude = [] }: { readonly include: string[]; readonly exclude?: string[] },
  ): TestProjectInlineConfiguration => ({
    extends: true,
    test: {
      name,
      include,
      exclude: [...exclude, ...(isWhole ? [] : ["**/*.slow.test.ts"]), ...unchangedToolTests, ...EXCLUDED],
      env: {
        // Printed commands must not depend on how the tests were started.
        npm_command: "test",
        ...(name === "native" && { EMAIL_SECURITY_TEST_PROVIDER: "native" }),
        // Otherwise a few processes run the providers one after another: test/support/provider-host.mts.
        ...(isWhole && { EMAIL_SECURITY_TEST_RUNS: "all" }),
        ...(isWhole && { EMAIL_SECURITY_TEST_PROCESSES: mode === "long" ? "own" : "reloaded" }),
      },
      testTimeout: mode === "long" ? 0 : seconds * 1_000,
      hookTimeout: 600_000,
    },
  });
  return {
    test: {
      // Tests put back what they change of their process, so that the next file has what was loaded, and its providers.
      isolate: false,
      // Most tests wait for processes of their own, or for leases and timeouts: three at a time on two cores, where the
      // default is one.
      maxWorkers: Math.max(3, availableParallelism() - 1),
      // On a busy machine, an awaited event may take longer than vitest's default of one second.
      expect: { poll: { timeout: 30_000 } },
      globalSetup: "test/support/compile-cache.ts",
      setupFiles: "test/support/property-seed.ts",
      reporters: ["default", "./test/support/slowest-tests-reporter.ts", "./test/support/stalled-run-reporter.ts"],
      projects: [
        project("unit", 30, { include: [...files(["unit/**/*"], endings), ...properties("unit")] }),
        project("integration", 120, {
          include: [...files(["integration/**/*"], endings), ...properties("integration"), ...toolTests],
          exclude: files([...CONFORMANCE, ...NATIVE_ONLY], [...QUICK, ...SLOW]),
        }),
        project("native", 120, {
          // `npm test` keeps the plugin loaded, so `npm run test:all` runs the same tests with each plugin loaded again.
          include: files([...CONFORMANCE, ...NATIVE_ONLY], isWhole ? [...QUICK, ...SLOW] : QUICK),
          exclude: files(DYNAMIC_ONLY, [...QUICK, ...SLOW]),
        }),
        project("dynamic", 120, {
          include: isWhole ? files(CONFORMANCE, [...QUICK, ...SLOW]) : files([...DYNAMIC_ONLY, ...BRIEFLY], QUICK),
          exclude: mode === "all" ? files([...DYNAMIC_ONLY, ...BRIEFLY, ...LONG_ONLY], QUICK) : [],
        }),
        project("engine", 300, { include: files(["engine/**/*"], endings) }),
        project("docs", 300, { include: files(["docs/**/*", "browser/**/*"], endings) }),
      ],
    },
  };
});

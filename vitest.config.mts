import { availableParallelism } from "node:os";
import { defineConfig, type TestProjectInlineConfiguration } from "vitest/config";

/** What is about every front over the core: run over the native plugin, and over Pulumi's host of dynamic resources. */
const CONFORMANCE = [
  "integration/resources/**/*",
  "integration/faults/resources",
  "integration/hostile/resources",
  "integration/secrets/hostile-text",
];

/** What the native plugin alone can do, and its protocol. */
const NATIVE_ONLY = ["integration/plugin/**/*"];

/** What is about no front, or about how the dynamic one is made. */
const DYNAMIC_ONLY = ["import", "detailed-diff", "concurrent-configuration"].map(
  (name) => `integration/resources/${name}`,
);

/** What of conformance `npm test` runs over the dynamic front, whose process takes four times as long to start. */
const BRIEFLY = ["integration/resources/vip-employee", "integration/resources/duplicate-spellings"];

/** What of conformance is about the client below the fronts: over the dynamic one `npm run test:long` alone has it, whole. */
const LONG_ONLY = ["integration/faults/resources"];

const QUICK = [".test.ts"];
const SLOW = [".slow.test.ts"];

function files(places: readonly string[], endings: readonly string[]): string[] {
  return places.flatMap((place) => endings.map((ending) => `test/${place}${ending}`));
}

/**
 * Which tests run stands in their names: `x.test.ts` in `npm test`; `x.slow.test.ts` in `npm run test:all`, which is
 * `--mode all` and has the rest of conformance over the dynamic front besides; shards of both in `npm run test:long`,
 * which is `--mode long`.
 */
export default defineConfig(({ mode }) => {
  const endings = { all: SLOW, long: [...QUICK, ...SLOW] }[mode] ?? QUICK;
  const isWhole = mode !== "test";
  const project = (
    name: string,
    seconds: number,
    { include, exclude = [] }: { readonly include: string[]; readonly exclude?: string[] },
  ): TestProjectInlineConfiguration => ({
    extends: true,
    test: {
      name,
      include,
      exclude: isWhole ? exclude : [...exclude, "**/*.slow.test.ts"],
      env: {
        // What is told to be typed next does not hang on how the tests were begun.
        npm_command: "test",
        ...(name === "native" && { EMAIL_SECURITY_TEST_FRONT: "native" }),
        // Else providers are run one after the other in a few processes: test/support/provider-host.mts.
        ...(mode === "long" && { EMAIL_SECURITY_TEST_PROCESSES: "own" }),
      },
      testTimeout: mode === "long" ? 0 : seconds * 1_000,
      hookTimeout: 600_000,
    },
  });
  return {
    test: {
      // Tests put back what they change of their process, so that the next file has what was loaded, and its providers.
      isolate: false,
      // Most tests wait for processes of their own: two at a time on two cores, where the default is one. Three are no faster;
      // of the slow ones they are, which wait longer.
      maxWorkers: Math.max(mode === "all" ? 3 : 2, availableParallelism() - 1),
      // What is waited for comes, on a busy machine later than in vitest's own second.
      expect: { poll: { timeout: 30_000 } },
      globalSetup: "test/support/compile-cache.ts",
      setupFiles: "test/support/property-seed.ts",
      reporters: ["default", "./test/support/slowest-tests-reporter.ts"],
      projects: [
        project("unit", 30, { include: files(["unit/**/*"], endings) }),
        project("integration", 120, {
          include: files(["integration/**/*"], endings),
          exclude: files([...CONFORMANCE, ...NATIVE_ONLY], [...QUICK, ...SLOW]),
        }),
        project("native", 120, {
          include: files([...CONFORMANCE, ...NATIVE_ONLY], endings),
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

import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

const getReplacementPath = (file: string): string => fileURLToPath(new URL(file, import.meta.url));

/** The tests that Stryker runs for the current part. */
export default defineConfig({
  resolve: {
    // Stryker mutates sources, so providers must run from them, and not from the built package.
    alias: [
      { find: /^\.\/running-provider$/, replacement: getReplacementPath("../support/in-process-provider.ts") },
      { find: /^\.\/struct\/struct-messages$/, replacement: getReplacementPath("../support/in-process-messages.ts") },
    ],
  },
  define: { PLUGIN_VERSION: JSON.stringify("0.0.0"), PLUGIN_SCHEMA: JSON.stringify("{}") },
  test: {
    include: (process.env["MUTATION_TEST_FILES"] ?? "test/{unit,integration}/**/*.test.ts").split(" "),
    // A mutant in a constant must not stay in a module that a later test file shares.
    isolate: true,
    env: { npm_command: "test", EMAIL_SECURITY_TEST_PROVIDER: "native", EMAIL_SECURITY_TEST_RUNS: "all" },
    expect: { poll: { timeout: 30_000 } },
    setupFiles: "test/support/property-seed.ts",
    testTimeout: 120_000,
    hookTimeout: 120_000,
  },
});

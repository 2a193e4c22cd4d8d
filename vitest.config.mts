import { availableParallelism } from "node:os";
import { defineConfig } from "vitest/config";

/** What is about every front over the core: run with Pulumi's dynamic provider process, and with the native plugin. */
const CONFORMANCE = [
  "test/integration/resources/**/*.test.ts",
  "test/integration/faults/resources.test.ts",
  "test/integration/hostile/resources.test.ts",
  "test/integration/secrets/hostile-text.test.ts",
];

/** What is about no front, or about how the dynamic one is made. */
const DYNAMIC_ONLY = ["import", "detailed-diff", "first-calls"].map(
  (name) => `test/integration/resources/${name}.test.ts`,
);

/** What the native plugin alone can do, and its protocol. */
const NATIVE_ONLY = "test/integration/plugin/**/*.test.ts";

export default defineConfig({
  test: {
    // Most tests wait for processes of their own: two at a time on two cores, where the default is one.
    maxWorkers: Math.max(2, availableParallelism() - 1),
    globalSetup: "test/support/compile-cache.ts",
    projects: [
      { test: { name: "unit", include: ["test/unit/**/*.test.ts"], testTimeout: 30_000 } },
      {
        test: {
          name: "integration",
          include: ["test/integration/**/*.test.ts"],
          exclude: [NATIVE_ONLY],
          testTimeout: 120_000,
        },
      },
      {
        test: {
          name: "native",
          include: [...CONFORMANCE, NATIVE_ONLY],
          exclude: DYNAMIC_ONLY,
          env: { EMAIL_SECURITY_TEST_FRONT: "native" },
          testTimeout: 120_000,
        },
      },
      {
        test: {
          name: "engine",
          include: ["test/engine/**/*.test.ts"],
          testTimeout: 300_000,
          hookTimeout: 600_000,
        },
      },
    ],
  },
});

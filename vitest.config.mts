import { availableParallelism } from "node:os";
import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    // Most tests wait for processes of their own: two at a time on two cores, where the default is one.
    maxWorkers: Math.max(2, availableParallelism() - 1),
    globalSetup: "test/support/compile-cache.ts",
    projects: [
      { test: { name: "unit", include: ["test/unit/**/*.test.ts"], testTimeout: 30_000 } },
      { test: { name: "integration", include: ["test/integration/**/*.test.ts"], testTimeout: 120_000 } },
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

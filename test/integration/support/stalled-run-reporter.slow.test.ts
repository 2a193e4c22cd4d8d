import { execFile } from "node:child_process";
import { symlinkSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { createTestDirectory } from "../../support/test-directory";

const VITEST = join(process.cwd(), "node_modules/vitest/vitest.mjs");
const REPORTER = join(process.cwd(), "test/support/stalled-run-reporter.ts");

const CONFIG = `export default {
  test: { include: ["*.test.mjs"], reporters: [["${REPORTER}", { stalledAfterMs: 3000 }]] },
};
`;

const TESTS = `import { it } from "vitest";

it("passes", () => {});
it("blocks its process", () => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 60_000));
`;

it("names the file of a test that blocks the run", async () => {
  using directory = createTestDirectory({ "vitest.config.mjs": CONFIG, "blocked.test.mjs": TESTS });
  symlinkSync(join(process.cwd(), "node_modules"), directory.at("node_modules"));
  const { code, output } = await new Promise<{ code: unknown; output: string }>((resolve) => {
    execFile(process.execPath, [VITEST, "run"], { cwd: directory.path }, (error, stdout, stderr) =>
      resolve({ code: error?.code ?? 0, output: stdout + stderr }),
    );
  });
  expect(output).toMatch(/The run is stopped, because no test has ended for \d+ .*\n.*blocked\.test\.mjs/);
  expect(code).toBe(1);
});

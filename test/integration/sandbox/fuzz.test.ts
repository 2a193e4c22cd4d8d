import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { startSandbox } from "../../../provider/sandbox";

const run = promisify(execFile);

/**
 * A fuzzer reads the published description and tests all twenty endpoints for about a minute:
 *
 *   SANDBOX_FUZZ=1 npx vitest run test/integration/sandbox/fuzz.test.ts
 *
 * The fuzzer is Schemathesis: from PATH, or installed from PyPI into its own virtual environment.
 */
test.runIf(process.env["SANDBOX_FUZZ"])(
  "returns only documented responses to a fuzzer",
  { timeout: 600_000 },
  async () => {
    const schemathesis = await findSchemathesis();
    await using sandbox = await startSandbox();
    const outcome = await run(
      schemathesis,
      [
        `--config-file=${join(__dirname, "schemathesis.toml")}`,
        "run",
        `${sandbox.url}/openapi.json`,
        "--header=X-Api-Key: sandbox-acme-ci",
        "--max-examples=120",
        "--seed=1",
        "--no-color",
      ],
      // Schemathesis stores what it has learned in its working directory.
      { cwd: tmpdir(), maxBuffer: 2 ** 26 },
    ).catch((error: { stdout?: string; message: string }) => ({
      stdout: error.stdout,
      failure: error.message,
    }));
    console.log(outcome.stdout);
    // All checks are on, except those that its configuration turns off.
    expect(outcome).not.toHaveProperty("failure");
    expect(outcome.stdout).toContain("Tested: 20");
    expect(sandbox.requests.length).toBeGreaterThan(2_000);
    expect(sandbox.requests.filter(({ status }) => status >= 500)).toEqual([]);
  },
);

async function findSchemathesis(): Promise<string> {
  const onPath = await run("schemathesis", ["--version"]).then(
    () => true,
    () => false,
  );
  if (onPath) return "schemathesis";
  const environment = join(tmpdir(), "email-security-schemathesis");
  const installed = join(environment, "bin", "schemathesis");
  if (!existsSync(installed)) {
    await run("python3", ["-m", "venv", environment]);
    await run(join(environment, "bin", "pip"), ["install", "--quiet", "schemathesis>=4,<5"]);
  }
  return installed;
}

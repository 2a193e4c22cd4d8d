import { execFile } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, it } from "vitest";
import { startSandbox } from "../../../provider/sandbox";
import { COMMAND } from "../../support/command-process";
import { runEnvironment } from "../../support/run-environment";
import { tenantWith } from "../../support/scenario-tenant";
import { createTestDirectory } from "../../support/test-directory";

/* Commands that read a fleet show their progress if the service is slow. */

it.each([
  ["fleet", "status"],
  ["find", "evil.example", "--all"],
])("shows the progress of `%s`", async (...args) => {
  await using sandbox = await startSandbox({
    scenario: { name: "fleet", tenants: [tenantWith("acme", [])] },
    intercept: async () => {
      await sleep(2_500);
      return undefined;
    },
  });
  using directory = createTestDirectory({
    "tenants.yaml": `version: 1
project: p
defaults: { baseUrl: "${sandbox.url}", key: { environment: ACME_KEY }, settings: settings/acme.yaml }
tenants: { acme: {} }
`,
    "settings/acme.yaml": "version: 1\n",
  });
  const env = { ...runEnvironment(), ACME_KEY: "sandbox-acme-ci", EMAIL_SECURITY_KEY_VARIABLES: "ACME_KEY" };
  const [stdout, stderr] = await new Promise<[string, string]>((done) => {
    execFile(process.execPath, [COMMAND, ...args], { cwd: directory.path, env }, (_error, ...output) => done(output));
  });
  expect(stderr).toContain("Reading tenants …\n");
  expect(stdout).not.toContain("Reading tenants");
});

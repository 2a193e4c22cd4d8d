import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { startSandbox } from "../../../provider/sandbox";
import { createCli } from "../../support/cli";
import { FakeToolchain } from "../engine-setup/fake-toolchain";

it("changes no tenant when the Pulumi CLI is missing", async () => {
  await using sandbox = await startSandbox({ scenario: "empty" });
  using toolchain = new FakeToolchain();
  toolchain.write("settings/acme.yaml", "version: 1\ndeny: [evil.example]\n");
  toolchain.write(
    "tenants.yaml",
    `version: 1\nproject: p\ndefaults: { baseUrl: "${sandbox.url}", settings: "settings/{name}.yaml", key: { environment: "EMAIL_SECURITY_API_KEY_{NAME}" } }\ntenants: { acme: {} }\n`,
  );
  mkdirSync(join(toolchain.directory, "state"));
  const run = createCli(toolchain.directory, {
    ...toolchain.env,
    EMAIL_SECURITY_API_KEY_ACME: "sandbox-acme-ci",
    PULUMI_BACKEND_URL: `file://${join(toolchain.directory, "state")}`,
    PULUMI_CONFIG_PASSPHRASE: "",
  });
  const { code, stderr } = await run("rollout", "tenants.yaml", "--yes");
  expect(code).toBe(1);
  expect(stderr).toContain("Install Pulumi 3.200.0 or later (https://www.pulumi.com/docs/iac/download-install/)");
  expect(sandbox.requests.filter(({ method }) => method !== "GET")).toEqual([]);
});

import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { startSandbox } from "../../../provider/sandbox";
import { createCli } from "../../support/cli";
import { FakeToolchain, hasShell } from "../engine-setup/fake-toolchain";

describe.skipIf(!hasShell)("a rollout with policy overrides", () => {
  it("shows the overrides before the changes", async () => {
    await using sandbox = await startSandbox({ scenario: "empty" });
    using toolchain = new FakeToolchain();
    toolchain.write(
      "base.yaml",
      "version: 1\npolicy: { maxDays: 30 }\nallowedOverrides: [policy.maxDays]\ndeny: [{ value: bücher.example, comment: INC-1, expires: never }]\n",
    );
    for (const name of ["acme", "globex"]) {
      toolchain.write(`settings/${name}.yaml`, "version: 1\ninclude: [../base.yaml]\npolicy:\n  maxDays: 400\n");
    }
    toolchain.write(
      "tenants.yaml",
      `version: 1\nproject: fleet\ndefaults: { baseUrl: "${sandbox.url}", allowInsecureHttp: true, settings: "settings/{name}.yaml" }\ntenants:\n  acme: { key: { environment: ACME_API_KEY } }\n  globex: { key: { environment: GLOBEX_API_KEY } }\n`,
    );
    mkdirSync(join(toolchain.directory, "state"));
    for (const host of ["pulumi-language-nodejs", "pulumi-resource-pulumi-nodejs"]) toolchain.addProgram(host, "");
    toolchain.addProgram(
      "pulumi",
      `case "$*" in version) echo v3.300.0 ;; *"stack ls"*) echo '[]' ;; *) echo "error: no stack named 'x' found" >&2; exit 255 ;; esac`,
    );
    const run = createCli(toolchain.directory, {
      ...toolchain.env,
      PULUMI_BACKEND_URL: `file://${toolchain.directory}/state`,
      PULUMI_CONFIG_PASSPHRASE: "",
      ACME_API_KEY: "sandbox-acme-ci",
      GLOBEX_API_KEY: "sandbox-globex-ci",
      EMAIL_SECURITY_KEY_VARIABLES: "ACME_API_KEY,GLOBEX_API_KEY",
    });
    const { stdout, output, code } = await run("rollout", "tenants.yaml", "--output", "report.json");
    expect([code, output]).toEqual([2, output]);
    const text = stdout.replace(/\s+/g, " ");
    const [overrideHeading, changes] = ["Overrides of included files ! settings/acme.yaml:4:", "Changes"];
    expect(text).toContain(overrideHeading);
    expect(text.indexOf(overrideHeading)).toBeLessThan(text.indexOf(changes));
    expect(text).toMatch(/`policy\.maxDays` is 400 here.*; also in globex/);
    expect(text).toContain("deny xn--bcher-kva.example (bücher.example) in all 2 tenants");
  });
});

import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { startSandbox } from "../../../provider/sandbox";
import { commandLine } from "../../support/command-line";
import { fakeGo, hasShell, Workshop } from "../engine-setup/workshop";

it.skipIf(!hasShell)(
  "says that it builds the engine, which takes minutes, before the plan is there",
  async () => {
    await using sandbox = await startSandbox({ scenario: "empty" });
    using workshop = new Workshop();
    fakeGo(workshop);
    workshop.write("settings/acme.yaml", "version: 1\ndeny: [evil.example]\n");
    workshop.write(
      "tenants.yaml",
      `version: 1\nproject: p\ndefaults: { baseUrl: "${sandbox.url}", settings: "settings/{name}.yaml", key: { environment: "EMAIL_SECURITY_API_KEY_{NAME}" } }\ntenants: { acme: {} }\n`,
    );
    mkdirSync(join(workshop.folder, "state"));
    const run = commandLine(workshop.folder, {
      ...workshop.env,
      EMAIL_SECURITY_ENGINE: "build",
      EMAIL_SECURITY_API_KEY_ACME: "sandbox-acme-ci",
      PULUMI_BACKEND_URL: `file://${join(workshop.folder, "state")}`,
      PULUMI_CONFIG_PASSPHRASE: "",
    });
    const { stderr } = await run("rollout", "tenants.yaml", "--yes");
    expect(stderr).toMatch(/^Building the Pulumi CLI .* about four minutes/m);
  },
);

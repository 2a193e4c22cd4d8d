import { dirname } from "node:path";
import { expect, it } from "vitest";
import { SettingsClient } from "../../../provider/client";
import { planFiles } from "../../../provider/gitops/plan-tenant";
import type { Plan } from "../../../provider/plan/plan-schema";
import { renderPlanText } from "../../../provider/plan/render/plan-text";
import { startSandbox } from "../../../provider/sandbox";
import { createTestDirectory } from "../../support/test-directory";
import { renderTerminal } from "./terminal-svg";

const NOW = new Date("2026-11-21T09:30:00Z");

const SETTINGS = `version: 1
ownDomains: [acme.example]

vips:
  - { email: lena.hartmann@acme.example, comment: Releases payments }

allow:
  - { value: bulk.example.org, comment: "The supplier's newsletter", ticket: CHG-31 }

deny:
  - { value: acme-login.example, comment: Look-alike of ours, ticket: INC-1042 }
`;

/** Update the picture with `npm test -- test/integration/gitops/plan-image.test.ts -u`. */
it("prints a plan that matches the README picture", async () => {
  await using sandbox = await startSandbox({ scenario: "acme", clock: () => NOW });
  const client = new SettingsClient({ baseUrl: sandbox.url, apiKey: "sandbox-acme-ci" });
  using directory = createTestDirectory({ "settings/acme.yaml": SETTINGS });
  const plan = await planFiles(directory.at("settings/acme.yaml"), {
    client,
    now: () => NOW,
    today: "2026-11-21",
  });
  await client.close();
  // Before the lines are wrapped, because the directory can have any length.
  const relative: Plan = JSON.parse(JSON.stringify(plan).replaceAll(`${dirname(directory.at("settings"))}/`, ""));
  const examplePlan = { ...relative, tenant: { ...plan.tenant, host: "mail-security.example" } };
  const text = renderPlanText(examplePlan, { color: true, width: 92 });
  const [changesText = ""] = text.split(/\n.*Unmanaged/);
  await expect(
    renderTerminal(`$ email-security plan settings/acme.yaml\n\n${changesText}`, "What `email-security plan` prints"),
  ).toMatchFileSnapshot("../../../docs/public/plan.svg");
});

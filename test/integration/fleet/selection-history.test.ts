import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { parseSiteRun } from "../../../provider/fleet/site/data/site-runs";
import { startSandbox } from "../../../provider/sandbox";
import { runCli } from "../../support/cli";
import { buildConsoleEntry, buildTenant } from "../../support/scenario-tenant";
import { createTestDirectory } from "../../support/test-directory";
import { startHook } from "../../support/webhook-receiver";

it("keeps the status of tenants that a run of fleet site doesn't select", async () => {
  const names = ["acme", "globex"];
  const tenants = names.map((name) => buildTenant(name, [buildConsoleEntry("allow", `${name}.example`)]));
  const sandbox = await startSandbox({ scenario: { name: "fleet", tenants } });
  await using hook = await startHook([]);
  using directory = createTestDirectory({
    "tenants.yaml": `version: 1
project: p
defaults: { baseUrl: ${sandbox.url}, key: { environment: "{NAME}_KEY" }, settings: "settings/{name}.yaml" }
tenants: { acme: {}, globex: {} }
`,
    "settings/acme.yaml": "version: 1\n",
    "settings/globex.yaml": "version: 1\n",
  });
  const runFleetSite = async (...args: string[]) =>
    await runCli(directory.path, ["fleet", "site", "site", "--notify", "sent.json", ...args], {
      ACME_KEY: "sandbox-acme-ci",
      GLOBEX_KEY: "sandbox-globex-ci",
      EMAIL_SECURITY_KEY_VARIABLES: "ACME_KEY,GLOBEX_KEY",
      EMAIL_SECURITY_NOTIFY_WEBHOOK: hook.url,
    });
  try {
    for (const args of [[], ["--only", "acme"], []])
      expect(await runFleetSite(...args)).toMatchObject({ code: 0, stderr: "" });
  } finally {
    await sandbox.close();
  }
  expect(hook.received.map(({ body }) => JSON.parse(body) as object)).toMatchObject([
    { kind: "drift", tenants: names },
  ]);
  const paths = readdirSync(directory.path, { recursive: true, encoding: "utf8" });
  const runs = paths
    .filter((path) => path.includes("runs") && path.endsWith(".json"))
    .sort()
    .map((path) => parseSiteRun(readFileSync(join(directory.path, path), "utf8")));
  expect(runs.map((run) => [run?.tenants, run?.unsyncedStacks])).toEqual([
    [2, { unknown: names }],
    [1, { unknown: names }],
    [2, { unknown: names }],
  ]);
});

import { expect, it } from "vitest";
import { findSchema } from "../../../provider/commands/find/find-schema";
import { startSandbox } from "../../../provider/sandbox";
import { type CliResult, runCli } from "../../support/cli";
import { buildConsoleEntry, buildTenant } from "../../support/scenario-tenant";
import { createTestDirectory } from "../../support/test-directory";
import { buildExecutive } from "../../support/two-tenants";

/** Searches the tenants `acme` and `globex`, and returns the outcome and the number of requests for each list. */
async function findInBoth(
  hasEntries: { readonly acme: boolean; readonly globex: boolean },
  acmeKey = "sandbox-acme-ci",
): Promise<{ readonly outcome: CliResult; readonly requests: readonly string[] }> {
  const tenants = (["acme", "globex"] as const).map((name) => ({
    ...buildTenant(name, hasEntries[name] ? [buildConsoleEntry("allow", "evil.example")] : []),
    employees: [buildExecutive(`${name}.example`)],
  }));
  const sandbox = await startSandbox({ scenario: { name: "fleet", tenants } });
  using directory = createTestDirectory({
    "tenants.yaml": `version: 1
project: p
defaults: { baseUrl: ${sandbox.url}, key: { environment: "{NAME}_KEY" }, settings: "settings/{name}.yaml" }
tenants: { acme: {}, globex: {} }
`,
    "settings/acme.yaml": "version: 1\n",
    "settings/globex.yaml": "version: 1\n",
  });
  try {
    const outcome = await runCli(directory.path, ["find", "evil.example", "--all", "--format", "json"], {
      ACME_KEY: acmeKey,
      GLOBEX_KEY: "sandbox-globex-ci",
      EMAIL_SECURITY_KEY_VARIABLES: "ACME_KEY,GLOBEX_KEY",
    });
    return { outcome, requests: sandbox.requests.map(({ path }) => path.replace(/.*\//, "")).sort() };
  } finally {
    await sandbox.close();
  }
}

const listReadErrorCodes = ({ stdout }: CliResult): readonly (readonly string[])[] =>
  findSchema.parse(JSON.parse(stdout)).tenants.map(({ readErrors }) => readErrors.map(({ code }) => code));

it("detects a second key of a tenant that has only VIPs", async () => {
  const { outcome } = await findInBoth({ acme: true, globex: false }, "sandbox-globex-console");
  expect(listReadErrorCodes(outcome)).toEqual([["ERR_SAME_TENANT"], ["ERR_SAME_TENANT"]]);
  expect(outcome.code).toBe(1);
});

it("reads the VIPs only of tenants that their entries don't identify", async () => {
  const { outcome, requests } = await findInBoth({ acme: true, globex: false });
  expect(listReadErrorCodes(outcome)).toEqual([[], []]);
  expect(requests).toEqual([...Array.from({ length: 4 }, () => "allow_deny_entries"), "vip_employees"]);
});

import { existsSync, globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Sandbox, startSandbox } from "../../../provider/sandbox";
import { type CliResult, runCli } from "../../support/cli";
import { buildTenant, buildConsoleEntry as entry } from "../../support/scenario-tenant";
import { createTestDirectory, type TestDirectory } from "../../support/test-directory";
import { buildExecutive } from "../../support/two-tenants";
import { hasShell } from "../engine-setup/fake-toolchain";
import { PlannedFleet } from "./plan-fleet";

/*
 * One tenant's second key is used as another tenant's key: the real command against the sandbox, where each tenant has
 * two keys.
 */

describe.skipIf(!hasShell)("email-security rollout", () => {
  let fleet: PlannedFleet;

  beforeAll(async () => {
    fleet = await PlannedFleet.start();
  });

  afterAll(async () => {
    await fleet?.[Symbol.asyncDispose]();
  });

  const getSecondKey = (name: string): string =>
    fleet.sandbox.tenants.find((tenant) => tenant.name === name)?.apiKeys.console ?? "";

  it.each([
    ["holds an entry", "held"],
    ["holds VIPs alone", "t0"],
  ])("rejects a second key of a tenant that %s before writing", async (_case, tenant) => {
    const { code, stderr } = await fleet.runPlan(["--yes"], { T3_KEY: getSecondKey(tenant) });
    expect(code).toBe(3);
    expect(stderr).toContain("Different keys belong to the same tenant of the service");
    expect(stderr).toContain("[ERR_SAME_TENANT]");
    expect(stderr).toMatch(new RegExp(`"(${tenant}|t3)" \\(tenants\\.yaml:\\d+; [^)]+\\), "(${tenant}|t3)" \\(ten`));
    expect(fleet.sandbox.requests.filter(({ method }) => method !== "GET")).toEqual([]);
  });

  it("plans tenants that hold the same entries, each with its own key", async () => {
    expect(await fleet.runPlan([])).toMatchObject({ code: 2 });
  });
});

describe("commands that read a fleet", () => {
  const EXISTING_ENTRIES = [entry("deny", "evil.example"), entry("allow", "partner.example")];
  let sandbox: Sandbox;
  let directory: TestDirectory;

  beforeAll(async () => {
    sandbox = await startSandbox({
      scenario: {
        name: "fleet",
        tenants: [
          {
            ...buildTenant("acme", [...EXISTING_ENTRIES, entry("allow", "hidden.example")]),
            employees: [buildExecutive("acme.example")],
          },
          { ...buildTenant("globex", EXISTING_ENTRIES), employees: [buildExecutive("globex.example")] },
          { ...buildTenant("hooli", EXISTING_ENTRIES), employees: [buildExecutive("hooli.example")] },
        ],
      },
    });
    directory = createTestDirectory({
      "tenants.yaml": `version: 1
project: p
defaults:
  baseUrl: ${sandbox.url}
  key: { environment: "{NAME}_KEY" }
  settings: settings/{name}.yaml
tenants: { acme: {}, globex: {}, hooli: {} }
`,
      "settings/baseline.yaml": "version: 1\ndeny: [evil.example]\nallow: [partner.example]\n",
      ...Object.fromEntries(
        ["acme", "globex", "hooli"].map((name) => [
          `settings/${name}.yaml`,
          `version: 1\nownDomains: [${name}.example]\ninclude: [baseline.yaml]\n`,
        ]),
      ),
    });
  });

  afterAll(async () => {
    directory[Symbol.dispose]();
    await sandbox.close();
  });

  const runCounted = async (keys: Record<string, string>, ...args: string[]): Promise<CliResult> => {
    sandbox.clearRequests();
    return await runCli(directory.path, args, {
      ACME_KEY: "sandbox-acme-ci",
      GLOBEX_KEY: "sandbox-globex-ci",
      HOOLI_KEY: "sandbox-hooli-ci",
      EMAIL_SECURITY_KEY_VARIABLES: "ACME_KEY,GLOBEX_KEY,HOOLI_KEY",
      ...keys,
    });
  };
  const omitOwnDomains = (): void => {
    for (const name of ["acme", "globex", "hooli"])
      directory.write(`settings/${name}.yaml`, "version: 1\ninclude: [baseline.yaml]\n");
  };
  interface StatusOutput {
    readonly isComplete: boolean;
    readonly tenants: readonly {
      readonly name: string;
      readonly syncStatus: string;
      readonly readErrors: readonly { readonly code: string }[];
      readonly error?: { readonly code: string };
    }[];
  }

  it("reports swapped keys even if both tenants match their files", async () => {
    const swapped = { GLOBEX_KEY: "sandbox-hooli-ci", HOOLI_KEY: "sandbox-globex-ci" };
    const { code, stdout } = await runCounted(swapped, "fleet", "status", "--format", "json");
    const { tenants } = JSON.parse(stdout) as StatusOutput;
    expect([code, tenants.map(({ syncStatus, error }) => [syncStatus, error?.code])]).toEqual([
      1,
      [
        ["unknown", undefined],
        ["wrong-key", "ERR_OTHER_TENANT"],
        ["wrong-key", "ERR_OTHER_TENANT"],
      ],
    ]);
  });

  it.each([
    ["another one of the same tenant", "sandbox-globex-console"],
    ["that of the other tenant", "sandbox-globex-ci"],
  ])("reports only the key that contradicts own domains as wrong: %s", async (_label, key) => {
    const { stdout } = await runCounted({ ACME_KEY: key }, "fleet", "status", "--format", "json");
    const { tenants } = JSON.parse(stdout) as StatusOutput;
    expect(tenants.map(({ syncStatus }) => syncStatus)).toEqual(["wrong-key", "in-sync", "in-sync"]);
  });

  it("reports a second key of another tenant without extra requests", async () => {
    omitOwnDomains();
    expect(await runCounted({}, "fleet", "status", "--except", "acme")).toMatchObject({ code: 0 });
    const listRequests = (): string[] => sandbox.requests.map(({ path, query }) => `${path} ${query}`).sort();
    const plain = listRequests();
    const outcome = await runCounted(
      { GLOBEX_KEY: "sandbox-hooli-console" },
      "fleet",
      "status",
      "--except",
      "acme",
      "--format",
      "json",
    );
    expect(outcome.code).toBe(1);
    const { tenants } = JSON.parse(outcome.stdout) as StatusOutput;
    expect(tenants.map(({ syncStatus, error }) => [syncStatus, error?.code])).toEqual([
      ["wrong-key", "ERR_SAME_TENANT"],
      ["wrong-key", "ERR_SAME_TENANT"],
    ]);
    expect(listRequests()).toEqual(plain);
  });

  it("reports an incomplete search when a key belongs to another tenant", async () => {
    omitOwnDomains();
    const wrong = { ACME_KEY: "sandbox-globex-console" };
    const outcome = await runCounted(wrong, "find", "hidden.example", "--all", "--format", "json");
    const { tenants, isComplete } = JSON.parse(outcome.stdout) as StatusOutput;
    expect([outcome.code, isComplete]).toEqual([1, false]);
    expect(tenants.map(({ readErrors }) => readErrors.map(({ code }) => code))).toEqual([
      ["ERR_SAME_TENANT"],
      ["ERR_SAME_TENANT"],
      [],
    ]);
  });

  it("leaves another tenant's data out of the site", async () => {
    omitOwnDomains();
    const outcome = await runCounted({ GLOBEX_KEY: "sandbox-acme-console" }, "fleet", "site", "out");
    expect(outcome).toMatchObject({ code: 1 });
    expect(existsSync(directory.at("out/index.html"))).toBe(true);
    const page = readFileSync(directory.at("out/tenants/globex.html"), "utf8");
    expect(page).toContain("Different keys belong to the same tenant");
    const files = globSync("out/**/*.{html,js,json}", { cwd: directory.path });
    const texts = files.map((file) => readFileSync(join(directory.path, file), "utf8"));
    expect(texts.join("\n")).not.toContain("hidden.example");
  });
});

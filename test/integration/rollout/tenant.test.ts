import { existsSync, readFileSync } from "node:fs";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type Sandbox, startSandbox } from "../../../provider/sandbox";
import { readSettings } from "../../../provider/settings-files/read-settings";
import { type CliResult, runCli } from "../../support/cli";
import { buildTenant, buildConsoleEntry as entry } from "../../support/scenario-tenant";
import { createTestDirectory, type TestDirectory } from "../../support/test-directory";

/* `tenant add` and `tenant remove`, through the real command, over the sandbox. */

const HOSTILE = "By hand\u001b[2J\n::error::x";

const TENANTS = `# Our tenants.
version: 1
project: p
defaults:
  baseUrl: URL
  key: { environment: "{NAME}_KEY" }
  settings: settings/{name}.yaml   # one each

tenants:
  # The first one.
  acme: { labels: { ring: canary } }
  globex:

waves:
  - { name: canary, match: { ring: canary }, gate: true }
  - { name: all }
`;

const BASELINE = `version: 1
deny:
  - { value: evil.example, comment: Phishing }
  - { value: other.example, comment: ours }
  - partner.example
  - missing.example
`;

let sandbox: Sandbox;
let directory: TestDirectory;

beforeAll(async () => {
  sandbox = await startSandbox({
    scenario: {
      name: "coming",
      tenants: [
        buildTenant("acme", []),
        {
          ...buildTenant("hooli", [
            entry("deny", "evil.example", "Phishing"),
            entry("deny", "other.example", "theirs"),
            entry("allow", "partner.example"),
            entry("allow", "gmail.com", HOSTILE),
            entry("deny", "own-hooli.example", "x: y # z"),
          ]),
          employees: [{ email: "ceo@hooli.example", fullName: "C. E. O.", jobTitle: "Boss", department: "Board" }],
          manualVips: [{ email: "ceo@hooli.example", comment: "", addedBy: "Dana", dateAdded: "2026-01-01T00:00:00Z" }],
        },
      ],
    },
  });
  directory = createTestDirectory({
    "tenants.yaml": TENANTS.replace("URL", sandbox.url),
    "settings/baseline.yaml": BASELINE,
    "settings/acme.yaml": "version: 1\ninclude: [baseline.yaml]\nownDomains: [acme.example]\n",
    "settings/globex.yaml": "version: 1\ninclude: [baseline.yaml]\n",
  });
});

afterAll(async () => {
  directory[Symbol.dispose]();
  await sandbox.close();
});

const getServiceKey = (name: string): string =>
  sandbox.tenants.find((tenant) => tenant.name === name)?.apiKeys.ci ?? "";

const runTenant = async (...args: string[]): Promise<CliResult> =>
  await runCli(directory.path, ["tenant", ...args], {
    HOOLI_KEY: getServiceKey("hooli"),
    DUPLICATE_KEY: getServiceKey("hooli"),
    ACME_KEY: getServiceKey("acme"),
    NEWER_KEY: getServiceKey("acme"),
    EMAIL_SECURITY_KEY_VARIABLES: "HOOLI_KEY,DUPLICATE_KEY,ACME_KEY,NEWER_KEY",
  });

const readText = (file: string): string => readFileSync(directory.at(file), "utf8");

it("declares only what the baseline lacks when adding a tenant", async () => {
  const before = readText("tenants.yaml");
  const added = await runTenant("add", "hooli", "--wave", "canary");
  expect(added.stdout).toBe(
    `settings/hooli.yaml declares the content of hooli: 4 allow/deny entries and 1
  VIP, in addition to 1 that settings/baseline.yaml declares. Its wave is
  canary.
Its own domains seem to be hooli.example: check them, because they reveal a
  key of another tenant.
1 of them is risky, and marked for review: search the file for acceptRisk.
settings/baseline.yaml:5 has partner.example under deny, but it stays on the
  other list here: check whether that is intended.
1 with a different comment than in settings/baseline.yaml keep their own.
A first rollout, if there is no stack yet, would add 1 entry or VIP of
  settings/baseline.yaml:
  + deny missing.example (settings/baseline.yaml:6)
--- a/tenants.yaml
+++ b/tenants.yaml
@@ -9,8 +9,10 @@
 tenants:
   # The first one.
   acme: { labels: { ring: canary } }
   globex:
+  hooli:
+    labels: { ring: canary }
 
 waves:
   - { name: canary, match: { ring: canary }, gate: true }
   - { name: all }
Next: email-security rollout tenants.yaml --only hooli
`,
  );
  expect(added.code).toBe(2);
  expect(added.stderr).toBe("Wrote settings/hooli.yaml, tenants.yaml.\n");
  // ⌈N/200⌉ requests for each list and for the VIPs, and no others.
  const requests = sandbox.requests.map(({ method, path }) => `${method} ${path.replace(/\?.*/, "")}`);
  expect(requests.sort()).toEqual([
    "GET /api/v1/settings/allow_deny_entries",
    "GET /api/v1/settings/allow_deny_entries",
    "GET /api/v1/settings/vip_employees",
  ]);
  expect(readText("tenants.yaml")).toBe(
    before.replace("  globex:\n", "  globex:\n  hooli:\n    labels: { ring: canary }\n"),
  );
  const text = readText("settings/hooli.yaml");
  expect(text).not.toContain("\u001b");
  expect(added.stdout + added.stderr + text).not.toContain(getServiceKey("hooli"));
  const settings = readSettings(directory.at("settings/hooli.yaml"), { ownDomains: [] });
  expect(settings.entries.map(({ list, value, comment }) => [list, value, comment]).sort()).toEqual([
    ["allow", "gmail.com", expect.any(String)],
    ["allow", "partner.example", undefined],
    ["deny", "evil.example", "Phishing"],
    ["deny", "missing.example", undefined],
    ["deny", "other.example", "theirs"],
    ["deny", "own-hooli.example", "x: y # z"],
  ]);
  expect(text).not.toContain("evil.example");

  // No file is overwritten, and no tenant is added twice.
  const twice = await runTenant("add", "hooli");
  expect([twice.code, twice.stderr]).toEqual([
    1,
    expect.stringMatching(/already has the tenant "hooli", at line 13\. Nothing was written/),
  ]);
  const sameKey = await runTenant("add", "duplicate");
  expect([sameKey.code, sameKey.stderr]).toEqual([1, expect.stringMatching(/ERR_ROLLOUT_SAME_KEY/)]);

  // A missing journal can't say which rollouts are open.
  const mistyped = await runTenant("remove", "hooli", "--database", "typo.db");
  expect([mistyped.code, mistyped.stderr]).toEqual([
    1,
    expect.stringMatching(/^error: There is no rollout journal at "typo\.db", and none was created/),
  ]);
  expect(existsSync(directory.at("typo.db"))).toBe(false);
  const removed = await runTenant("remove", "hooli");
  expect(removed.code).toBe(0);
  expect(removed.stdout).toContain("settings/hooli.yaml is kept: its content isn't committed in git");
  expect(readText("tenants.yaml")).toBe(before);
  const there = await runTenant("add", "hooli");
  expect([there.code, there.stderr]).toEqual([
    1,
    expect.stringMatching(/"settings\/hooli\.yaml" already exists\. Nothing was written/),
  ]);
  expect(existsSync(directory.at("settings/duplicate.yaml"))).toBe(false);
  expect(readText("settings/hooli.yaml")).toBe(text);
});

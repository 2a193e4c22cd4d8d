import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type Sandbox, startSandbox } from "../../../provider/sandbox";
import { type CliResult, createCli } from "../../support/cli";
import { buildTenant, buildConsoleEntry as entry } from "../../support/scenario-tenant";
import { createTestDirectory, type TestDirectory } from "../../support/test-directory";

/* `email-security drift` through the real command, for a tenant with far more drift than anybody would read. */

const LONG = "c".repeat(200);
const ADDED = Array.from({ length: 600 }, (_, index) => entry("deny", `added-${index}.example`, LONG));

let sandbox: Sandbox;
let directory: TestDirectory;

beforeAll(async () => {
  sandbox = await startSandbox({
    scenario: {
      name: "long",
      tenants: [
        buildTenant("acme", [...ADDED, entry("allow", "turned.example", "Phishing"), entry("deny", "kept.example")]),
        buildTenant("globex", [
          ...Array.from({ length: 60 }, (_, index) => entry("deny", `a${index}.globex.example`)),
          entry("allow", "zz.globex.example"),
        ]),
      ],
    },
  });
  directory = createTestDirectory({
    "settings/acme.yaml":
      "version: 1\ndeny:\n  - { value: turned.example, comment: Phishing }\n  - gone.example\n  - kept.example\n",
    "settings/globex.yaml": "version: 1\nownDomains: [globex.example]\ndeny: []\n",
  });
});

afterAll(async () => {
  directory[Symbol.dispose]();
  await sandbox.close();
});

async function runDrift(tenant: string, ...args: string[]): Promise<CliResult> {
  return await createCli(directory.path, {
    ...process.env,
    EMAIL_SECURITY_BASE_URL: sandbox.url,
    EMAIL_SECURITY_API_KEY: sandbox.tenants.find(({ name }) => name === tenant)?.apiKeys.ci,
  })("drift", `settings/${tenant}.yaml`, ...args);
}

it("shows all drift on a terminal, dangerous drift first", async () => {
  const { code, stdout } = await runDrift("acme");
  expect(code).toBe(2);
  const lines = stdout.split("\n");
  expect(lines.filter((line) => /^ {2}(?:allow|deny) /.test(line)).slice(0, 3)).toEqual([
    "  allow turned.example",
    "  deny gone.example",
    expect.stringMatching(/^ {2}deny added-/),
  ]);
  expect(lines).toContain("      list      deny → allow");
  expect(stdout.match(/deny added-\d+\.example/g)).toHaveLength(600);
  expect(stdout).not.toContain("more");
});

it("shows dangerous drift first in an issue", async () => {
  await runDrift("acme", "--output", "drift.md");
  const markdown = readFileSync(join(directory.path, "drift.md"), "utf8");
  expect(Buffer.byteLength(markdown)).toBeLessThan(65_536);
  const items = markdown.split("\n").filter((line) => line.startsWith("- `"));
  expect(items.slice(0, 2)).toEqual(["- `allow turned.example`", "- `deny gone.example`"]);
  expect(markdown).toContain("  - list: `deny → allow`");
  expect(markdown).toContain("  - declared: `settings/acme.yaml:4`");
  const remainingCount = 602 - items.length;
  expect(remainingCount).toBeGreaterThan(100);
  expect(markdown).toContain(
    `- … and ${remainingCount} more, none of them a new allow, a removed deny or a removed VIP; \`email-security drift\` shows all of them`,
  );
});

it("lists dangerous drift first among what it doesn't adopt", async () => {
  const { stderr } = await runDrift("globex", "--adopt", "added", "--dry-run");
  const lines = stderr
    .replaceAll(/\n {2}(?=\S)/g, " ")
    .split("\n")
    .filter((line) => /^Not adopted|^…/.test(line));
  expect(lines).toHaveLength(51);
  expect(lines[0]).toMatch(/^Not adopted: allow zz\.globex\.example: /);
  expect(lines[50]).toBe(
    "… and 11 more, none of them a new allow, a removed deny or a removed VIP; `email-security drift` shows all of them.",
  );
});

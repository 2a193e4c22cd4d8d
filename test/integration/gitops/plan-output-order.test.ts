import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type Sandbox, startSandbox } from "../../../provider/sandbox";
import { type CliResult, createCli } from "../../support/cli";
import { buildTenant, buildConsoleEntry as entry } from "../../support/scenario-tenant";
import { createTestDirectory, type TestDirectory } from "../../support/test-directory";

/* Output of the built `email-security plan` for a very long plan. */

const repeatNumbered = <T>(count: number, make: (index: number) => T): T[] =>
  Array.from({ length: count }, (_, index) => make(index));

let sandbox: Sandbox;
let directory: TestDirectory;

beforeAll(async () => {
  sandbox = await startSandbox({
    scenario: {
      name: "long",
      tenants: [
        buildTenant("acme", [
          ...repeatNumbered(400, (index) => entry("allow", `a${index}.example`)),
          entry("deny", "turned.example"),
          ...repeatNumbered(150, (index) => entry("deny", `undeclared-${index}.example`)),
          entry("allow", "zz-undeclared.example"),
        ]),
      ],
    },
  });
  directory = createTestDirectory({
    "settings/acme.yaml": `version: 1
allow:
  - turned.example
  - zz-new.example
${repeatNumbered(400, (index) => `  - { value: a${index}.example, comment: Partner }\n`).join("")}`,
  });
});

afterAll(async () => {
  directory[Symbol.dispose]();
  await sandbox.close();
});

async function runPlan(...args: string[]): Promise<CliResult> {
  return await createCli(directory.path, {
    ...process.env,
    EMAIL_SECURITY_BASE_URL: sandbox.url,
    EMAIL_SECURITY_API_KEY: sandbox.tenants[0]?.apiKeys.ci,
  })("plan", "settings/acme.yaml", "--no-evidence", ...args);
}

it("shows dangerous changes first on a terminal", async () => {
  const { stdout } = await runPlan();
  const changes = stdout.split("\n").filter((line) => /^ {2}[+~-] /.test(line));
  expect(changes).toHaveLength(100);
  expect(changes.slice(0, 2)).toEqual([
    "  ~ change deny → allow turned.example (domain)",
    "  + add allow zz-new.example (domain)",
  ]);
  expect(stdout).toContain(
    "  … and 302 more:\n      302 × change allow\n  `email-security plan --all` shows all of them\n",
  );
  const unmanagedLines = stdout.slice(stdout.indexOf("Unmanaged (")).split("\n");
  expect(unmanagedLines[2]).toContain("  allow zz-undeclared.example");
  expect(unmanagedLines.join(" ").replaceAll(/\s+/g, " ")).toContain(
    "… and 131 more, none of them an allow; `email-security plan --all` shows all of them",
  );
  const all = await runPlan("--all");
  expect(all.stdout).not.toContain("… and");
  expect(all.stdout.match(/^ {2}[+~-] /gm)).toHaveLength(402);
});

it("shows dangerous changes first in a pull request comment", async () => {
  await runPlan("--output", "plan.md");
  const markdown = readFileSync(join(directory.path, "plan.md"), "utf8");
  const rows = markdown.split("\n").filter((line) => /^\| `[+~-]`/.test(line));
  expect(rows[0]).toMatch(/^\| `~` change deny → allow<br>`turned\.example`/);
  expect(rows[1]).toMatch(/^\| `\+` add allow<br>`zz-new\.example`/);
  expect(markdown).toMatch(/Unmanaged[^\n]*\n\n- allow `zz-undeclared\.example`/);
});

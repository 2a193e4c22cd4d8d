import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { expect } from "vitest";
import { startSandbox } from "../../provider/sandbox";
import { createCli } from "../support/cli";
import { EngineProject } from "../support/engine-project";

/**
 * Exports a tenant with `count` entries created in the console, and adopts them with one `up`. Nothing is written, and
 * no drift remains.
 */
export async function testExport(count: number): Promise<void> {
  const timestamp = "2025-03-01T09:00:00.000Z";
  const console_ = "Dana Reyes (console)";
  const buildScenarioEntry = (
    list: "allow" | "deny",
    entryType: "domain" | "ip" | "email_address",
    value: string,
    comment = "",
    verdictScope: "global" | "graymail" = "global",
  ) => ({
    list,
    entryType,
    value,
    comment,
    verdictScope,
    createdBy: console_,
    createdAt: timestamp,
  });
  await using sandbox = await startSandbox({
    scenario: {
      name: "clicked",
      tenants: [
        {
          name: "acme",
          keyLabels: { ci: "Pulumi (ci)", console: console_ },
          detectedAt: timestamp,
          employees: [
            {
              email: "ceo@acme.example",
              fullName: "Ruth Castellan",
              jobTitle: "Chief Executive Officer",
              department: "Executive Office",
            },
            { email: null, fullName: "Hiroshi Tanabe", jobTitle: "Board Member", department: "Board" },
            { email: "pay@acme.example", fullName: "Marcus Bell", jobTitle: "Clerk", department: "Finance" },
          ],
          manualVips: [
            {
              email: "pay@acme.example",
              comment: "Pays\nby two lines: \u001b[31mred",
              addedBy: console_,
              dateAdded: timestamp,
            },
          ],
          exclusions: [],
          entries: [
            ...Array.from({ length: count - 9 }, (_, index) =>
              buildScenarioEntry("deny", "domain", `bad-${index}.example`, index % 2 ? "" : `INC-${index}`),
            ),
            buildScenarioEntry("allow", "domain", "gmail.com", "the fair"),
            buildScenarioEntry("allow", "domain", "bücher.example", "no"),
            buildScenarioEntry("allow", "domain", "news.example", "010", "graymail"),
            buildScenarioEntry("deny", "ip", "2001:DB8:0::25", "- {a: b} # x"),
            buildScenarioEntry("deny", "email_address", "Big.Boss@Mail.Example", "'quoted' \"twice\""),
            buildScenarioEntry("deny", "domain", "odd-range.example", "a range that no file can say"),
            buildScenarioEntry("deny", "domain", "odd-pattern.example", "a pattern"),
            buildScenarioEntry("deny", "domain", "odd-scope.example", ""),
            buildScenarioEntry("deny", "domain", "long.example", "x".repeat(5_000)),
          ],
        },
      ],
    },
    // Values that an older console accepted.
    afterHandle: (_request, { body, ...response }) => ({
      ...response,
      body: JSON.parse(
        JSON.stringify(body)
          .replaceAll("odd-range.example", "10.0.0.0/8")
          .replaceAll("odd-pattern.example", "*.wild.example")
          .replaceAll(/("value":"odd-scope\.example","verdict_scope":)"global"/g, '$1"something new"'),
      ) as unknown,
    }),
  });
  const environment = { EMAIL_SECURITY_BASE_URL: sandbox.url, EMAIL_SECURITY_API_KEY: "sandbox-acme-ci" };
  await using project = await EngineProject.create({
    program: `import { TenantSettings } from "pulumi-email-security";
new TenantSettings("acme", { file: "acme/settings.yaml" });`,
    environment,
  });
  const cli = createCli(project.directory, project.environment);
  await mkdir(join(project.directory, "acme"));
  const exported = await cli("export", "--to", "acme");
  expect(exported.output).toContain("10.0.0.0/8");
  expect(exported.code).toBe(0);
  expect((await cli("lint", "acme/settings.yaml")).code).toBe(0);

  sandbox.clearRequests();
  await project.up();
  expect(sandbox.requests.filter(({ method }) => method !== "GET")).toEqual([]);
  const plan = await cli("plan", "acme/settings.yaml", "--stack", "dev", "--no-evidence");
  expect(plan.code).toBe(0);
  const drift = await cli("drift", "acme/settings.yaml", "--stack", "dev");
  expect(drift.output).toContain("No drift");
  expect(drift.code).toBe(0);
}

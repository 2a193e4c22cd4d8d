import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect } from "vitest";
import { type Sandbox, startSandbox } from "../../provider/sandbox";
import { createCli } from "../support/cli";
import { EngineProject, PLUGIN_LINES } from "../support/engine-project";
import { buildLanguageHost, findMissingToolchain, prependToPath } from "../support/language-hosts";
import { buildSandboxEnvironment } from "../support/sandbox-environment";

const AT = "2025-03-01T09:00:00.000Z";
const CONSOLE = "Dana Reyes (console)";
export const RISK = "It existed at the service before the import, and has to be reviewed.";

/** The reason why programs printed by the CLI can't run on this machine, or undefined if they can. */
export const missing = findMissingToolchain("yaml");
/** The same reason, as a suffix for test names. */
export const skipped = missing === undefined ? "" : ` (skipped: ${missing})`;

/** The options of `email-security export` for one resource per entry, and for whole lists. */
export const EACH: readonly string[] = [];
export const WHOLE_LISTS: readonly string[] = ["--whole-lists"];

export function buildConsoleDomain(
  list: "allow" | "deny",
  value: string,
  comment = "",
  verdictScope: "global" | "graymail" = "global",
) {
  return {
    list,
    entryType: "domain" as const,
    value,
    comment,
    verdictScope,
    createdBy: CONSOLE,
    createdAt: AT,
  };
}

/** Starts a sandbox whose tenant has these entries from the console, and one of whose two employees is a manual VIP. */
export async function startClickedSandbox(entries: ReturnType<typeof buildConsoleDomain>[]): Promise<Sandbox> {
  const employee = { department: "Finance", jobTitle: "Clerk" };
  return await startSandbox({
    scenario: {
      name: "clicked",
      tenants: [
        {
          name: "acme",
          keyLabels: { ci: "Pulumi (ci)", console: CONSOLE },
          detectedAt: AT,
          employees: [
            {
              email: "ceo@acme.example",
              fullName: "Ruth Castellan",
              department: "",
              jobTitle: "Chief Executive Officer",
            },
            { email: "pay@acme.example", fullName: "Marcus Bell", ...employee },
          ],
          manualVips: [
            {
              email: "pay@acme.example",
              comment: 'Pays: "all" of \u0024{it}',
              addedBy: CONSOLE,
              dateAdded: AT,
            },
          ],
          exclusions: [],
          entries,
        },
      ],
    },
  });
}

/** Returns the requests since the last call, by what they read or write. */
export function formatRequests(sandbox: Sandbox): string[] {
  const lines = sandbox.requests.map(({ method, path, query }) => {
    const { list = "" } = query as { list?: string };
    return `${method} ${path.split("/").at(-1)} ${list}`.trim();
  });
  sandbox.clearRequests();
  return lines;
}

/**
 * Imports a tenant with `count` deny entries, once with each set of export options. The printed program must change
 * nothing.
 */
export async function testImports(count: number, ways: readonly (readonly string[])[]): Promise<void> {
  await using sandbox = await startClickedSandbox([
    ...Array.from({ length: count }, (_, index) =>
      buildConsoleDomain("deny", `bad-${index}.example`, index % 2 ? "" : `INC-${index}`),
    ),
    buildConsoleDomain("allow", "gmail.com", "the \u0024{fair} - {a: b} # x"),
    buildConsoleDomain("allow", "news.example", "010", "graymail"),
  ]);
  const before = [sandbox.allowDenyEntries("acme"), sandbox.vips("acme")];
  const header = `name: settings\nruntime: yaml\n${PLUGIN_LINES}`;
  for (const wholeLists of ways) {
    const resources = wholeLists.length === 0 ? count + 3 : 2;
    await using project = await EngineProject.create({
      program: "",
      environment: {
        ...buildSandboxEnvironment(sandbox),
        ...prependToPath(await buildLanguageHost("yaml")),
        // Otherwise the engine would write its whole state after each step, which isn't under test here.
        PULUMI_SKIP_CHECKPOINTS: "true",
      },
      files: { "Pulumi.yaml": header },
    });
    const command = createCli(project.directory, project.environment);
    expect(await command("export", "--pulumi-import", "tenant.json", ...wholeLists)).toMatchObject({
      code: 0,
    });
    sandbox.clearRequests();
    const output = await project.runOrThrow(
      "import",
      "--file",
      "tenant.json",
      "--yes",
      "--skip-preview",
      "--out",
      "out.yaml",
    );
    expect(output).toContain(`= ${resources} imported`);
    const pages = Math.ceil(count / 200);
    expect(formatRequests(sandbox).sort()).toEqual([
      "GET allow_deny_entries allow",
      ...Array<string>(pages).fill("GET allow_deny_entries deny"),
      "GET vip_employees",
    ]);
    const program = await readFile(join(project.directory, "out.yaml"), "utf8");
    expect(program).toContain(RISK);
    await project.writeFile("Pulumi.yaml", header + program);
    await project.up("--expect-no-changes");
    expect(formatRequests(sandbox)).toEqual([]);
    expect([sandbox.allowDenyEntries("acme"), sandbox.vips("acme")]).toEqual(before);
  }
}

import { expect } from "vitest";
import type { Sandbox } from "../../provider/sandbox";
import { EngineProject, PLUGIN_LINES } from "../support/engine-project";
import { buildNumberedDenies, formatBadDomain } from "../support/numbered-domains";
import { click } from "../support/tenant-console";
import { extractEntryLines, takeListWrites } from "./native-list";

/** The command from the guides. */
const DIFF = ["preview", "--diff", "--suppress-outputs"] as const;

/** The option is only set in the project; no command passes `--refresh`. */
const LOOKS = "options:\n  refresh: always\n";

type ProviderKind = "dynamic" | "native";

const MODULES: Readonly<Record<ProviderKind, string>> = {
  dynamic: "pulumi-email-security",
  native: "pulumi-email-security/native",
};

/** Creates a project with an exclusive list of `size` entries, whose runs refresh first. */
export async function createExclusiveProject(
  sandbox: Sandbox,
  providerKind: ProviderKind,
  size: number,
): Promise<EngineProject> {
  const project = await EngineProject.create({
    program: `
      import { readFileSync } from "node:fs";
      import { AllowDenyList } from "${MODULES[providerKind]}";
      new AllowDenyList("blocklist", JSON.parse(readFileSync("list.json", "utf8")));
    `,
    environment: { EMAIL_SECURITY_BASE_URL: sandbox.url, EMAIL_SECURITY_API_KEY: "sandbox-acme-ci" },
    files: {
      "Pulumi.yaml": `name: settings\nruntime: nodejs\n${LOOKS}${providerKind === "native" ? PLUGIN_LINES : ""}`,
      "list.json": JSON.stringify({ mode: "exclusive", entries: buildNumberedDenies(size, "deny: INC-1") }),
    },
  });
  await project.up();
  sandbox.clearRequests();
  return project;
}

async function denyFromConsole(sandbox: Sandbox, value: string): Promise<void> {
  await click(sandbox, "POST", "/allow_deny_entries", { list: "deny", entry_type: "domain", value });
}

/** Asserts that a preview shows a colleague's console edits, and that the next `up` reverts them. */
export async function assertShowsAndReverts(sandbox: Sandbox, project: EngineProject, size: number): Promise<void> {
  await denyFromConsole(sandbox, "added.example");
  const [edited] = sandbox.allowDenyEntries("acme").filter(({ value }) => value === formatBadDomain(7));
  await click(sandbox, "PATCH", `/allow_deny_entries/${edited?.id}`, { comment: "Ask Tomas" });
  sandbox.clearRequests();
  const preview = await project.runOrThrow(...DIFF);
  expect(extractEntryLines(preview).sort()).toEqual([
    '- added.example: "(unmanaged) deny"',
    `~ ${formatBadDomain(7)}: "deny: Ask Tomas" => "deny: INC-1"`,
  ]);
  expect(preview.trim().split("\n").length).toBeLessThan(40);
  expect(takeListWrites(sandbox)).toEqual([]);
  await project.up();
  expect(takeListWrites(sandbox)).toEqual(["DELETE", "PATCH"]);
  expect(sandbox.allowDenyEntries("acme")).toHaveLength(size);
}

/** Asserts that both a preview and `up` fail if they would remove too many entries. */
export async function assertRemovalGuardBlocks(sandbox: Sandbox, project: EngineProject, size: number): Promise<void> {
  const many = Math.ceil(size * 0.5);
  for (let index = 0; index < many; index += 1) await denyFromConsole(sandbox, `click-${index}.example`);
  sandbox.clearRequests();
  for (const command of [DIFF, ["up", "--yes", "--skip-preview"]]) {
    const { code, output } = await project.run(...command);
    expect(code).not.toBe(0);
    expect(output).toContain(`would lose ${many} of ${size + many} entries`);
  }
  expect(takeListWrites(sandbox)).toEqual([]);
}

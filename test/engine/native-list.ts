import { expect } from "vitest";
import { type Sandbox, startSandbox } from "../../provider/sandbox";
import { EngineProject } from "../support/engine-project";
import { buildNumberedDenies, formatBadDomain } from "../support/numbered-domains";
import { click } from "../support/tenant-console";

/** A program with one list whose content is in `list.json`. */
const PROGRAM = `
import { readFileSync } from "node:fs";
import { AllowDenyList } from "pulumi-email-security/native";
new AllowDenyList("blocklist", JSON.parse(readFileSync("list.json", "utf8")));
`;

export function takeListWrites(sandbox: Sandbox): string[] {
  const requests = sandbox.requests.filter(({ method }) => method !== "GET");
  sandbox.clearRequests();
  return requests.map(({ method, body }) => `${method} ${(body as { value?: string })?.value ?? ""}`.trim()).sort();
}

/** Returns the lines of a detailed preview that describe entries. */
export function extractEntryLines(preview: string): string[] {
  return (
    preview
      .split("\n")
      // Pulumi aligns added keys in columns.
      .map((line) => line.trim().replace(/ +: /, ": "))
      // Pulumi truncates long text, such as the padding in comments.
      .map((line) => line.replaceAll(/ x+(?:\.{3})?(?=")/g, ""))
      .filter((line) => /^[-+~] \S+\.example\b/.test(line))
  );
}

/** The changes that {@link expectThree} makes. */
const THREE = [
  `+ partner.example: "allow"`,
  `- ${formatBadDomain(7)}: "deny: INC-1"`,
  `~ ${formatBadDomain(8)}: "deny: INC-1" => "deny: INC-2"`,
].sort();

export async function createListProject(sandbox: Sandbox, entries: Record<string, string>): Promise<EngineProject> {
  return await EngineProject.create({
    program: PROGRAM,
    plugin: true,
    environment: { EMAIL_SECURITY_BASE_URL: sandbox.url, EMAIL_SECURITY_API_KEY: "sandbox-acme-ci" },
    files: { "list.json": JSON.stringify({ entries }) },
  });
}

/** Declares three changes of a list, and asserts that the preview shows only these, in fewer than 20 lines. */
export async function expectThree(project: EngineProject, entries: Record<string, string>): Promise<void> {
  const { [formatBadDomain(7)]: _removed, ...rest } = entries;
  const changed = { ...rest, [formatBadDomain(8)]: "deny: INC-2", "partner.example": "allow" };
  await project.writeFile("list.json", JSON.stringify({ entries: changed }));
  const preview = await project.runOrThrow("preview", "--diff");
  expect(extractEntryLines(preview).sort()).toEqual(THREE);
  expect(preview.trim().split("\n").length).toBeLessThan(20);
}

/** Changes, refreshes and repairs a list of `count` entries, and asserts that each step reports individual entries. */
export async function testListSteps(count: number): Promise<void> {
  await using sandbox = await startSandbox({ scenario: "empty" });
  const entries = buildNumberedDenies(count);
  await using project = await createListProject(sandbox, entries);
  await project.up();
  await expectThree(project, entries);
  await expectRepaired(project, sandbox);
  const { resources } = await project.exportState();
  // Arguments and outputs contain each entry once, in about 30 bytes each.
  expect((JSON.stringify(resources).length - 2_000) / count).toBeLessThan(70);
}

/**
 * Continues after {@link expectThree}: asserts that a refresh finds a colleague's changes, and that `up` reverts these
 * and makes the three, entry by entry.
 */
export async function expectRepaired(project: EngineProject, sandbox: Sandbox): Promise<void> {
  // A colleague removes one entry and changes another.
  const there = new Map(sandbox.allowDenyEntries("acme").map(({ value, id }) => [value, id]));
  await click(sandbox, "DELETE", `/allow_deny_entries/${there.get(formatBadDomain(50))}`);
  await click(sandbox, "PATCH", `/allow_deny_entries/${there.get(formatBadDomain(60))}`, { comment: "by hand" });
  sandbox.clearRequests();
  const drift = await project.refresh("--diff");
  expect(extractEntryLines(drift).sort()).toEqual([
    `- ${formatBadDomain(50)}: "deny: INC-1"`,
    `~ ${formatBadDomain(60)}: "deny: INC-1" => "deny: by hand"`,
  ]);
  expect(drift.trim().split("\n").length).toBeLessThan(20);
  expect(takeListWrites(sandbox)).toEqual([]);
  const repair = extractEntryLines(await project.up("--diff"));
  const five = [
    ...THREE,
    `+ ${formatBadDomain(50)}: "deny: INC-1"`,
    `~ ${formatBadDomain(60)}: "deny: by hand" => "deny: INC-1"`,
  ];
  expect(repair.sort()).toEqual(five.sort());
  expect(takeListWrites(sandbox)).toEqual([
    "DELETE",
    "PATCH",
    "PATCH",
    `POST ${formatBadDomain(50)}`,
    "POST partner.example",
  ]);
  await project.up("--expect-no-changes");
  expect(takeListWrites(sandbox)).toEqual([]);
}

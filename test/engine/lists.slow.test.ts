import { expect, it } from "vitest";
import { startSandbox } from "../../provider/sandbox";
import { EngineProject } from "../support/engine-project";
import { formatBadDomain } from "../support/numbered-domains";
import { click } from "../support/tenant-console";
import { listWrites } from "../support/write-requests";

/** A program with one list whose content is in `list.json`. */
const PROGRAM = `
import { readFileSync } from "node:fs";
import { AllowDenyList } from "pulumi-email-security";
new AllowDenyList("blocklist", JSON.parse(readFileSync("list.json", "utf8")));
`;

// The engine receives a partial failure in the trailers of a gRPC response, with the whole state. The native plugin's
// test is in native-list.slow.test.ts.
it("keeps the progress of a partly failed list of 5,000 entries", async () => {
  let isBroken = true;
  await using sandbox = await startSandbox({
    scenario: "empty",
    intercept: ({ method, body }) =>
      isBroken && method === "POST" && /bad-0[012]00/.test((body as { value: string }).value)
        ? { status: 400, body: { error: "no such registry" } }
        : undefined,
  });
  const text = `deny: INC-1 ${"x".repeat(200)}`;
  const entries = Object.fromEntries(Array.from({ length: 5_000 }, (_, index) => [formatBadDomain(index), text]));
  await using project = await EngineProject.create({
    program: PROGRAM,
    environment: { EMAIL_SECURITY_BASE_URL: sandbox.url, EMAIL_SECURITY_API_KEY: "sandbox-acme-ci" },
    files: { "list.json": JSON.stringify({ entries }) },
  });
  const { code, output } = await project.run("up", "--yes", "--skip-preview");
  expect(code).not.toBe(0);
  expect(output).toContain("deny bad-0100.example: ");
  const { resources } = await project.exportState();
  const list = resources.find(({ type }) => type.endsWith("AllowDenyList"));
  expect(Object.keys(list?.outputs?.["entries"] as object)).toHaveLength(4_997);
  isBroken = false;
  sandbox.clearRequests();
  await project.up();
  expect(listWrites(sandbox)).toHaveLength(3);

  const { [formatBadDomain(7)]: _removed, ...rest } = entries;
  const changed = { ...rest, [formatBadDomain(8)]: "deny: INC-2", "partner.example": "allow" };
  await project.writeFile("list.json", JSON.stringify({ entries: changed }));
  const preview = await project.runOrThrow("preview", "--diff");
  expect(preview).toContain('+ partner.example : "allow"');
  // Pulumi truncates long text.
  expect(preview).toMatch(/~ bad-0008\.example: "deny: INC-1 x+(\.{3})?" => "deny: INC-2"/);
  expect(preview).toMatch(/- bad-0007\.example: "deny: INC-1 x+/);
  expect(preview.trim().split("\n").length).toBeLessThan(20);

  // A refresh shows only the changed entries too.
  const getEntryId = (requestedValue: string) =>
    sandbox.allowDenyEntries("acme").find(({ value }) => value === requestedValue)?.id;
  await click(sandbox, "DELETE", `/allow_deny_entries/${getEntryId(formatBadDomain(60))}`);
  const drift = await project.runOrThrow("refresh", "--preview-only", "--diff");
  expect(drift).toContain(formatBadDomain(60));
  expect(drift.trim().split("\n").length).toBeLessThan(20);

  // So does a preview that refreshes, with the command from the guides.
  await click(sandbox, "PATCH", `/allow_deny_entries/${getEntryId(formatBadDomain(70))}`, { comment: "let it in" });
  await project.writeFile("Pulumi.yaml", "name: settings\nruntime: nodejs\noptions:\n  refresh: always\n");
  const refreshedPreview = await project.runOrThrow("preview", "--diff", "--suppress-outputs");
  expect(refreshedPreview).toMatch(/\+ bad-0060\.example: "deny: INC-1 x+/);
  expect(refreshedPreview).toContain('~ bad-0070.example: "deny: let it in" => "deny: INC-1 x');
  expect(refreshedPreview.trim().split("\n").length).toBeLessThan(40);
});

it("removes only confirmed entries", async () => {
  await using sandbox = await startSandbox({ scenario: "empty" });
  const entries = Object.fromEntries(Array.from({ length: 40 }, (_, index) => [formatBadDomain(index), "deny: INC-1"]));
  await using project = await EngineProject.create({
    program: PROGRAM,
    environment: { EMAIL_SECURITY_BASE_URL: sandbox.url, EMAIL_SECURITY_API_KEY: "sandbox-acme-ci" },
    files: { "list.json": JSON.stringify({ entries }) },
  });
  await project.up();
  const few = Object.fromEntries(Object.entries(entries).slice(0, 4));
  await project.writeFile("list.json", JSON.stringify({ entries: few, confirmRemovals: 36 }));
  await project.up();
  expect(sandbox.requests.filter(({ method }) => method === "DELETE")).toHaveLength(36);

  await project.write(`
    import { AllowDenyEntry, AllowDenyList } from "pulumi-email-security";
    const one = new AllowDenyList("other", { entries: [{ list: "deny", value: "evil.example" }] });
    new AllowDenyEntry("single", { list: "deny", value: "EVIL.example" }, { dependsOn: one });
  `);
  sandbox.clearRequests();
  const { code, output } = await project.run("preview");
  expect(code).not.toBe(0);
  expect(output).toContain(
    '"deny evil.example" is also declared at entries["evil.example"] of AllowDenyList "other"; keep one of the two',
  );
  expect(sandbox.requests).toHaveLength(0);
});

import { expect, it } from "vitest";
import { EngineProject } from "../support/engine-project";
import { buildSandboxEnvironment } from "../support/sandbox-environment";
import { buildConsoleDomain, formatRequests, startClickedSandbox } from "./native-import";

/** Returns a program that imports an entry and a VIP by these IDs. */
const buildProgram = (entryId: string, vipId: string): string => `
  import { AllowDenyEntry, VipEmployee } from "pulumi-email-security/native";
  new AllowDenyEntry("evil", { list: "deny", value: "evil.example", comment: "INC-7" }, { import: ${JSON.stringify(entryId)} });
  new VipEmployee("ceo", { email: "ceo@acme.example" }, { import: ${JSON.stringify(vipId)} });
`;

it.each([
  ["with a preview, leaves nothing in state", []],
  ["without a preview, leaves nothing of them in state", ["--skip-preview"]],
])("refuses an import by the ids of another entry and VIP, %s", async (_name, args) => {
  await using sandbox = await startClickedSandbox([
    buildConsoleDomain("deny", "evil.example", "INC-7"),
    buildConsoleDomain("allow", "other.example"),
  ]);
  const other = sandbox.allowDenyEntries("acme").find(({ value }) => value === "other.example")?.id ?? "";
  const before = [sandbox.allowDenyEntries("acme"), sandbox.vips("acme")];
  await using project = await EngineProject.create({
    program: buildProgram(other, "pay@acme.example"),
    plugin: true,
    environment: buildSandboxEnvironment(sandbox),
  });
  const readStateOutputs = async () => {
    const { resources } = await project.exportState();
    return resources.filter(({ type }) => !type.startsWith("pulumi:")).map(({ outputs }) => outputs);
  };

  const { code, output } = await project.run("up", "--yes", ...args);
  expect(code).not.toBe(0);
  expect(output).toMatch(
    /The import is for (?:allow other\.example, but the program declares deny evil\.example|pay@acme\.example, but the program declares ceo@acme\.example)\. Nothing was imported\./,
  );
  // Without a preview, the engine has stored the failed import, but its outputs don't identify anything.
  for (const outputs of await readStateOutputs()) expect(Object.keys(outputs ?? {})).toEqual(["failedImport"]);
  if (args.length === 0) expect(await readStateOutputs()).toEqual([]);

  // Removing it from the program deletes nothing at the service.
  await project.write("");
  await project.runOrThrow("up", "--yes", "--skip-preview");
  expect(await readStateOutputs()).toEqual([]);
  expect([sandbox.allowDenyEntries("acme"), sandbox.vips("acme")]).toEqual(before);

  // With the correct IDs, both are imported.
  await project.write(buildProgram("deny:evil.example", "ceo@acme.example"));
  await project.runOrThrow("up", "--yes", ...args);
  expect((await readStateOutputs()).map((outputs) => outputs?.["value"] ?? outputs?.["email"]).sort()).toEqual([
    "ceo@acme.example",
    "evil.example",
  ]);
  expect(formatRequests(sandbox).filter((line) => !line.startsWith("GET "))).toEqual([]);
  expect([sandbox.allowDenyEntries("acme"), sandbox.vips("acme")]).toEqual(before);
});

import { readFile } from "node:fs/promises";
import { delimiter, join } from "node:path";
import { expect, it } from "vitest";
import { installGenerator } from "#scripts/generate-sdks";
import { createCli } from "../support/cli";
import { EngineProject } from "../support/engine-project";
import { selectSize } from "../support/matrix-sampling";
import { buildSandboxEnvironment } from "../support/sandbox-environment";
import { createTestDirectory } from "../support/test-directory";
import {
  buildConsoleDomain,
  EACH,
  formatRequests,
  missing,
  RISK,
  skipped,
  startClickedSandbox,
  testImports,
  WHOLE_LISTS,
} from "./native-import";

const COUNT = selectSize("native-import", 5_000, 1_000);
/** Prints no program, and leaves the resource unprotected. */
const QUIET_ARGS = ["--yes", "--skip-preview", "--generate-code=false", "--protect=false"];

it("imports by id, natural key and mailbox without later changes", async () => {
  await using sandbox = await startClickedSandbox([
    buildConsoleDomain("deny", "evil.example", "INC-7"),
    buildConsoleDomain("deny", "worse.example"),
    buildConsoleDomain("allow", "gmail.com", "the fair"),
    buildConsoleDomain("allow", "news.example", "", "graymail"),
  ]);
  await using project = await EngineProject.create({
    program: "",
    plugin: true,
    environment: buildSandboxEnvironment(sandbox),
  });
  const gmail = sandbox.allowDenyEntries("acme").find(({ value }) => value === "gmail.com")?.id ?? "";
  const importOne = async (kind: string, name: string, id: string, ...args: string[]) => {
    const { code, output } = await project.run("import", `email-security:index:${kind}`, name, id, ...args);
    return { code, output, trace: formatRequests(sandbox) };
  };

  // The plugin runs in one process for the preview and in another for the update, and each reads the import once.
  const previewed = await importOne("AllowDenyEntry", "evil", "deny:evil.example", "--yes", "--generate-code=false");
  expect(previewed).toMatchObject({
    code: 0,
    trace: ["GET allow_deny_entries deny", "GET allow_deny_entries deny"],
  });
  expect(await importOne("AllowDenyEntry", "gmail", gmail, ...QUIET_ARGS)).toMatchObject({
    code: 0,
    trace: ["GET allow_deny_entries allow", "GET allow_deny_entries deny"],
  });
  expect(await importOne("VipEmployee", "pay", "pay@acme.example", ...QUIET_ARGS)).toMatchObject({
    code: 0,
    trace: ["GET vip_employees"],
  });
  // An entry that doesn't exist, and an ID that can't be parsed.
  const missing = await importOne("AllowDenyEntry", "none", "deny:nothing.example", ...QUIET_ARGS);
  expect(missing.code).not.toBe(0);
  expect(missing.output).toContain("resource 'deny:nothing.example' does not exist");
  const unreadable = await importOne("AllowDenyEntry", "bad", "deny:not a domain!", ...QUIET_ARGS);
  expect(unreadable.code).not.toBe(0);
  expect(unreadable.output).toMatch(
    /"deny:not a domain!" doesn't identify an entry: .*Nothing was imported\. \[ERR_IMPORT\]/,
  );

  const { resources } = await project.exportState();
  const imported = resources.filter(({ type }) => !type.startsWith("pulumi:"));
  expect(imported.map(({ id, inputs }) => [id, inputs])).toEqual([
    [expect.stringMatching(/^ade_/), { list: "deny", value: "evil.example", comment: "INC-7" }],
    [gmail, { list: "allow", value: "gmail.com", comment: "the fair", acceptRisk: RISK }],
    ["pay@acme.example", { email: "pay@acme.example", comment: 'Pays: "all" of \u0024{it}' }],
  ]);

  const before = [sandbox.allowDenyEntries("acme"), sandbox.vips("acme")];
  const buildProgram = (imports: Record<string, object>) => `
    import { AllowDenyEntry, VipEmployee } from "pulumi-email-security/native";
    new AllowDenyEntry("evil", ${JSON.stringify(imported[0]?.inputs)}, { protect: true });
    new AllowDenyEntry("gmail", ${JSON.stringify(imported[1]?.inputs)});
    new VipEmployee("pay", ${JSON.stringify(imported[2]?.inputs)});
    new AllowDenyEntry("worse", { list: "deny", value: "worse.example" }, ${JSON.stringify(imports["worse"] ?? {})});
    new AllowDenyEntry("news", { list: "allow", value: "news.example", verdictScope: "graymail" }, ${JSON.stringify(imports["news"] ?? {})});
  `;
  await project.write(
    buildProgram({ worse: { import: "deny:worse.example" }, news: { import: "allow:news.example (graymail)" } }),
  );
  expect(await project.up()).toMatch(/= 2 imported\s+4 unchanged/);
  expect(formatRequests(sandbox).filter((line) => !line.startsWith("GET "))).toEqual([]);
  await project.write(buildProgram({}));
  await project.up("--expect-no-changes");
  await project.runOrThrow("refresh", "--yes", "--skip-preview", "--expect-no-changes");
  expect(formatRequests(sandbox).filter((line) => !line.startsWith("GET "))).toEqual([]);
  expect([sandbox.allowDenyEntries("acme"), sandbox.vips("acme")]).toEqual(before);
});

it.skipIf(missing)(`prints a TypeScript program without changes${skipped}`, async () => {
  await using sandbox = await startClickedSandbox([
    buildConsoleDomain("deny", "evil.example", 'INC-7: "\u0024{it}" `x`'),
    buildConsoleDomain("allow", "gmail.com", "the fair"),
    buildConsoleDomain("allow", "news.example", "", "graymail"),
  ]);
  const before = [sandbox.allowDenyEntries("acme"), sandbox.vips("acme")];
  using generator = createTestDirectory();
  await installGenerator("nodejs", generator.path);
  for (const wholeLists of [EACH, WHOLE_LISTS]) {
    await using project = await EngineProject.create({
      program: "",
      plugin: true,
      typeCheck: true,
      environment: buildSandboxEnvironment(sandbox),
    });
    const command = createCli(project.directory, project.environment);
    expect(await command("export", "--pulumi-import", "tenant.json", ...wholeLists)).toMatchObject({
      code: 0,
    });
    const args = ["import", "--file", "tenant.json", "--yes", "--skip-preview", "--out", "index.ts"];
    const path = [generator.path, project.environment["PATH"]].join(delimiter);
    const { code, output } = await project.runWith({ PATH: path }, ...args);
    expect(code, output).toBe(0);
    const printed = await readFile(join(project.directory, "index.ts"), "utf8");
    expect(printed).toContain('from "pulumi-email-security-native"');
    // The same code in the package that is installed here.
    await project.write(printed.replace("pulumi-email-security-native", "pulumi-email-security/native"));
    sandbox.clearRequests();
    await project.up("--expect-no-changes");
    expect(formatRequests(sandbox)).toEqual([]);
    expect([sandbox.allowDenyEntries("acme"), sandbox.vips("acme")]).toEqual(before);
  }
});

it.skipIf(missing)(`imports ${COUNT} entries, each or as whole lists, without later changes${skipped}`, async () => {
  await testImports(COUNT, [EACH, WHOLE_LISTS]);
});

it.skipIf(missing)(`imports 250 entries without later changes${skipped}`, async () => {
  await testImports(250, [EACH]);
});

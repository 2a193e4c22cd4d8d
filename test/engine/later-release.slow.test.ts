import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { buildSerializedProvider } from "../../provider/resources/serialized-provider";
import { startSandbox } from "../../provider/sandbox";
import { EngineProject } from "../support/engine-project";
import {
  install,
  LATER_RELEASE_SERVES,
  PACKAGE,
  packLaterRelease,
  sharePackage,
  writeProgram,
} from "../support/packed-package";
import { createTestDirectory } from "../support/test-directory";

interface ProgramFields {
  readonly comment: string;
  readonly vip: boolean;
}

function buildProgram({ comment, vip }: ProgramFields): string {
  return `
    import { AllowDenyEntry, VipEmployee } from "${PACKAGE}";
    new AllowDenyEntry("look-alike", { list: "deny", value: "acme-login.example", comment: "${comment}" });
    ${vip ? 'new VipEmployee("payroll", { email: "Yuki.Sato@acme.example", comment: "Signs payments" });' : ""}
  `;
}

const packed = sharePackage();

it("lets a later release with moved files manage earlier resources", async () => {
  await using sandbox = await startSandbox({ scenario: "empty" });
  using directory = createTestDirectory();
  const environment = { EMAIL_SECURITY_BASE_URL: sandbox.url, EMAIL_SECURITY_API_KEY: "sandbox-acme-ci" };
  const installed = join(directory.path, "node_modules", PACKAGE);
  const writeDeclaration = async (declared: ProgramFields): Promise<void> =>
    await writeProgram(directory.path, { main: "index.js", type: "module", text: buildProgram(declared) });
  const takeRequests = (): string[] => {
    const lines = sandbox.requests.map(({ method, path }) => `${method} ${path}`);
    sandbox.clearRequests();
    return lines;
  };
  const listEntries = () => sandbox.allowDenyEntries("acme");
  const listVips = () => sandbox.vips("acme").map((row) => row.email);

  // The earlier release creates the resources.
  await install(directory.path, "npm", packed());
  await writeDeclaration({ comment: "INC-7", vip: true });
  await using project = await EngineProject.open(directory.path, environment);
  await project.runOrThrow("stack", "init", "dev");
  const created = await project.up();
  expect(created).toContain("+ 3 created");
  expect(created).not.toContain(LATER_RELEASE_SERVES);
  const id = listEntries()[0]?.id;
  const before = await project.exportState();

  // The later release replaces it. All of its files have moved.
  using tarball = createTestDirectory();
  await install(directory.path, "npm", await packLaterRelease(installed, tarball.path));
  expect(JSON.parse(await readFile(join(installed, "package.json"), "utf8"))).toMatchObject({
    version: "9.9.9",
  });
  expect(existsSync(join(installed, "dist"))).toBe(false);
  expect(existsSync(join(installed, "lib", "resources"))).toBe(false);
  takeRequests();

  // It changes nothing and makes no requests.
  const unchanged = await project.runOrThrow("up", "--yes");
  expect(unchanged).toContain(LATER_RELEASE_SERVES);
  expect(unchanged).toMatch(/Previewing[\s\S]*3 unchanged[\s\S]*Updating[\s\S]*3 unchanged/);
  expect(takeRequests()).toEqual([]);

  // It reads.
  const refreshed = await project.refresh();
  expect(refreshed).toContain(LATER_RELEASE_SERVES);
  expect(refreshed).toContain("3 unchanged");
  expect(takeRequests().filter((line) => !line.startsWith("GET "))).toEqual([]);

  await writeDeclaration({ comment: "INC-7, closed", vip: true });
  expect(await project.up()).toContain("~ 1 updated");
  expect(listEntries()).toMatchObject([{ id, comment: "INC-7, closed" }]);

  // Its state is the same as that of the earlier release.
  const after = await project.exportState();
  for (const { resources } of [before, after]) {
    const shells = resources.flatMap(({ inputs, outputs }) => [inputs?.["__provider"], outputs?.["__provider"]]);
    expect(new Set(shells)).toEqual(
      new Set([buildSerializedProvider("allowDenyEntry"), buildSerializedProvider("vipEmployee")]),
    );
  }

  // It deletes a resource that the program no longer declares.
  await writeDeclaration({ comment: "INC-7, closed", vip: false });
  const removed = await project.up();
  expect(removed).toContain("- 1 deleted");
  expect(listVips()).not.toContain("yuki.sato@acme.example");

  // `destroy` runs no program: the serialized provider in the state alone leads to the code.
  const destroyed = await project.destroy();
  expect(destroyed).toContain(LATER_RELEASE_SERVES);
  expect(listEntries()).toEqual([]);
  expect((await project.exportState()).resources).toEqual([]);
});

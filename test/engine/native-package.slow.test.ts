import { appendFile, writeFile } from "node:fs/promises";
import { delimiter, join, resolve } from "node:path";
import { expect, it } from "vitest";
import { startSandbox } from "../../provider/sandbox";
import { installGenerator } from "../../scripts/generate-sdks.mjs";
import manifest from "../../sdk/nodejs/package.json";
import { EngineProject } from "../support/engine-project";
import { findMissingToolchain } from "../support/language-hosts";
import { packPackage, runNpm } from "../support/packed-package";
import { createTestDirectory } from "../support/test-directory";

const missing = findMissingToolchain("go");
const PULUMI = "@pulumi/pulumi";
const PLUGIN = resolve("provider/dist/plugin");

const PROGRAM = `
const { VipEmployee } = require(${JSON.stringify(manifest.name)});
const vip = new VipEmployee("treasury", { email: "lena.hartmann@acme.example", comment: "Releases payments" });
exports.version = require("${PULUMI}/package.json").version;
exports.source = vip.source;
`;

it.skipIf(missing)(`works with the oldest supported Pulumi${missing ? ` (skipped: ${missing})` : ""}`, async () => {
  using directory = createTestDirectory();
  await using sandbox = await startSandbox({ scenario: "acme" });
  const oldest = manifest.dependencies[PULUMI].replace("^", "");
  const files = {
    "Pulumi.yaml": "name: settings\nruntime: nodejs\n",
    "package.json": JSON.stringify({ private: true, main: "index.js", dependencies: { [PULUMI]: oldest } }),
    "index.js": PROGRAM,
  };
  for (const [name, text] of Object.entries(files)) await writeFile(join(directory.path, name), text);
  await using project = await EngineProject.open(directory.path, {
    // Makes the engine look for the plugin on PATH before it tries to download it.
    PULUMI_IGNORE_AMBIENT_PLUGINS: "false",
    EMAIL_SECURITY_BASE_URL: sandbox.url,
    EMAIL_SECURITY_API_KEY: "sandbox-acme-ci",
  });
  const before = project.environment["PATH"];
  const path = { PATH: [PLUGIN, before].join(delimiter) };
  await project.runOrThrow("stack", "init", "dev");

  using generators = createTestDirectory();
  await installGenerator("nodejs", generators.path);
  const added = await project.runWith(
    { PATH: [generators.path, before].join(delimiter) },
    "package",
    "add",
    join(PLUGIN, "schema.json"),
  );
  expect(added.output).toContain("Successfully generated an SDK for the email-security package");
  // Normally the CLI has the language host do this, but the published host can't.
  await runNpm(directory.path, "install", "--prefer-offline", "./sdks/email-security");
  const first = await runUp(path);
  expect(first).toContain(`version: "${oldest}"`);
  expect(first).toContain("VipEmployee treasury created");

  const packed = await packPackage(generators.path, resolve("sdk/nodejs"));
  expect(packed.files).toEqual(expect.arrayContaining(["LICENSE", "README.md", "bin/native/index.d.ts"]));
  expect(packed.files.filter((file) => !/^(bin\/|LICENSE$|README\.md$|package\.json$)/.test(file))).toEqual([]);
  await runNpm(directory.path, "install", "--prefer-offline", packed.tarball);
  const second = await runUp(path, "--expect-no-changes");
  expect(second).toContain(`version: "${oldest}"`);

  await appendFile(join(directory.path, "index.js"), 'new VipEmployee("other", { emial: "x@acme.example" });');
  const { code, output } = await project.runWith(path, "preview");
  expect(code).not.toBe(0);
  expect(output).toContain("did you mean email?");
  expect(sandbox.requests.filter(({ method }) => method !== "GET")).toHaveLength(1);

  async function runUp(environment: Record<string, string>, ...args: string[]): Promise<string> {
    const run = await project.runWith(environment, "up", "--yes", "--skip-preview", ...args);
    expect(run).toMatchObject({ code: 0 });
    return run.output;
  }
});

import { readFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { expect, it } from "vitest";
import { sharePackage } from "../support/packed-package";

/* The contents of the packed package. packed-package.slow.test.ts installs it. */

/** Half of it is the plugin, which bundles all of its dependencies, including those for settings files. */
const MAX_UNPACKED_BYTES = 9_400_000;

const packed = sharePackage();

it("contains only the build output and the legal files", () => {
  expect(packed().files).toEqual(expect.arrayContaining(["LICENSE", "README.md", "package.json", "dist/index.js"]));
  const others = packed().files.filter((file) => !/^(LICENSE|README\.md|package\.json|dist\/.*)$/.test(file));
  expect(others).toEqual([]);
  const template = "dist/commands/init/template/";
  const built = packed().files.filter((file) => file.startsWith("dist/") && !file.startsWith(template));
  const ordinary = /(\.js|\.d\.ts|\.schema\.json|\/go\.mod|\/go\.sum)$/;
  const plugin = "dist/plugin/pulumi-resource-email-security";
  expect(built.filter((file) => !ordinary.test(file)).sort()).toEqual([
    // Contains the version that the SDK reports to the engine.
    "dist/native/package.json",
    plugin,
    `${plugin}.cmd`,
    `${plugin}.licenses.txt`,
    "dist/plugin/schema.json",
  ]);
  expect(built.filter((file) => /\btests?\b|\.test\./.test(file))).toEqual([]);
});

it("contains exactly the repository template of `email-security init`", () => {
  const template = packed().files.filter((file) => file.startsWith("dist/commands/init/template/"));
  expect(template.map((file) => file.replace("dist/commands/init/template/", "")).sort()).toEqual([
    ".github/actions/prepare/action.yml",
    ".github/workflows/approvals.yml",
    ".github/workflows/drift.yml",
    ".github/workflows/expire.yml",
    ".github/workflows/merge.yml",
    ".github/workflows/pull-request.yml",
    ".github/workflows/review.yml",
    ".github/workflows/sync.yml",
    ".gitlab-ci.yml",
    ".pre-commit-config.yaml",
    ".vscode/extensions.json",
    ".vscode/settings.json",
    "CODEOWNERS",
    "Pulumi.yaml",
    "README.md",
    // npm leaves out a file named .gitignore.
    "gitignore",
    "index.ts",
    "package.json",
    "settings/acme.yaml",
    "settings/baseline.yaml",
  ]);
});

it("contains no path of the build machine", async () => {
  const texts = await Promise.all(packed().files.map((file) => readFile(join("provider", file), "utf8")));
  const naming = packed().files.filter((_file, index) => texts[index]?.includes(resolve("provider")));
  expect(naming).toEqual([]);
  expect(packed().files.filter((file) => file.endsWith(".map"))).toEqual([]);
});

it("stays below its size limit", () => {
  expect(packed().unpackedBytes).toBeLessThan(MAX_UNPACKED_BYTES);
});

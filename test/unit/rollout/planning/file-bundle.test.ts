import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { extractBundle } from "../../../../provider/rollout/planning/file-bundle";

const directory = mkdtempSync(join(tmpdir(), "email-security-bundle-"));
const target = join(directory, "written");

afterAll(() => rmSync(directory, { recursive: true, force: true }));

const createBundle = (path: string) => new Map([[path, Buffer.from("x")]]);

it.each([
  [`${"../".repeat(20)}${target.slice(1)}`, "."],
  [target, "."],
  ["settings/../../x.yaml", "."],
  ["node_modules/pulumi-email-security/index.js", "."],
  ["a/Node_Modules/x.js", "."],
  [".git/hooks/pre-commit", "."],
  ["a\\..\\..\\x", "."],
  ["C:/x", "."],
  ["settings/a.yaml", `${"../".repeat(20)}${directory.slice(1)}`],
  ["settings/a.yaml", directory],
])("extracts no file at %j in %j", (path, working) => {
  expect(() => extractBundle({ bundle: createBundle(path), directory: working }, "fleet", undefined)).toThrow(
    expect.objectContaining({ code: "ERR_ROLLOUT_NOT_ALLOWED" }),
  );
  expect(existsSync(target)).toBe(false);
});

it("extracts files with unusual names", () => {
  const bundle = createBundle("acme..eu/..settings/über ..yaml");
  const work = extractBundle({ bundle, directory: "acme..eu" }, "fleet", undefined);
  try {
    expect(readFileSync(join(work.path, "..settings/über ..yaml"), "utf8")).toBe("x");
  } finally {
    work.remove();
  }
});

it("explains missing node_modules under Yarn Plug'n'Play", () => {
  Object.defineProperty(process.versions, "pnp", { value: "3", configurable: true });
  try {
    expect(() => extractBundle({ bundle: new Map(), directory: "." }, "fleet", undefined)).toThrow(
      /^A rollout needs its packages in a node_modules directory, .* set `nodeLinker: node-modules` in \.yarnrc\.yml/,
    );
  } finally {
    Reflect.deleteProperty(process.versions, "pnp");
  }
});

it("names the required @pulumi/pulumi version", () => {
  const sdk = createRequire(__filename)("@pulumi/pulumi/package.json") as { version: string };
  const { version } = sdk;
  sdk.version = "3.149.0";
  try {
    expect(() => extractBundle({ bundle: new Map(), directory: "." }, "fleet", undefined)).toThrow(
      "pulumi-email-security needs @pulumi/pulumi >=3.150.0 <4, but this program has 3.149.0",
    );
  } finally {
    sdk.version = version;
  }
});

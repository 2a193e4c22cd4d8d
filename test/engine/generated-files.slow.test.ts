import { readdir, readFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { expect, it } from "vitest";
import { generateSdks, SDK_LANGUAGES } from "#scripts/generate-sdks";
import { generateSchemaExamples } from "#scripts/schema-examples";
import { findMissingToolchain } from "../support/language-hosts";
import { createTestDirectory } from "../support/test-directory";

const missing = findMissingToolchain("go");
const SCHEMA = resolve("provider/dist/plugin/schema.json");
const EXAMPLES = resolve("provider/plugin/schema/examples");

it.skipIf(missing)(
  `has up-to-date generated examples (update: \`npm run sdks\`)${missing ? ` (skipped: ${missing})` : ""}`,
  async () => {
    const examples = await generateSchemaExamples(SCHEMA, EXAMPLES);
    expect(Object.keys(examples)).toHaveLength(5);
    for (const [name, text] of Object.entries(examples)) {
      expect(await readFile(join(EXAMPLES, `${name}.md`), "utf8")).toBe(text);
    }
  },
);

it.skipIf(missing)(
  `has up-to-date generated SDKs (update: \`npm run sdks\`)${missing ? ` (skipped: ${missing})` : ""}`,
  async () => {
    using outputDirectory = createTestDirectory();

    await generateSdks(SCHEMA, outputDirectory.path);

    for (const language of SDK_LANGUAGES) {
      const committed = await readTexts(resolve("sdk", language));
      const generated = await readTexts(join(outputDirectory.path, language));
      expect(Object.keys(committed)).toEqual(Object.keys(generated));
      expect(committed).toEqual(generated);
    }
  },
);

/** Returns the text files of a directory by path, without what using an SDK leaves behind. */
async function readTexts(directory: string): Promise<Record<string, string>> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true });
  const files = entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((file) => !/[\\/](node_modules|bin|obj|target|__pycache__|build|[^\\/]+\.egg-info)[\\/]/.test(file))
    .sort();
  const texts = await Promise.all(files.map((file) => readFile(file, "utf8")));
  return Object.fromEntries(files.map((file, index) => [file.slice(directory.length + 1), texts[index] ?? ""]));
}

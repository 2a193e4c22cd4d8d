import { readdir, readFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { expect, it } from "vitest";
import { generateSdks, SDK_LANGUAGES } from "#scripts/generate-sdks";
import { missingToolchain } from "../support/language-hosts";
import { EmptyFolder } from "../support/packed-package";

const missing = missingToolchain("go");

it.skipIf(missing)(
  `keeps the SDKs that the CLI generates from the built schema; else run \`npm run sdks\`${missing ? ` (skipped: ${missing})` : ""}`,
  async () => {
    await using made = await EmptyFolder.create();

    await generateSdks(resolve("provider/dist/plugin/schema.json"), made.path);

    for (const language of SDK_LANGUAGES) {
      const committed = await textsUnder(resolve("sdk", language));
      const generated = await textsUnder(join(made.path, language));
      expect(Object.keys(committed)).toEqual(Object.keys(generated));
      expect(committed).toEqual(generated);
    }
  },
);

/** The files of a folder by their path, without what using an SDK leaves there. */
async function textsUnder(folder: string): Promise<Record<string, string>> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((file) => !/[\\/](node_modules|bin|__pycache__|build|[^\\/]+\.egg-info)[\\/]/.test(file))
    .sort();
  const texts = await Promise.all(files.map((file) => readFile(file, "utf8")));
  return Object.fromEntries(files.map((file, index) => [file.slice(folder.length + 1), texts[index] ?? ""]));
}

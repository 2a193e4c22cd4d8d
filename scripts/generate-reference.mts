/**
 * Writes the pages of the reference that are made from what the `email-security` command knows: of each error code, each verb, and
 * the exit codes. They are committed; test/unit/docs/reference-pages.test.ts holds them equal.
 *
 *   node scripts/generate-reference.mts
 */
import { mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { referencePages } from "./reference-pages.mts";

const pages = referencePages();
for (const folder of ["reference/errors", "reference/cli"]) {
  for (const name of readdirOrNone(join("docs", folder))) {
    if (!pages.has(`${folder}/${name}`)) rmSync(join("docs", folder, name));
  }
}
for (const [path, text] of pages) {
  const file = join("docs", path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
}
console.log(`Wrote ${pages.size} pages.`);

function readdirOrNone(folder: string): string[] {
  mkdirSync(folder, { recursive: true });
  return readdirSync(folder);
}

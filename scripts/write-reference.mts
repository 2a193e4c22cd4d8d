import { mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { referencePages } from "./reference-pages.mts";

/**
 * Writes the pages of the reference that are made from what the `email-security` command knows: of each error code, each verb, and
 * the exit codes. They are committed; test/unit/docs/reference-pages.test.ts holds them equal.
 */
export function writeReference(): void {
  const pages = referencePages();
  for (const directory of ["reference/errors", "reference/cli"]) {
    mkdirSync(join("docs", directory), { recursive: true });
    for (const name of readdirSync(join("docs", directory))) {
      if (!pages.has(`${directory}/${name}`)) rmSync(join("docs", directory, name));
    }
  }
  for (const [path, text] of pages) {
    mkdirSync(dirname(join("docs", path)), { recursive: true });
    writeFileSync(join("docs", path), text);
  }
}

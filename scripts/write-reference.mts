import { mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { buildReferencePages } from "./reference-pages.mts";

/**
 * Writes the reference pages generated from the `email-security` command (error codes, commands, exit codes, responses
 * and the index) and the generated tables of other pages. They are committed; test/unit/docs/reference-pages.test.ts checks that they are up to date.
 */
export function writeReference(): void {
  const pages = buildReferencePages();
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

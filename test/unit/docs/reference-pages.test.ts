import { readdirSync, readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { buildReferencePages } from "#scripts/reference-pages";

/* `npm run docs` writes them, of the package as it is built. */

const pages = buildReferencePages();

it("the pages that are made are as they would be made now", () => {
  for (const [path, text] of pages) expect(readFileSync(`docs/${path}`, "utf8"), path).toBe(text);
});

it.each(["reference/errors", "reference/cli"])("docs/%s has no page of what is no more", (folder) => {
  const made = [...pages.keys()].filter((path) => path.startsWith(`${folder}/`));
  expect(
    readdirSync(`docs/${folder}`)
      .map((name) => `${folder}/${name}`)
      .sort(),
  ).toEqual(made.sort());
});

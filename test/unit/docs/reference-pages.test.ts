import { readdirSync, readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { buildReferencePages } from "#scripts/reference-pages";

/* `npm run docs` generates the pages from the built package. */

const pages = buildReferencePages();

it("matches the freshly generated reference pages", () => {
  for (const [path, text] of pages) expect(readFileSync(`docs/${path}`, "utf8"), path).toBe(text);
});

it.each(["reference/errors", "reference/cli"])("contains no obsolete page in docs/%s", (directory) => {
  const generatedPages = [...pages.keys()].filter((path) => path.startsWith(`${directory}/`));
  expect(
    readdirSync(`docs/${directory}`)
      .map((name) => `${directory}/${name}`)
      .sort(),
  ).toEqual(generatedPages.sort());
});

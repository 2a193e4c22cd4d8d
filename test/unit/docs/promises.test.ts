import { existsSync } from "node:fs";
import { expect, it } from "vitest";
import { DocsPage } from "../../support/docs-page";

const page = new DocsPage("reference/promises.md");
const rows = page.headings.flatMap((heading) => page.getTableRows(heading));

it("names a test for each promise", () => {
  expect(rows.length).toBeGreaterThan(30);
  const untestedRows = rows.filter(([, tests = ""]) => !/`test\/[\w/.-]+`/.test(tests));
  expect(untestedRows).toEqual([]);
});

it("names a fast test for each promise", () => {
  const slowAlone = rows.filter(([, tests = ""]) => !/`test\/[\w/.-]+(?<!\.slow)\.test\.ts`/.test(tests));
  expect(slowAlone).toEqual([]);
});

it("names only tests that exist", () => {
  const tests = rows.flatMap(([, tests = ""]) => tests.match(/test\/[\w/.-]+/g) ?? []);
  expect(tests.length).toBeGreaterThan(50);
  expect(tests.filter((path) => !existsSync(path))).toEqual([]);
});

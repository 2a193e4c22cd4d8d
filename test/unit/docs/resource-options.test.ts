import { readFileSync } from "node:fs";
import ts from "typescript";
import { expect, it } from "vitest";
import { DocsPage, extractCodes } from "../../support/docs-page";

const rows = new DocsPage("reference/resource-options.md").getTableRows("Pulumi resource options");

it("lists the commonly used options and flags", () => {
  const options = rows.flatMap(([option = ""]) => extractCodes(option));
  expect(new Set(options).size).toBe(options.length);
  expect(options).toEqual(
    expect.arrayContaining(
      "customTimeouts ignoreChanges deleteBeforeReplace retainOnDelete --target --replace transforms".split(" "),
    ),
  );
  expect(rows.filter(([, , providers = ""]) => !["both", "native", "dynamic"].includes(providers))).toEqual([]);
});

it.each(rows.map(([option = "", , , tests = ""]) => ({ option, tests: extractCodes(tests) })))(
  "names $option in the title of a test that the row lists",
  ({ option, tests }) => {
    const titles = tests.flatMap(readTitles);
    for (const name of extractCodes(option)) {
      const isNamed = (title: string) => title.includes(`\`${name}\``) || title.includes(` ${name} `);
      expect(titles.some(isNamed), name).toBe(true);
    }
  },
);

/** Returns the titles of the tests in a file: the first arguments of `it(…)` and `it.each(…)(…)`. */
function readTitles(path: string): string[] {
  const file = ts.createSourceFile(path, readFileSync(path, "utf8"), ts.ScriptTarget.Latest);
  const titles: string[] = [];
  const visit = (node: ts.Node): void => {
    const [title] = ts.isCallExpression(node) && isTestFunction(node.expression) ? node.arguments : [];
    if (title !== undefined && ts.isStringLiteralLike(title)) titles.push(title.text);
    ts.forEachChild(node, visit);
  };
  visit(file);
  return titles;
}

function isTestFunction(node: ts.Node): boolean {
  if (ts.isCallExpression(node) || ts.isPropertyAccessExpression(node)) return isTestFunction(node.expression);
  return ts.isIdentifier(node) && node.text === "it";
}

import { readFileSync } from "node:fs";
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
    const titles = tests.flatMap((path) =>
      [...readFileSync(path, "utf8").matchAll(/\bit(?:\.\w+\([^)]*\))?\(\s*["'`](.*)/g)].map(([, title = ""]) => title),
    );
    for (const name of extractCodes(option)) {
      const isNamed = (title: string) => title.includes(`\`${name}\``) || title.includes(` ${name} `);
      expect(titles.some(isNamed), name).toBe(true);
    }
  },
);

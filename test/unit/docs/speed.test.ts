import { readFileSync } from "node:fs";
import { expect, it } from "vitest";

it("shows the same benchmark rows and commit as the speed page", () => {
  const page = readFileSync("docs/reference/speed.md", "utf8");
  const [figure = "", measuredTable = ""] = [
    extractPart(readFileSync("README.md", "utf8"), "bench-brief"),
    extractPart(page, "bench"),
  ];
  const rows = listTableRows(figure);
  // The header, and five peers.
  expect(rows).toHaveLength(1 + 5);
  expect(listTableRows(measuredTable)).toEqual(expect.arrayContaining(rows));
  const [commit] = /commit [0-9a-f]{9}\b/.exec(figure) ?? [];
  expect(measuredTable).toContain(commit ?? "a commit that the README names");
});

function extractPart(text: string, name: string): string {
  return new RegExp(`<!-- ${name}:start -->\\n([^]*?)<!-- ${name}:end -->`).exec(text)?.[1] ?? "";
}

/** Returns a table's rows with collapsed spaces, since the padding depends on the widest row. */
function listTableRows(table: string): string[] {
  return table
    .split("\n")
    .filter((line) => line.startsWith("|") && !/^[|:\- ]+$/.test(line))
    .map((line) => line.replace(/ +/g, " "));
}

import { readFileSync } from "node:fs";
import { expect, it } from "vitest";

it("the README's rows of the benchmark are those of the page of speed", () => {
  const [, shown = ""] =
    /<!-- bench-brief:start -->\n([\s\S]*?)\n<!-- bench-brief:end -->/.exec(
      readFileSync("README.md", "utf8"),
    ) ?? [];
  const rows = shown.split("\n");
  expect(rows).toHaveLength(2 + 3);
  expect(readFileSync("docs/reference/speed.md", "utf8").split("\n")).toEqual(expect.arrayContaining(rows));
});

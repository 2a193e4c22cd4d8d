import { describe, expect, it } from "vitest";
import { checkTypedBlocks } from "./check-typed-blocks";
import { checkYamlBlocks } from "./check-yaml-blocks";
import { checkFences } from "./fence-rules";
import { formatProblem, parseFences } from "./fences";
import { listMarkdownFiles } from "./markdown-files";

const markdownFiles = listMarkdownFiles();
const files = markdownFiles.map(parseFences);

describe("code block in the docs", () => {
  it("states its kind and how it is checked", () => {
    expect(files.flatMap(checkFences).map(formatProblem)).toEqual([]);
  });

  // Markdown reads it as inline code, so no other test sees the block.
  it("has its fences on lines of their own", () => {
    const problems = markdownFiles.flatMap(({ path, text }) =>
      text
        .split("\n")
        .flatMap((line, index) => (/^\s*```.*```\s*$/.test(line) ? [`${path}:${index + 1}: ${line}`] : [])),
    );
    expect(problems).toEqual([]);
  });

  it("has no type error in TypeScript", () => {
    expect(checkTypedBlocks(files).map(formatProblem)).toEqual([]);
  }, 120_000);

  it("is accepted by the file parsers", () => {
    expect(files.flatMap(checkYamlBlocks).map(formatProblem)).toEqual([]);
  });
});

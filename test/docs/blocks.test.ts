import { describe, expect, it } from "vitest";
import { checkFences } from "./fence-rules";
import { formatProblem, parseFences } from "./fences";
import { listMarkdownFiles } from "./markdown-files";
import { checkTypedBlocks } from "./typed-blocks";
import { checkYamlBlocks } from "./yaml-blocks";

const files = listMarkdownFiles().map(parseFences);

describe("code block in the docs", () => {
  it("states its kind and how it is checked", () => {
    expect(files.flatMap(checkFences).map(formatProblem)).toEqual([]);
  });

  it("has no type error in TypeScript", () => {
    expect(checkTypedBlocks(files).map(formatProblem)).toEqual([]);
  }, 120_000);

  it("is accepted by the parsers of settings and tenants files", () => {
    expect(files.flatMap(checkYamlBlocks).map(formatProblem)).toEqual([]);
  });
});

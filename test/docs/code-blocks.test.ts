import { describe, expect, it } from "vitest";
import { checkTypedBlocks } from "./check-typed-blocks";
import { checkYamlBlocks } from "./check-yaml-blocks";
import { checkFences } from "./fence-rules";
import { fencesOf, problemText } from "./fences";
import { markdownFiles } from "./markdown-files";

const files = markdownFiles().map(fencesOf);

describe("code block in the docs", () => {
  it("states its kind and how it is checked", () => {
    expect(files.flatMap(checkFences).map(problemText)).toEqual([]);
  });

  it("has no type error in TypeScript", () => {
    expect(checkTypedBlocks(files).map(problemText)).toEqual([]);
  }, 120_000);

  it("is accepted by the parsers of settings and tenants files", () => {
    expect(files.flatMap(checkYamlBlocks).map(problemText)).toEqual([]);
  });
});

import { describe, expect, it } from "vitest";
import { checkFences } from "./fence-rules";
import { fencesOf, problemText } from "./fences";
import { markdownFiles } from "./markdown-files";
import { checkTypedBlocks } from "./typed-blocks";
import { checkYamlBlocks } from "./yaml-blocks";

const files = markdownFiles().map(fencesOf);

describe("code blocks", () => {
  it("say what they are and what is done with them", () => {
    expect(files.flatMap(checkFences).map(problemText)).toEqual([]);
  });

  it("of TypeScript have no error of types", () => {
    expect(checkTypedBlocks(files).map(problemText)).toEqual([]);
  }, 120_000);

  it("of settings and tenants are accepted by what reads such files", () => {
    expect(files.flatMap(checkYamlBlocks).map(problemText)).toEqual([]);
  });
});

import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import ts from "typescript";
import { describe, expect, it } from "vitest";
import { PARTS, type Part } from "../../long/parts";
import { listShards, parseShardSelection } from "../../long/shards";

/** Returns the texts of a file of which titles may consist, each as its constant parts. */
function listTexts(file: string): string[][] {
  const source = ts.createSourceFile(file, readFileSync(file, "utf8"), ts.ScriptTarget.Latest);
  const texts: string[][] = [];
  ts.forEachChild(source, function visit(node) {
    if (ts.isStringLiteralLike(node)) texts.push([node.text]);
    if (ts.isTemplateExpression(node)) {
      texts.push([node.head, ...node.templateSpans.map(({ literal }) => literal)].map(({ text }) => text));
    }
    ts.forEachChild(node, visit);
  });
  return texts;
}

/** Whether a pattern selects a title. The computed parts of the title may be a number or what the pattern has there. */
function selectsTitle(pattern: string, parts: readonly string[]): boolean {
  const title = new RegExp(`^${parts.map((part) => part.replace(/[$()*+.?[\\\]^{|}]/g, "\\$&")).join("\\w+")}$`);
  return new RegExp(pattern).test(parts.join("1")) || title.test(pattern);
}

describe.each(Object.entries(PARTS))("part %s", (name, part) => {
  it("exists in the file that it names or next to it", () => {
    expect(existsSync(`${part.file}.test.ts`)).toBe(true);
    const directory = dirname(part.file);
    // Another file in the same directory may look up the part for the test.
    const all = readdirSync(directory).filter((file) => file.endsWith(".ts"));
    const texts = all.map((file) => readFileSync(join(directory, file), "utf8")).join("\n");
    expect(texts).toContain(`"${name.replace(/-native$/, "")}"`);
  });

  it("selects tests by a title that exists", () => {
    const { file, only } = part as Part;
    if (only === undefined) return;
    // A file of the same directory may declare the tests for several files.
    const files = readdirSync(dirname(file)).filter((name) => name.endsWith(".ts"));
    const texts = files.flatMap((name) => listTexts(join(dirname(file), name)));
    expect(texts.filter((parts) => selectsTitle(only, parts))).not.toEqual([]);
  });

  it("assigns each case to exactly one shard", () => {
    const cases = listShards(name, part).flatMap(({ from, count }) =>
      Array.from({ length: count }, (_, index) => from + index),
    );
    expect(cases).toEqual(Array.from({ length: part.cases }, (_, index) => index));
  });
});

describe("argument parsing", () => {
  it("selects all parts, some parts, one case or a range", () => {
    const all = Object.keys(PARTS);
    expect(parseShardSelection([])).toEqual({ parts: all, shards: [] });
    expect(parseShardSelection(["soak", "kills"])).toEqual({
      parts: all.filter((name) => ["soak", "kills"].includes(name)),
      shards: [],
    });
    expect(parseShardSelection(["kills:40", "models:0+5000"])).toEqual({
      parts: [],
      shards: [
        { part: "kills", from: 40, count: 1 },
        { part: "models", from: 0, count: 5_000 },
      ],
    });
  });

  it.each([
    ["kill", /^"kill" is none of the parts, which are native-import, .*kills.*\. Nothing was run\.$/],
    ["kills:", /is none of the parts/],
    ["kills:420", /^"kills:420" is beyond the 420 cases of kills, which begin at 0\. Nothing was run\.$/],
    ["kills:419+2", /is beyond the 420 cases/],
    ["kills:1+0", /is none of the parts/],
    ["toString", /is none of the parts/],
  ])("rejects the unknown name %s", (typed, reason) => {
    expect(() => parseShardSelection(["soak", typed])).toThrow(reason);
  });
});

import { globSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { MUTATION_PARTS, type MutationPart, selectParts } from "../../mutation/parts";

const parts: [string, MutationPart][] = Object.entries(MUTATION_PARTS);

function listSources({ sources }: MutationPart): string[] {
  const excluded = sources.filter((glob) => glob.startsWith("!")).map((glob) => glob.slice(1));
  return globSync(
    sources.filter((glob) => !glob.startsWith("!")),
    { exclude: excluded },
  );
}

/** Expands the braces of a glob, because a glob matches if only one of its alternatives does. */
function expandBraces(glob: string): string[] {
  const [, before = "", alternatives, after = ""] = /^(.*?)\{([^}]*)\}(.*)$/.exec(glob) ?? [];
  if (alternatives === undefined) return [glob];
  return alternatives.split(",").flatMap((alternative) => expandBraces(`${before}${alternative}${after}`));
}

describe.each(parts)("part %s", (_name, part) => {
  it("has a source for each glob", () => {
    const globs = part.sources.map((glob) => glob.replace(/^!/, "")).flatMap(expandBraces);
    for (const glob of globs) expect(globSync(glob), glob).not.toEqual([]);
  });

  it("has a test for each glob", () => {
    for (const glob of part.tests.flatMap(expandBraces)) expect(globSync(glob), glob).not.toEqual([]);
  });
});

it("assigns no source to two parts", () => {
  const sources = parts.flatMap(([, part]) => listSources(part));
  expect(sources).toHaveLength(new Set(sources).size);
});

it("covers every lifecycle", () => {
  const sources = new Set(parts.flatMap(([, part]) => listSources(part)));
  const expectedFiles = globSync("provider/{resources/lifecycle,tenant}/*.ts");
  expect(expectedFiles.filter((file) => !sources.has(file))).toEqual(["provider/tenant/index.ts"]);
});

it("selects parts in their own order", () => {
  expect(selectParts(["risk", "next-step"])).toEqual(["next-step", "risk"]);
});

it("selects all parts without names", () => {
  expect(selectParts([])).toEqual(Object.keys(MUTATION_PARTS));
});

it("rejects an unknown part", () => {
  expect(() => selectParts(["risks"])).toThrow(/^"risks" is not a part\. The parts are next-step, risk, .*\.$/);
});

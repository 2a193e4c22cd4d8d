import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import fc from "fast-check";
import { expect, it } from "vitest";
import { formatFilePatch } from "../../../provider/settings-files/file-patch";
import { createTestDirectory } from "../../support/test-directory";

/** Applies a patch with git; it must match at exactly the lines that it names. */
function applyPatch(before: string, patch: string): string {
  using directory = createTestDirectory({ x: before, patch });
  const { status, stderr } = spawnSync("git", ["apply", "--verbose", "patch"], {
    cwd: directory.path,
    encoding: "utf8",
  });
  expect(stderr).not.toContain("offset");
  expect(status).toBe(0);
  return readFileSync(directory.at("x"), "utf8");
}

it("formats a patch that git applies at its exact lines", () => {
  const line = fc.constantFrom("", "a", "b", "  - d.example");
  const lines = fc.array(line, { minLength: 1, maxLength: 12 });
  fc.assert(
    fc.property(lines, lines, lines, lines, fc.constantFrom("\n", "\r\n"), (above, old, now, below, end) => {
      const joinLines = (...all: string[]): string => all.map((item) => item + end).join("");
      const [before, after] = [joinLines(...above, ...old, ...below), joinLines(...above, ...now, ...below)];
      if (before !== after) expect(applyPatch(before, formatFilePatch("x", before, after))).toBe(after);
    }),
    { numRuns: 25 },
  );
});

it("shows only a few lines around a change", () => {
  const formatLines = (value: string, end: string): string =>
    `${Array.from({ length: 1_000 }, (_, index) => (index === 500 ? value : `line ${index}`)).join("\n")}${end}`;
  for (const end of ["\n", ""]) {
    const [before, after] = [formatLines("old", end), formatLines("new", `${end}last`)];
    const patch = formatFilePatch("x", before, after);
    expect(patch.split("\n").length).toBeLessThan(30);
    expect(applyPatch(before, patch)).toBe(after);
  }
});

it("formats a valid patch for texts too different to diff minimally", () => {
  const formatDenyList = (offset: number, end: string): string =>
    `deny:\n${Array.from({ length: 1_500 }, (_, index) => `  - value: d${index * 2 + offset}.example`).join("\n")}${end}`;
  for (const end of ["\n", ""]) {
    const [before, after] = [formatDenyList(0, end), formatDenyList(1, end)];
    expect(applyPatch(before, formatFilePatch("x", before, after))).toBe(after);
  }
});

it("shows each of many changes with its own context", () => {
  const entries = Array.from({ length: 2_000 }, (_, index) => [`  - value: d${index}.example`, "    ticket: INC-1"]);
  const [before, after] = [entries, entries.filter((_entry, index) => index % 10 !== 5)].map(
    (some) => `${some.flat().join("\n")}\n`,
  ) as [string, string];
  const patch = formatFilePatch("x", before, after);
  const [, , ...lines] = patch.trimEnd().split("\n");
  expect(lines.filter((line) => line.startsWith("@@"))).toHaveLength(200);
  expect(lines.filter((line) => line.startsWith("-"))).toHaveLength(400);
  expect(lines.filter((line) => line.startsWith("+"))).toEqual([]);
  expect(lines.filter((line) => line.startsWith(" "))).toHaveLength(1_600);
  expect(applyPatch(before, patch)).toBe(after);
});

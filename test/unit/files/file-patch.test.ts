import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import fc from "fast-check";
import { expect, it } from "vitest";
import { patchBetween } from "../../../provider/files/file-patch";
import { settingsFolder } from "../../support/settings-folder";

/** What git makes of a text by a patch, which must fit at the very lines that it names. */
function patched(before: string, patch: string): string {
  using folder = settingsFolder({ x: before, patch });
  const { status, stderr } = spawnSync("git", ["apply", "--verbose", "patch"], {
    cwd: folder.path,
    encoding: "utf8",
  });
  expect(stderr).not.toContain("offset");
  expect(status).toBe(0);
  return readFileSync(folder.at("x"), "utf8");
}

it("makes the one text of the other, wherever they differ, at the lines that it names", () => {
  const line = fc.constantFrom("", "a", "b", "  - d.example");
  const lines = fc.array(line, { minLength: 1, maxLength: 12 });
  fc.assert(
    fc.property(lines, lines, lines, lines, fc.constantFrom("\n", "\r\n"), (above, old, now, below, end) => {
      const textOf = (...all: string[]): string => all.map((one) => one + end).join("");
      const [before, after] = [textOf(...above, ...old, ...below), textOf(...above, ...now, ...below)];
      if (before !== after) expect(patched(before, patchBetween("x", before, after))).toBe(after);
    }),
    { numRuns: 25 },
  );
});

it("shows a few lines around a change, and git takes it", () => {
  const lines = (value: string, end: string): string =>
    `${Array.from({ length: 1_000 }, (_, at) => (at === 500 ? value : `line ${at}`)).join("\n")}${end}`;
  for (const end of ["\n", ""]) {
    const [before, after] = [lines("old", end), lines("new", `${end}last`)];
    const patch = patchBetween("x", before, after);
    expect(patch.split("\n").length).toBeLessThan(30);
    expect(patched(before, patch)).toBe(after);
  }
});

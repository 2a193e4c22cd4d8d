import { stripVTControlCharacters } from "node:util";
import { expect, it } from "vitest";
import { wrapForTerminal } from "../../../provider/cli/wrap-for-terminal";

const LONG = `\u001b[1msettings/acme.yaml:5:3\u001b[22m \u001b[33mwarning:\u001b[39m "a.example" ${"is covered ".repeat(8)}(shadowed)`;
const TEXT = `${LONG}\n    deeper ${"word ".repeat(20).trim()}\n${"x".repeat(120)}\n`;

it("wraps terminal lines at spaces with an indent, ignoring color codes", () => {
  const lines = wrapForTerminal(TEXT, { isTTY: true, columns: 80 }).split("\n");
  const plain = lines.map((line) => stripVTControlCharacters(line));
  expect(plain.filter((line) => line.length > 80)).toEqual(["x".repeat(120)]);
  expect(plain.map((line) => line.length - line.trimStart().length)).toEqual([0, 2, 4, 6, 0, 0]);
  expect(plain[0]).toHaveLength(76);
  expect(plain.map((line) => line.trim()).join(" ")).toBe(stripVTControlCharacters(TEXT).split(/\s+/).join(" "));
});

it("wraps lines at 80 columns for a file or a pipe", () => {
  const lines = wrapForTerminal(`one ${"word ".repeat(20).trim()}`, {}).split("\n");
  expect(lines.map((line) => line.length)).toEqual([78, 26]);
});

it("keeps a command in backticks on one line", () => {
  const command = `\`email-security add deny ${"x".repeat(70)}.example --pr\``;
  expect(wrapForTerminal(`Run ${command} or \`don't.`, {}).split("\n")).toEqual([
    "Run",
    `  ${command}`,
    "  or `don't.",
  ]);
});

it("escapes a pipeline command that wrapping moves to a line start", () => {
  expect(wrapForTerminal(`${"x".repeat(78)} ::error::y`, {})).toBe(`${"x".repeat(78)}\n  \\u{3a}:error::y`);
});

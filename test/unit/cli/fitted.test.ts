import { stripVTControlCharacters } from "node:util";
import { expect, it } from "vitest";
import { fitted } from "../../../provider/cli/fitted";

const LONG = `\u001b[1msettings/acme.yaml:5:3\u001b[22m \u001b[33mwarning:\u001b[39m "a.example" ${"is covered ".repeat(8)}(shadowed)`;
const TEXT = `${LONG}\n    deeper ${"word ".repeat(20).trim()}\n${"x".repeat(120)}\n`;

it("breaks lines for a terminal at spaces, two columns deeper, and counts no colour", () => {
  const lines = fitted(TEXT, { isTTY: true, columns: 80 }).split("\n");
  const plain = lines.map((line) => stripVTControlCharacters(line));
  expect(plain.filter((line) => line.length > 80)).toEqual(["x".repeat(120)]);
  expect(plain.map((line) => line.length - line.trimStart().length)).toEqual([0, 2, 4, 6, 0, 0]);
  expect(plain[0]).toHaveLength(76);
  expect(plain.map((line) => line.trim()).join(" ")).toBe(
    stripVTControlCharacters(TEXT).split(/\s+/).join(" "),
  );
});

it("leaves lines whole for who is no terminal", () => {
  expect(fitted(TEXT, { columns: 80 })).toBe(TEXT);
  expect(fitted(TEXT, { isTTY: true })).toBe(TEXT);
});

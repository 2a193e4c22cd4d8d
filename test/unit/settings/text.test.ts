import { describe, expect, test } from "vitest";
import { canonicalComment, printable, quote } from "../../../provider/settings/text";

describe("quote shows a value inside a message", () => {
  test.each<[unknown, string]>([
    ["5", '"5"'],
    [5, "5"],
    [null, "null"],
    [undefined, "undefined"],
    [{ a: [1, "x"] }, '{"a":[1,"x"]}'],
    [10n, "10"],
    ["line\nbreak", '"line\\u{a}break"'],
    ["\u{1b}[2J", '"\\u{1b}[2J"'],
    ["\u{2028}\u{202e}\u{feff}", '"\\u{2028}\\u{202e}\\u{feff}"'],
  ])("%o as %s", (value, shown) => {
    expect(quote(value)).toBe(shown);
  });

  test("what can't be written as JSON does not make it throw", () => {
    const fails = {
      toJSON() {
        throw new Error("no");
      },
    };
    expect(quote(fails)).toBe("an object");
  });

  test("long text is cut, and never through a character", () => {
    expect(quote("abcdef", 3)).toBe('"abc…"');
    expect(quote("ab😀cd", 3)).toBe('"ab…"');
  });
});

test("printable text leaves letters of all scripts as they are", () => {
  expect(printable("Jürgen 日本語 😀")).toBe("Jürgen 日本語 😀");
});

describe("comments are compared without what an editor may change", () => {
  test.each([
    ["a\r\nb\rc", "a\nb\nc"],
    [" a ", "a"],
    ["e\u0301", "é"],
    [undefined, ""],
    [null, ""],
  ])("%j as %j", (comment, canonical) => {
    expect(canonicalComment(comment)).toBe(canonical);
  });
});

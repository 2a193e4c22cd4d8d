import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { decodeEntry, encodeEntryKey } from "../../../provider/model/encoded-list";
import { parseEntryValue, parseMailbox } from "../../../provider/model/entry-value";
import {
  canonicalizeComment,
  describeTextChange,
  findHarmfulText,
  isPrintable,
  percentEncodeUnprintable,
  quote,
  sanitizeLine,
  sanitizeMultiline,
  toComparisonText,
} from "../../../provider/model/text";
import { findTerminalCommands, HOSTILE, hostileText } from "../../support/hostile-text";

describe("quote", () => {
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
  ])("shows %o as %s", (value, displayText) => {
    expect(quote(value)).toBe(displayText);
  });

  test("handles a value that can't be serialized to JSON", () => {
    const fails = {
      toJSON() {
        throw new Error("no");
      },
    };
    expect(quote(fails)).toBe("an object");
  });

  test("truncates long text without splitting a character", () => {
    expect(quote("abcdef", 3)).toBe('"abc…"');
    expect(quote("ab😀cd", 3)).toBe('"ab…"');
  });

  test("picks quotes that the value does not contain", () => {
    expect(quote('"abc"')).toBe(`'"abc"'`);
    expect(quote("it's")).toBe(`"it's"`);
    expect(quote(`"it's"`)).toBe(String.raw`"\"it's\""`);
  });
});

describe("sanitizeLine", () => {
  test.each([
    "Jürgen 日本語 😀",
    "a < b, {%}",
    "# one ## two [x]",
    "::1",
    "2001:db8::ff",
    "see a::b",
    "=SUM(A1)",
    "<b>",
  ])("keeps %s unchanged", (text) => {
    expect(sanitizeLine(text)).toBe(text);
    expect(findHarmfulText(text)).toBeUndefined();
  });

  test.each([
    ["::add-mask::x", "\\u{3a}:add-mask::x"],
    [" ::error::x", " \\u{3a}:error::x"],
    ["##vso[task.complete]", "\\u{23}#vso[task.complete]"],
    ["a ###[debug]", "a #\\u{23}#[debug]"],
    ["04da6b54-80e4-46f7-96ec-b56ff0331ba9", "\\u{30}4da6b54-80e4-46f7-96ec-b56ff0331ba9"],
    ["<{%fg 1%}>", "\\u{3c}{%fg 1%}>"],
    ["half \ud800 a character", "half \\u{d800} a character"],
  ])("escapes %j as %s", (text, displayText) => {
    expect(sanitizeLine(text)).toBe(displayText);
  });
});

/** Hostile elsewhere, but not interpreted by a terminal, the engine or a pipeline. */
const NO_COMMAND = new Set(["HTML", "Markdown", "a formula", "another formula", "very long"]);

describe("external text", () => {
  test.each(Object.entries(HOSTILE))("is flagged as harmful only when it contains a command: %s", (name, text) => {
    const isText = NO_COMMAND.has(name);
    expect(findTerminalCommands(text).length === 0).toBe(isText);
    expect(findHarmfulText(text) === undefined).toBe(isText);
  });

  test("becomes one harmless line when printed", () => {
    fc.assert(
      fc.property(hostileText, (text) => {
        for (const sanitized of [
          sanitizeLine(text),
          quote(text),
          quote({ [text]: [text] }),
          percentEncodeUnprintable(text),
        ]) {
          expect(sanitized).not.toMatch(/[\n\t]/);
          expect(findTerminalCommands(sanitized)).toEqual([]);
          expect(sanitizeLine(sanitized)).toBe(sanitized);
        }
      }),
    );
  });

  test("keeps no command as a comment", () => {
    fc.assert(
      fc.property(hostileText, (text) => {
        const comment = canonicalizeComment(text);
        expect(findTerminalCommands(comment)).toEqual([]);
        expect(findHarmfulText(comment)).toBeUndefined();
        expect(canonicalizeComment(comment)).toBe(comment);
        expect(sanitizeMultiline(text).split("\n")).toHaveLength(text.split(/\r\n?|\n/).length);
      }),
    );
  });

  test("stays unchanged as a harmless comment, except for line endings", () => {
    fc.assert(
      fc.property(hostileText, (text) => {
        if (findHarmfulText(text) === undefined) expect(sanitizeMultiline(text)).toBe(text.replaceAll("\r\n", "\n"));
        else expect(findTerminalCommands(findHarmfulText(text) ?? "")).toEqual([]);
      }),
    );
  });

  test("is printable whenever it is a valid list value", () => {
    fc.assert(
      fc.property(hostileText, (text) => {
        if (parseEntryValue(text).ok || parseMailbox(text).ok) expect(isPrintable(text)).toBe(true);
      }),
    );
  });

  test("yields a printable entry key that decodes to the same scope", () => {
    fc.assert(
      fc.property(hostileText, hostileText, (value, verdictScope) => {
        const key = encodeEntryKey({ value, entryType: "domain", verdictScope: `x${verdictScope}` });
        expect(findTerminalCommands(key)).toEqual([]);
        expect(decodeEntry(key, "deny")?.verdictScope).toBe(`x${verdictScope}`.toWellFormed());
      }),
    );
  });
});

test("considers a value printable only if all its short texts are", () => {
  expect(isPrintable("x".repeat(1_000))).toBe(true);
  expect(isPrintable("x".repeat(1_001))).toBe(false);
  expect(isPrintable({ a: [1, null, undefined, { b: "\u{1b}" }] })).toBe(false);
  expect(isPrintable({ "\u{1b}": 1 })).toBe(false);
  expect(isPrintable({ a: [1, null, undefined, { b: "c" }] })).toBe(true);
});

test("quotes the harmful part of a comment with its context", () => {
  expect(findHarmfulText("Contract 2026-114\nsee \u{1b}[31mthe wiki for more of this and that")).toBe(
    '"6-114\\u{a}see \\u{1b}[31mthe wiki for more of this"',
  );
  expect(findHarmfulText("a\r\nb\tc")).toBeUndefined();
  expect(findHarmfulText("a\rb")).toBe('"a\\u{d}b"');
  expect(findHarmfulText("a\n::add-mask::b")).toBeDefined();
  expect(findHarmfulText("می\u200cخواهم 👨\u200d👩\u200d👧 \u200f")).toBeUndefined();
});

describe("canonicalizeComment", () => {
  test.each([
    ["a\r\nb\rc", "a\nb\nc"],
    [" a ", "a"],
    ["e\u0301", "é"],
    [undefined, ""],
    [null, ""],
  ])("normalizes %j as %j", (comment, canonical) => {
    expect(canonicalizeComment(comment)).toBe(canonical);
  });
});

describe("comment comparison text", () => {
  test.each([
    ["a  b\n\tc\u00a0d ", "a b c d"],
    ["a b", "a b"],
    ["ﬁnance e\u0301", "finance é"],
    [" \n ", ""],
    [undefined, ""],
  ])("compares %j as %j", (text, compared) => {
    expect(toComparisonText(text)).toBe(compared);
  });

  test("is idempotent", () => {
    fc.assert(
      fc.property(hostileText, (text) => {
        expect(toComparisonText(toComparisonText(text))).toBe(toComparisonText(text));
        expect(toComparisonText(canonicalizeComment(text))).toBe(toComparisonText(text));
      }),
    );
  });

  test.each([
    ["INC-7: phishing of May", "", "stores no comment"],
    ["INC-7: phishing of May", "INC-7: phi", "stores only the first 10 characters"],
    ["a & b", "a &amp; b", 'stores "a &amp; b" instead of "a & b"'],
    ["", "by hand", 'stores "by hand" instead of ""'],
  ])("describes %j that came back as %j: %s", (sent, kept, expectedText) => {
    expect(describeTextChange(sent, kept)).toBe(expectedText);
  });
});

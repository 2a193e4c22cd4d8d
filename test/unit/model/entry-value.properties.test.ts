import { isIP } from "node:net";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  canonicalizeMailbox,
  canonicalizeValue,
  parseEntryValue,
  parseMailbox,
} from "../../../provider/model/entry-value";
import { getRunCount } from "../../support/matrix-sampling";

/** Arbitrary text, and text close to valid values: parts of values and of common mistakes, in any order. */
const anyText = fc.oneof(
  fc.string({ unit: "binary" }),
  fc.string({ unit: "grapheme" }),
  fc.domain(),
  fc.emailAddress(),
  fc.ipV4(),
  fc.ipV6(),
  fc.webUrl(),
  fc
    .array(
      fc.constantFrom(
        ..."aAzZ059.-_@:/%*<>[](){},;?# \t\n".split(""),
        ..."\u0000\u00ad\u200b\u202e\ufeff\u00a0。İıßẞſKΣς\u0308\u0301❤".split(""),
        ...["evil.example", "xn--", "xn--bcher-kva", "bücher", "://", "hxxp://", "mailto:", "[.]", "(dot)", "[at]"],
        ...["192.0.2.1", "010.", "::", "::ffff:", "2001:db8::1", "/32", "/128", "com", "localhost", "*@", "*."],
      ),
      { maxLength: 12 },
    )
    .map((parts) => parts.join("")),
);

const extractSuggestion = (reason: string): string | undefined => /; write "(.*)"$/s.exec(reason)?.[1];

describe("arbitrary text", () => {
  test("is parsed without throwing", () => {
    fc.assert(
      fc.property(anyText, (text) => {
        for (const parsed of [parseEntryValue(text), parseMailbox(text)]) {
          if (!parsed.ok) expect(parsed.reason).toMatch(/\S/);
        }
      }),
      { numRuns: getRunCount(3000) },
    );
  });

  test("has an idempotent canonical form", () => {
    fc.assert(
      fc.property(anyText, (text) => {
        const value = canonicalizeValue(text);
        expect(canonicalizeValue(value)).toBe(value);
        const mailbox = canonicalizeMailbox(text);
        expect(canonicalizeMailbox(mailbox)).toBe(mailbox);
      }),
      { numRuns: getRunCount(3000) },
    );
  });

  test("parses to the same value from its canonical form", () => {
    fc.assert(
      fc.property(anyText, (text) => {
        const parsed = parseEntryValue(text);
        if (parsed.ok) expect(parseEntryValue(parsed.value.canonical)).toEqual(parsed);
      }),
      { numRuns: getRunCount(3000) },
    );
  });

  test("gets only suggestions that are accepted", () => {
    fc.assert(
      fc.property(anyText, (text) => {
        const value = parseEntryValue(text);
        const written = value.ok ? undefined : extractSuggestion(value.reason);
        if (written !== undefined) expect(parseEntryValue(written).ok).toBe(true);
        const mailbox = parseMailbox(text);
        const address = mailbox.ok ? undefined : extractSuggestion(mailbox.reason);
        if (address !== undefined) expect(parseMailbox(address).ok).toBe(true);
      }),
      { numRuns: getRunCount(3000) },
    );
  });

  test("gets a one-line message without control characters", () => {
    fc.assert(
      fc.property(anyText, (text) => {
        const parsed = parseEntryValue(text);
        if (!parsed.ok) expect(parsed.reason).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u);
      }),
    );
  });
});

test("canonicalizes an IPv6 address as URLs do", () => {
  fc.assert(
    fc.property(fc.ipV6(), (text) => {
      // Node.js rejects some of fast-check's addresses.
      fc.pre(isIP(text) === 6);
      expect(canonicalizeValue(text)).toBe(new URL(`http://[${text}]/`).hostname.slice(1, -1));
    }),
    { numRuns: getRunCount(2000) },
  );
});

test("canonicalizes a mailbox consistently when lower case changes its length", () => {
  // 22 × ẞ are 66 bytes and 22 × ß 44; 32 × Ⱥ are 64 bytes and 32 × ⱥ 96.
  for (const local of ["ẞ".repeat(22), "Ⱥ".repeat(32)]) {
    const value = canonicalizeValue(`${local}@bücher.example`);
    expect(canonicalizeValue(value)).toBe(value);
  }
});

/*
 * In quadratic time the first of these would take minutes and exceed the test's timeout; in linear time all take
 * milliseconds.
 */
test.each([
  ["colons", `${":".repeat(1_000_000)}g`],
  ["digits and dots", `${"1.".repeat(500_000)}x`],
  ["combining marks before an @", `a${"\u0301\u0316".repeat(500_000)}@evil.example`],
  ["combining marks in a domain", `a${"\u0301\u0316".repeat(500_000)}.example`],
  ["letters that IDNA encodes", `${"日本".repeat(500_000)}.example`],
  ["opening angle brackets", "<".repeat(1_000_000)],
  ["white space", `${" ".repeat(1_000_000)}x y${" ".repeat(1_000_000)}`],
  ["opening brackets and dots", "[.".repeat(500_000)],
  ["slashes", `evil.example${"/".repeat(1_000_000)}`],
  ["at signs", "@".repeat(1_000_000)],
  ["commas", `${",".repeat(1_000_000)}x`],
  ["labels", "a.".repeat(500_000)],
])("rejects a very long row of %s in linear time", (_name, text) => {
  expect(parseEntryValue(text).ok).toBe(false);
  expect(parseMailbox(text).ok).toBe(false);
  expect(canonicalizeValue(canonicalizeValue(text))).toBe(canonicalizeValue(text));
  const { reason } = parseEntryValue(text) as { reason: string };
  expect(reason.length).toBeLessThan(1000);
});

import fc from "fast-check";
import { expect, it } from "vitest";
import {
  buildAlternateKey,
  decodeEntry,
  decodeVip,
  encodeEntry,
  encodeEntryKey,
  encodeVip,
  isUnmanaged,
  markUnmanaged,
  stripUnmanaged,
} from "../../../provider/model/encoded-list";
import { canonicalizeValue } from "../../../provider/model/entry-value";
import { canonicalizeComment } from "../../../provider/model/text";
import { getRunCount } from "../../support/matrix-sampling";

const value = fc.oneof(
  fc.domain(),
  fc.ipV4(),
  fc.emailAddress(),
  fc.string({ minLength: 1, unit: "binary" }),
  fc.constantFrom("a (b)", "com", "x (also allow)", "100%", "a%28b", "__proto__", "x (type domain)"),
);
const scope = fc.oneof(
  fc.constantFrom("global", "graymail", "type ip", "also deny", "a, b", "(x)"),
  fc.string({ minLength: 1 }),
);
/** Text with characters that are special in the surrounding syntax. */
const oddText = fc.oneof(
  fc.string({ unit: "binary" }),
  fc
    .array(
      fc.constantFrom(
        "(",
        ")",
        "\\",
        "\n",
        ": ",
        " ",
        "a",
        "allow (risk accepted: x): y",
        "(risk accepted: ",
        "(unmanaged) ",
      ),
      { maxLength: 8 },
    )
    .map((parts) => parts.join("")),
);
/** Fields of a later release, with names that this one doesn't know. */
const unknown = fc.option(fc.dictionary(fc.constantFrom("tags", "seen by", "x"), oddText, { noNullPrototype: true }), {
  nil: undefined,
});
const entry = fc.record({
  list: fc.constantFrom("allow" as const, "deny" as const),
  value,
  entryType: fc.constantFrom("domain", "ip", "email_address", "new type"),
  verdictScope: scope,
  comment: fc.option(oddText, { nil: undefined }),
  acceptRisk: fc.option(oddText, { nil: undefined }),
  unknown,
});

/** Returns the fields as read back: in canonical form, without the empty ones. */
function canonicalizeFields(fields: Readonly<Record<string, string>> = {}): object {
  const kept = Object.entries(fields).flatMap(([name, text]) => {
    const value = canonicalizeComment(text);
    return value === "" ? [] : [[name, value]];
  });
  return kept.length === 0 ? {} : { unknown: Object.fromEntries(kept) };
}

it("round-trips any entry through its key and text", () => {
  fc.assert(
    fc.property(entry, fc.boolean(), (written, unmanaged) => {
      const text = encodeEntry(written);
      const kept = unmanaged ? markUnmanaged(text) : text;
      expect(isUnmanaged(kept)).toBe(unmanaged);
      expect(stripUnmanaged(kept)).toBe(text);
      const comment = canonicalizeComment(written.comment);
      const acceptRisk = canonicalizeComment(written.acceptRisk);
      expect(decodeEntry(encodeEntryKey(written), kept)).toEqual({
        list: written.list,
        value: canonicalizeValue(written.value),
        entryType: written.entryType,
        verdictScope: written.verdictScope,
        ...(comment === "" ? {} : { comment }),
        ...(acceptRisk === "" ? {} : { acceptRisk }),
        ...canonicalizeFields(written.unknown),
      });
    }),
    { numRuns: getRunCount(2_000) },
  );
});

it("round-trips any VIP through its text", () => {
  const vip = fc.record({ comment: fc.option(oddText, { nil: undefined }), unknown });
  fc.assert(
    fc.property(vip, fc.boolean(), (written, unmanaged) => {
      const text = encodeVip(written);
      const kept = unmanaged ? markUnmanaged(text) : text;
      expect(isUnmanaged(kept)).toBe(unmanaged);
      const comment = canonicalizeComment(written.comment);
      expect(decodeVip("ceo@acme.example", kept)).toEqual({
        email: "ceo@acme.example",
        ...(comment === "" ? {} : { comment }),
        ...canonicalizeFields(written.unknown),
      });
    }),
    { numRuns: getRunCount(2_000) },
  );
});

it("encodes equal texts exactly for equal entry fields", () => {
  fc.assert(
    fc.property(entry, entry, (a, b) => {
      const same =
        JSON.stringify(canonicalizeFields(a.unknown)) === JSON.stringify(canonicalizeFields(b.unknown)) &&
        a.list === b.list &&
        canonicalizeComment(a.comment) === canonicalizeComment(b.comment) &&
        canonicalizeComment(a.acceptRisk) === canonicalizeComment(b.acceptRisk);
      expect(encodeEntry(a) === encodeEntry(b)).toBe(same);
    }),
    { numRuns: getRunCount(2_000) },
  );
});

/** Texts that releases have left in users' state. Only add lines: changing one would change every user's lists. */
it.each([
  ["deny", { list: "deny" }],
  ["deny: INC-7", { list: "deny", comment: "INC-7" }],
  ["allow: two\nlines: a", { list: "allow", comment: "two\nlines: a" }],
  ["allow: (risk accepted: x): y", { list: "allow", comment: "(risk accepted: x): y" }],
  ["allow (risk accepted: no other way)", { list: "allow", acceptRisk: "no other way" }],
  [
    "allow (risk accepted: Contract (2026), as agreed): C-7",
    { list: "allow", acceptRisk: "Contract (2026), as agreed", comment: "C-7" },
  ],
  ["deny (risk accepted: :-\\) and C:\\\\x): y", { list: "deny", acceptRisk: ":-) and C:\\x", comment: "y" }],
  // A later release may add fields in parentheses; this one keeps them.
  ["deny (tags: a, b): INC-7", { list: "deny", unknown: { tags: "a, b" }, comment: "INC-7" }],
  ["allow (risk accepted: x) (seen by: Dana)", { list: "allow", acceptRisk: "x", unknown: { "seen by": "Dana" } }],
])("keeps the meaning of the released entry text %j", (text, parts) => {
  expect(encodeEntry(parts)).toBe(text);
  expect(decodeEntry("evil.example", text)).toEqual({
    value: "evil.example",
    entryType: "domain",
    verdictScope: "global",
    ...parts,
  });
});

it("encodes equal keys exactly for equal value, type and scope", () => {
  fc.assert(
    fc.property(entry, entry, (a, b) => {
      const same =
        canonicalizeValue(a.value) === canonicalizeValue(b.value) &&
        a.entryType === b.entryType &&
        a.verdictScope === b.verdictScope;
      expect(encodeEntryKey(a) === encodeEntryKey(b)).toBe(same);
    }),
    { numRuns: getRunCount(2_000) },
  );
});

it("builds an unused alternate key for the same entry", () => {
  fc.assert(
    fc.property(entry, (written) => {
      const key = encodeEntryKey(written);
      const usedKeys = new Set([key, buildAlternateKey(key, "deny", () => false)]);
      const free = buildAlternateKey(key, "deny", (item) => usedKeys.has(item));
      expect(usedKeys.has(free)).toBe(false);
      const text = encodeEntry(written);
      expect(decodeEntry(free, text)).toEqual(decodeEntry(key, text));
    }),
  );
});

it.each([
  ["", {}],
  ["Chief executive", { comment: "Chief executive" }],
  ["(acting) CEO", { comment: "(acting) CEO" }],
  ["\\\\(since: 2026) CEO", { comment: "\\(since: 2026) CEO" }],
  ["\\(since: 2026) CEO", { comment: "(since: 2026) CEO" }],
  ["\\(unmanaged) CEO", { comment: "(unmanaged) CEO" }],
  ["(tags: a) CEO", { comment: "CEO", unknown: { tags: "a" } }],
])("keeps the meaning of the released VIP text %j", (text, parts) => {
  expect(encodeVip(parts)).toBe(text);
  expect(decodeVip("ceo@acme.example", text)).toEqual({ email: "ceo@acme.example", ...parts });
});

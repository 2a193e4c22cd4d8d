import fc from "fast-check";
import { expect, it } from "vitest";
import { canonicalValue } from "../../../provider/settings/entry-value";
import {
  anotherKey,
  asDeclared,
  asUnmanaged,
  isUnmanaged,
  keyOfEntry,
  readEntry,
  textOfEntry,
} from "../../../provider/settings/keyed-list";
import { canonicalComment } from "../../../provider/settings/text";

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
const entry = fc.record({
  list: fc.constantFrom("allow" as const, "deny" as const),
  value,
  entryType: fc.constantFrom("domain", "ip", "email_address", "new type"),
  verdictScope: scope,
  comment: fc.option(fc.string({ unit: "binary" }), { nil: undefined }),
});

it("an entry is read back from its key and text as it was, whatever the service holds", () => {
  fc.assert(
    fc.property(entry, fc.boolean(), (written, unmanaged) => {
      const text = textOfEntry(written);
      const kept = unmanaged ? asUnmanaged(text) : text;
      expect(isUnmanaged(kept)).toBe(unmanaged);
      expect(asDeclared(kept)).toBe(text);
      const comment = canonicalComment(written.comment);
      expect(readEntry(keyOfEntry(written), kept)).toEqual({
        list: written.list,
        value: canonicalValue(written.value),
        entryType: written.entryType,
        verdictScope: written.verdictScope,
        ...(comment === "" ? {} : { comment }),
      });
    }),
    { numRuns: 2_000 },
  );
});

it("entries have the same key exactly when value, type and scope are the same", () => {
  fc.assert(
    fc.property(entry, entry, (one, other) => {
      const same =
        canonicalValue(one.value) === canonicalValue(other.value) &&
        one.entryType === other.entryType &&
        one.verdictScope === other.verdictScope;
      expect(keyOfEntry(one) === keyOfEntry(other)).toBe(same);
    }),
    { numRuns: 2_000 },
  );
});

it("another key is free, and reads back as the same entry", () => {
  fc.assert(
    fc.property(entry, (written) => {
      const key = keyOfEntry(written);
      const taken = new Set([key, anotherKey(key, "deny", () => false)]);
      const free = anotherKey(key, "deny", (one) => taken.has(one));
      expect(taken.has(free)).toBe(false);
      const text = textOfEntry(written);
      expect(readEntry(free, text)).toEqual(readEntry(key, text));
    }),
  );
});

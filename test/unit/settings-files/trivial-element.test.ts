import fc from "fast-check";
import { expect, it } from "vitest";
import { settingsFileSchema } from "../../../provider/settings-files/settings-schema";
import { isTrivialElement } from "../../../provider/settings-files/trivial-element";
import { hostileText } from "../../support/hostile-text";

const text = fc.oneof(
  hostileText,
  fc.string({ maxLength: 20 }),
  fc.string({ minLength: 195, maxLength: 205, unit: fc.constantFrom("a", "b ") }),
  fc.constantFrom("INC-1", "why not", " a", "a ", "---", "", "2027-02-29", "2028-02-29", "2027-02-31", "2027-13-01"),
  fc.constantFrom(
    "never",
    "30d",
    "a::b",
    "a 04DA6B54-80e4-46f7-96ec-b56ff0331ba9",
    "##[x]",
    "::error::x",
    "evil.example",
    "EVIL.example",
    "a_b.example",
    "co.uk",
  ),
);

it("treats no element as trivial that the schema rejects", () => {
  let usual = 0;
  const element = fc
    .tuple(
      fc.oneof({ weight: 4, arbitrary: fc.constantFrom("evil.example", "a.co.uk") }, text),
      fc.constantFrom("comment", "ticket", "owner", "approvedBy", "expires", "scope", "none"),
      text,
    )
    .map(([value, key, content]) => ({ value, [key]: content }));
  fc.assert(
    fc.property(element, (item) => {
      if (!isTrivialElement(item, "deny")) return;
      usual += 1;
      expect(settingsFileSchema.safeParse({ version: 1, deny: [item] }).success).toBe(true);
    }),
    { numRuns: 2_000 },
  );
  const decisions = fc.record(
    { on: fc.constantFrom("2026-11-23", "2026-02-30", "23.11.2026"), by: text, reason: text, none: text },
    { requiredKeys: ["on"] },
  );
  fc.assert(
    fc.property(decisions, (reviewed) => {
      const item = { value: "evil.example", reviewed };
      if (isTrivialElement(item, "deny"))
        expect(settingsFileSchema.safeParse({ version: 1, deny: [item] }).success).toBe(true);
    }),
    { numRuns: 500 },
  );
  const reviewed = { on: "2026-11-23", by: "Dana" };
  expect(isTrivialElement({ value: "evil.example", reviewed }, "deny")).toBe(true);
  expect(usual).toBeGreaterThan(20);
  expect(isTrivialElement({ value: "evil.example", comment: "Why", expires: "2027-03-31" }, "deny")).toBe(true);
});

it("treats a date as trivial only if the day exists", () => {
  for (const year of ["2027", "2028"]) {
    for (let month = 0; month <= 13; month += 1) {
      for (let day = 0; day <= 32; day += 1) {
        const expires = `${year}-${String(month).padStart(2, "0")}-${String(day).padStart(2, "0")}`;
        const time = Date.parse(`${expires}T00:00:00Z`);
        const isDay = !Number.isNaN(time) && new Date(time).toISOString().startsWith(expires);
        expect([expires, isTrivialElement({ value: "evil.example", expires }, "deny")]).toEqual([expires, isDay]);
      }
    }
  }
});

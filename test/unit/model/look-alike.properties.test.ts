import { domainToUnicode } from "node:url";
import fc from "fast-check";
import { expect, it } from "vitest";
import { parseEntryValue } from "../../../provider/model/entry-value";
import { CONFUSABLES, isOneEdit } from "../../../provider/model/look-alike";
import { OwnDomains } from "../../../provider/model/own-domains";
import { getRunCount } from "../../support/matrix-sampling";

const letters = "abcdefghijklmnopqrstuvwxyz";
/** Names without combinations that look like a single letter, so that each letter stands for itself. */
const generateName = (minLength: number, maxLength = 12) =>
  fc.string({ unit: fc.constantFrom(...letters), minLength, maxLength }).filter((name) => !/rn|vv/.test(name));
/** None of these has public suffixes below it. */
const suffix = fc.constantFrom("example", "test", "co.uk", "edu");

/** Returns a domain's canonical form; undefined if it has none. */
function canonicalizeDomain(text: string): string | undefined {
  const parsed = parseEntryValue(text);
  return parsed.ok && parsed.value.entryType === "domain" ? parsed.value.canonical : undefined;
}

function isTaken(text: string, own: string): boolean | undefined {
  const canonical = canonicalizeDomain(text);
  return canonical === undefined ? undefined : new OwnDomains([own]).findLookAlike(canonical) === own;
}

it("detects any combination of confusable letters in names of any length", () => {
  const disguised = generateName(2).chain((name) =>
    fc.record({
      name: fc.constant(name),
      // Each letter unchanged or replaced by a look-alike; at least one is replaced.
      other: fc
        .tuple(...[...name].map((letter) => fc.constantFrom(letter, ...(CONFUSABLES[letter] ?? letter))))
        .map((all) => all.join(""))
        .filter((other) => other !== name),
      suffix,
    }),
  );
  fc.assert(
    fc.property(disguised, ({ name, other, suffix }) => {
      // Skips names without a valid IDNA form, and those that IDNA maps to the original name: neither is a different
      // domain.
      const canonical = canonicalizeDomain(`${other}.${suffix}`);
      fc.pre(canonical !== undefined && canonical !== canonicalizeDomain(`${name}.${suffix}`));
      expect([other, isTaken(`${other}.${suffix}`, `${name}.${suffix}`)]).toEqual([other, true]);
    }),
    { numRuns: getRunCount(1_000) },
  );
});

it("lists only confusables that are valid in domains, once each", () => {
  const all = Object.values(CONFUSABLES).join("");
  for (const other of all) {
    expect(domainToUnicode(canonicalizeDomain(`x${other}xy.example`) ?? "")).toBe(`x${other}xy.example`);
  }
  expect(new Set(all).size).toBe([...all].length);
});

it("detects another suffix or added words from four letters on", () => {
  fc.assert(
    fc.property(generateName(4), suffix, suffix, generateName(1), (name, a, b, word) => {
      if (a !== b) expect(isTaken(`${name}.${b}`, `${name}.${a}`)).toBe(true);
      for (const added of [`${name}-${word}`, `${word}-${name}`, `${name}-login`, `${name}login`, `secure${name}`]) {
        expect([added, isTaken(`${added}.${b}`, `${name}.${a}`)]).toEqual([added, true]);
      }
    }),
    { numRuns: getRunCount(300) },
  );
});

it("detects one typo from five letters on and none below four", () => {
  const generateSlips = (minLength: number, maxLength: number) =>
    generateName(minLength, maxLength).chain((name) =>
      fc
        .tuple(fc.nat({ max: name.length - 1 }), fc.constantFrom(...letters), fc.nat({ max: 3 }))
        .map(([index, letter, kind]) => ({
          name,
          other: [
            name.slice(0, index) + name.slice(index + 1),
            name.slice(0, index) + letter + name.slice(index),
            name.slice(0, index) + letter + name.slice(index + 1),
            name.slice(0, index) + (name[index + 1] ?? "") + name[index] + name.slice(index + 2),
          ][kind] as string,
        }))
        .filter(({ name, other }) => name !== other),
    );
  fc.assert(
    fc.property(generateSlips(5, 12), suffix, suffix, ({ name, other }, one, another) => {
      fc.pre(!/rn|vv/.test(other));
      expect([other, isTaken(`${other}.${another}`, `${name}.${one}`)]).toEqual([other, true]);
    }),
    { numRuns: getRunCount(500) },
  );
  fc.assert(
    fc.property(generateSlips(2, 3), suffix, ({ name, other }, one) => {
      fc.pre(other.length > 0 && !/rn|vv/.test(other));
      expect([other, isTaken(`${other}.${one}`, `${name}.${one}`)]).toEqual([other, false]);
    }),
    { numRuns: getRunCount(500) },
  );
});

it("flags fewer than 1 % of unrelated names", () => {
  let acceptedCount = 0;
  const runs = 5_000;
  fc.assert(
    fc.property(generateName(4), generateName(4), suffix, suffix, (name, a, b, another) => {
      if (name !== a && isTaken(`${a}.${another}`, `${name}.${b}`)) acceptedCount += 1;
    }),
    { numRuns: runs, seed: 7 },
  );
  expect(acceptedCount / runs).toBeLessThan(0.01);
});

it("finds one edit exactly when the edit distance is one", () => {
  const text = fc.string({ unit: fc.constantFrom("a", "b", "c"), maxLength: 6 });
  fc.assert(
    fc.property(text, text, (a, b) => {
      expect(isOneEdit(a, b)).toBe(computeDistance(a, b) === 1);
      expect(isOneEdit(a, b)).toBe(isOneEdit(b, a));
    }),
    { numRuns: getRunCount(2_000) },
  );
});

/** Returns the optimal string alignment distance, by the textbook algorithm. */
function computeDistance(a: string, b: string): number {
  const rows = Array.from({ length: a.length + 1 }, (_, i) => [i]);
  const getCell = (i: number, j: number): number => rows[i]?.[j] ?? 0;
  for (let j = 1; j <= b.length; j += 1) (rows[0] as number[])[j] = j;
  for (let i = 1; i <= a.length; i += 1) {
    for (let j = 1; j <= b.length; j += 1) {
      const cost = a[i - 1] === b[j - 1] ? 0 : 1;
      let best = Math.min(getCell(i - 1, j) + 1, getCell(i, j - 1) + 1, getCell(i - 1, j - 1) + cost);
      const isSwap = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      if (isSwap) best = Math.min(best, getCell(i - 2, j - 2) + 1);
      (rows[i] as number[])[j] = best;
    }
  }
  return getCell(a.length, b.length);
}

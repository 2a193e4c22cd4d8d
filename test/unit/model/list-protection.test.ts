import { describe, expect, it } from "vitest";
import type { EncodedList } from "../../../provider/model/encoded-list";
import { ENTRY_LIST_KIND, VIP_LIST_KIND } from "../../../provider/model/list-arguments";
import {
  createIgnoreFilter,
  createPruneFilter,
  findRemovals,
  parseValidPatterns,
  validateListProtection,
} from "../../../provider/model/list-protection";

const listProblems = (options: object, declared: EncodedList, before: EncodedList = {}, kind = ENTRY_LIST_KIND) =>
  validateListProtection(kind, { ...options }, declared, { [kind.property]: before }).map(
    ({ property, reason }) => `${property} ${reason}`,
  );
const buildDenies = (count: number, prefix = "bad") =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`${prefix}-${index}.example`, "deny"]));

describe("ignored entries", () => {
  it("must not be declared", () => {
    expect(listProblems({ ignore: ["bad-*"] }, buildDenies(2))).toEqual([
      'ignore contains "bad-*", which also matches declared items (deny bad-0.example, deny bad-1.example). Ignored items are never changed: narrow the pattern, or remove the declaration',
    ]);
  });

  it("are checked next to protected ones", () => {
    const [problem] = listProblems({ ignore: ["bad-0.example"], protect: ["bad-1.example"] }, buildDenies(2));
    expect(problem).toMatch(/^ignore contains "bad-0\.example"/);
  });

  it("are named up to five", () => {
    const [five] = listProblems({ ignore: ["bad-*"] }, buildDenies(5));
    expect(five).toContain("deny bad-3.example, deny bad-4.example)");
    const [seven] = listProblems({ ignore: ["bad-*"] }, buildDenies(7));
    expect(seven).toContain("deny bad-4.example and 2 more)");
  });

  it("aren't removed", () => {
    expect(findRemovals(ENTRY_LIST_KIND, buildDenies(2), {}, { ignore: ["bad-1.example"] })).toEqual([
      ["bad-0.example", "deny"],
    ]);
  });

  it("are selected by list and value", () => {
    const isIgnored = createIgnoreFilter(ENTRY_LIST_KIND, { ignore: ["x.example", "allow:bad-*"] });
    expect(isIgnored("bad-1.example", "allow")).toBe(true);
    expect(isIgnored("bad-1.example", "deny")).toBe(false);
    expect(isIgnored("x.example", "deny")).toBe(true);
  });
});

describe("protected entries", () => {
  it("may change their scope", () => {
    const declared = { "a.example (graymail)": "deny" };
    expect(listProblems({ protect: ["a.example"], maxRemovals: 9 }, declared, { "a.example": "deny" })).toEqual([]);
  });

  it("may not move to the other list in another scope", () => {
    const declared = { "a.example (graymail)": "allow" };
    expect(listProblems({ protect: ["a.example"] }, declared, { "a.example": "deny" })).toEqual([
      'protect contains "a.example", and this run would remove items that match it (deny a.example). Declare them again, or narrow the pattern',
    ]);
  });

  it("are each reported by their pattern", () => {
    const reported = listProblems({ protect: ["x.example", "bad-*", "y.example"] }, buildDenies(1), buildDenies(2));
    expect(reported).toEqual([
      'protect contains "x.example", but no declared entry matches it. Protected items must be declared: declare it, or remove the pattern',
      'protect contains "bad-*", and this run would remove items that match it (deny bad-1.example). Declare them again, or narrow the pattern',
      'protect contains "y.example", but no declared entry matches it. Protected items must be declared: declare it, or remove the pattern',
    ]);
  });

  it("may be the only ones that stay", () => {
    expect(listProblems({ protect: ["keep.example"] }, { "keep.example": "deny" }, { "keep.example": "deny" })).toEqual(
      [],
    );
  });
});

describe("pruned entries", () => {
  const isPruned = (mode: "additive" | "exclusive-allows" | "exclusive", text: string, ignore: string[] = []) =>
    createPruneFilter(ENTRY_LIST_KIND, { mode, ignore })("a.example", text);

  it.each([
    ["additive", "allow", false],
    ["exclusive-allows", "allow", true],
    ["exclusive-allows", "deny", false],
    ["exclusive", "deny", true],
  ] as const)("in mode %s: %s is pruned: %s", (mode, list, expected) => {
    expect(isPruned(mode, `(unmanaged) ${list}`)).toBe(expected);
  });

  it("exclude ignored ones", () => {
    expect(isPruned("exclusive", "(unmanaged) deny", ["a.example"])).toBe(false);
  });
});

describe("removals", () => {
  const listRemovals = (before: EncodedList, declared: EncodedList, options: Parameters<typeof findRemovals>[3] = {}) =>
    findRemovals(ENTRY_LIST_KIND, before, declared, options).map(([key]) => key);

  it("are the keys that are no longer declared", () => {
    expect(listRemovals(buildDenies(3), buildDenies(1))).toEqual(["bad-1.example", "bad-2.example"]);
  });

  it("exclude unmanaged keys unless the mode prunes them", () => {
    const unmanagedEntries = { "a.example": "(unmanaged) deny" };
    expect(listRemovals(unmanagedEntries, {})).toEqual([]);
    expect(listRemovals(unmanagedEntries, {}, { mode: "exclusive" })).toEqual(["a.example"]);
  });

  it("are none if a destroyed list keeps its entries", () => {
    expect(listRemovals(buildDenies(3), {}, { onDelete: "keep" })).toEqual([]);
  });
});

describe("removal guard", () => {
  it("names the removals", () => {
    const [problem] = listProblems({}, buildDenies(1, "new"), buildDenies(20));
    expect(problem).toMatch(/^entries would lose 20 of 20 entries \(100 %\)\. One run may remove at most 30 %\.\n/);
    expect(problem).toContain("\n  - deny bad-4.example\n  … and 15 more, among them 15 removed denies\n");
  });

  it("counts removed VIPs", () => {
    const members = Object.fromEntries(Array.from({ length: 12 }, (_, index) => [`vip-${index}@acme.example`, ""]));
    const [problem] = listProblems({}, { "ceo@acme.example": "" }, members, VIP_LIST_KIND);
    expect(problem).toMatch(/^members would lose 12 of 12 VIPs \(100 %\)/);
    expect(problem).toContain("  … and 7 more, among them 7 removed VIPs");
  });

  it("lets a new scope stand for one removed scope only", () => {
    const before = {
      ...buildDenies(40),
      ...Object.fromEntries(Object.keys(buildDenies(40)).map((key) => [`${key} (spam)`, "deny"])),
    };
    const declared = Object.fromEntries(Object.keys(buildDenies(40)).map((key) => [`${key} (graymail)`, "deny"]));
    expect(listProblems({}, declared, before)).toEqual([expect.stringMatching(/^entries would lose 40 of 80 entries/)]);
  });

  it("counts both scopes of a removed value", () => {
    const before = {
      ...buildDenies(20),
      ...Object.fromEntries(Object.keys(buildDenies(20)).map((key) => [`${key} (spam)`, "deny"])),
    };
    expect(listProblems({}, buildDenies(1, "new"), before)).toEqual([
      expect.stringMatching(/^entries would lose 40 of 40 entries/),
    ]);
  });

  it.each([
    [31, false],
    ["31", true],
    [undefined, true],
  ])("takes a confirmation of the previous run as used: %j, allowed %s", (previous, isAllowed) => {
    const inputs = { confirmRemovals: 31 };
    const failures = validateListProtection(ENTRY_LIST_KIND, inputs, buildDenies(69), {
      entries: buildDenies(100),
      confirmRemovals: previous,
    });
    expect(failures.length === 0).toBe(isAllowed);
  });

  it("works without a previous run", () => {
    expect(validateListProtection(ENTRY_LIST_KIND, {}, buildDenies(1), {})).toEqual([]);
  });
});

describe("parseValidPatterns", () => {
  it("skips invalid patterns", () => {
    const texts = ["a.example", "", 5, "b.example"] as string[];
    expect(parseValidPatterns(texts).map(({ text }) => text)).toEqual(["a.example", "b.example"]);
  });

  it.each([undefined, "a.example"])("takes %j for no pattern", (texts) => {
    expect(parseValidPatterns(texts as string[] | undefined)).toEqual([]);
  });
});

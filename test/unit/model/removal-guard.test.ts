import { describe, expect, it } from "vitest";
import type { RawArguments } from "../../../provider/model/arguments";
import { ENTRY_LIST_KIND } from "../../../provider/model/list-arguments";
import { validateListProtection } from "../../../provider/model/list-protection";
import { type RemovalLimits, validateRemovals } from "../../../provider/model/removal-guard";

function describeViolation(
  removed: number,
  countBefore: number,
  limits: RemovalLimits = {},
  { after: countAfter = countBefore - removed, confirmedBefore }: { after?: number; confirmedBefore?: number } = {},
): string | undefined {
  const names = Array.from({ length: removed }, (_, index) => `deny bad-${index}.example`);
  const all = names.map((name) => ({ name, from: name.split(" ")[0] }));
  return validateRemovals(
    { removedItems: all, countBefore, countAfter, noun: ["entry", "entries"] },
    limits,
    confirmedBefore,
  );
}

describe("default removal limits", () => {
  it.each([
    [0, 100, true],
    [9, 10, true],
    [9, 29, true],
    [10, 34, true],
    [10, 33, false],
    [30, 100, true],
    [31, 100, false],
    [1, 1, false],
    [3, 3, false],
    [5000, 5000, false],
  ])("checks %i of %i removals: allowed is %s", (removed, before, allowed) => {
    expect(describeViolation(removed, before) === undefined).toBe(allowed);
  });

  it("counts a fully replaced list as removals", () => {
    expect(describeViolation(9, 9, {}, { after: 9 })).toBeUndefined();
    expect(describeViolation(10, 10, {}, { after: 10 })).toContain("10 of 10 entries (100 %)");
  });
});

describe("custom removal limits", () => {
  it.each([
    [50, 100, { maxRemovals: 50 }, true],
    [51, 100, { maxRemovals: 50 }, false],
    [3, 100, { maxRemovals: 2 }, false],
    [50, 100, { maxRemovalFraction: 0.5 }, true],
    [51, 100, { maxRemovalFraction: 0.5 }, false],
    [2, 100, { maxRemovalFraction: 0.01 }, false],
    [40, 100, { maxRemovals: 50, maxRemovalFraction: 0.3 }, false],
    [60, 100, { maxRemovals: 50, maxRemovalFraction: 1 }, false],
    [100, 100, { maxRemovals: 100 }, false],
    [100, 100, { maxRemovalFraction: 1 }, true],
    [0, 100, { maxRemovals: 0 }, true],
  ])("checks %i of %i removals with %j: allowed is %s", (removed, before, limits, allowed) => {
    expect(describeViolation(removed, before, limits) === undefined).toBe(allowed);
  });
});

describe("confirmRemovals", () => {
  it("allows exactly the confirmed number regardless of limits", () => {
    expect(describeViolation(80, 100, { confirmRemovals: 80 })).toBeUndefined();
    expect(describeViolation(100, 100, { confirmRemovals: 100, maxRemovals: 1 })).toBeUndefined();
    expect(describeViolation(80, 100, { confirmRemovals: 79 })).toContain(
      "it is currently 79, which isn't the number of removals",
    );
    expect(describeViolation(80, 100, { confirmRemovals: 81 })).toBeDefined();
  });

  it("is valid for one run only", () => {
    const used = describeViolation(3, 3, { confirmRemovals: 3 }, { confirmedBefore: 3 });
    expect(used).toContain("maxRemovalFraction: 1");
    expect(
      describeViolation(3, 3, { confirmRemovals: 3, maxRemovalFraction: 1 }, { confirmedBefore: 3 }),
    ).toBeUndefined();
    expect(describeViolation(80, 100, { confirmRemovals: 80 }, { confirmedBefore: 80 })).toContain(
      "only valid for one run",
    );
    expect(describeViolation(80, 100, { confirmRemovals: 80 }, { confirmedBefore: 12 })).toBeUndefined();
    expect(describeViolation(5, 100, { confirmRemovals: 80 }, { confirmedBefore: 80 })).toBeUndefined();
  });
});

it("explains a refusal", () => {
  expect(describeViolation(412, 500)).toBe(
    [
      "would lose 412 of 500 entries (82 %). One run may remove at most 30 %.",
      "  - deny bad-0.example",
      "  - deny bad-1.example",
      "  - deny bad-2.example",
      "  - deny bad-3.example",
      "  - deny bad-4.example",
      "  … and 407 more, among them 407 removed denies",
      "Nothing was changed. If this isn't intended, check the program's input: a truncated file, a filter, a wrong stack.",
      "If it is intended, set one of these for the list:",
      "  confirmRemovals: 412   allows it for this one run; remove it afterwards.",
      "  maxRemovals: 412   allows every run to remove that many.",
      "  maxRemovalFraction: 0.83   allows every run to remove that fraction.",
    ].join("\n"),
  );
});

it.each([
  [{ maxRemovals: 2 }, "at most 2 (maxRemovals).", "maxRemovals: 4   allows every run to remove that many."],
  [
    { maxRemovalFraction: 0.015 },
    "at most 1.5 % (maxRemovalFraction).",
    "maxRemovalFraction: 0.04   allows every run to remove that fraction.",
  ],
])("names the remedy for exceeding %j", (limits, limit, remedy) => {
  const lines = describeViolation(4, 100, limits)?.split("\n") ?? [];
  expect(lines[0]).toBe(`would lose 4 of 100 entries (4 %). One run may remove ${limit}`);
  expect(lines.slice(5)).toEqual([
    expect.stringMatching(/^Nothing was changed\./),
    "If it is intended, set one of these for the list:",
    "  confirmRemovals: 4   allows it for this one run; remove it afterwards.",
    `  ${remedy}`,
  ]);
});

it("suggests how to empty a list", () => {
  const refusal = describeViolation(3, 3);
  expect(refusal).toContain("(100 %), all of them. A list is never emptied without explicit confirmation.\n");
  expect(refusal).toMatch(/\n {2}maxRemovalFraction: 1 {3}allows every run to remove all of them\.$/);
});

it("accepts each remedy that it suggests", () => {
  for (const [removed, before] of [
    [31, 100],
    [412, 500],
    [2, 3],
    [10, 33],
    [667, 1000],
  ] as const) {
    for (const limits of [{ maxRemovalFraction: 0.001 }, { maxRemovals: 1 }, {}]) {
      const refusal = describeViolation(removed, before, limits) ?? "";
      for (const [, name, value] of refusal.matchAll(
        /(confirmRemovals|maxRemovals|maxRemovalFraction): ([\d.]+) {3}/g,
      )) {
        expect(
          describeViolation(removed, before, { ...limits, [name as string]: Number(value) }),
          `${name}: ${value}`,
        ).toBeUndefined();
      }
    }
  }
});

describe("change of scope in a list", () => {
  const buildContent = (count: number, { from = 0, scope = "", text = "deny" } = {}): Record<string, string> =>
    Object.fromEntries(Array.from({ length: count }, (_, index) => [`bad-${from + index}.example${scope}`, text]));
  const listProblems = (
    before: Record<string, string>,
    after: Record<string, string>,
    options: RawArguments = {},
  ): string[] =>
    validateListProtection(ENTRY_LIST_KIND, options, after, { entries: before }).map(({ reason }) => reason);
  const graymail = { scope: " (graymail)" };

  it("isn't counted, also with a move to the other list", () => {
    expect(listProblems(buildContent(40), buildContent(40, graymail))).toEqual([]);
    expect(listProblems(buildContent(40, graymail), buildContent(40))).toEqual([]);
    expect(listProblems(buildContent(40, graymail), buildContent(40, { text: "allow" }))).toEqual([]);
    expect(listProblems(buildContent(40), buildContent(40, graymail), { maxRemovals: 0 })).toEqual([]);
  });

  it("leaves the removals that come with it counted", () => {
    expect(
      listProblems(buildContent(100), { ...buildContent(40, graymail), ...buildContent(20, { from: 40 }) }),
    ).toEqual([expect.stringMatching(/^would lose 40 of 100 entries \(40 %\)/)]);
    expect(listProblems(buildContent(100), buildContent(1, graymail))).toEqual([
      expect.stringMatching(/^would lose 99 of 100 entries/),
    ]);
  });

  it("counts the loss of one of two scopes", () => {
    const both = { ...buildContent(20), ...buildContent(20, graymail) };
    expect(listProblems(both, buildContent(20))).toEqual([
      expect.stringMatching(/^would lose 20 of 40 entries \(50 %\)/),
    ]);
    expect(listProblems(both, buildContent(20, { scope: " (spam)" }))).toEqual([
      expect.stringMatching(/^would lose 20 of 40 entries \(50 %\)/),
    ]);
  });

  it("counts an undeclared entry that a pruning list removes", () => {
    const before = {
      ...buildContent(1, { from: 900 }),
      ...buildContent(40, { ...graymail, text: "(unmanaged) deny" }),
    };
    expect(
      listProblems(before, { ...buildContent(1, { from: 900 }), ...buildContent(40) }, { mode: "exclusive" }),
    ).toEqual([expect.stringMatching(/^would lose 40 of 41 entries/)]);
  });
});

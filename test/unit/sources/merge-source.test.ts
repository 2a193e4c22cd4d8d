import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { SourceDeclaration } from "../../../provider/settings-files/source-schema";
import { readYaml } from "../../../provider/settings-files/yaml-source";
import { mergeSource } from "../../../provider/sources/merge-source";
import { formatSourceFile, parseSourceFile, type SourceElement } from "../../../provider/sources/source-file";
import { hostileText } from "../../support/hostile-text";
import { getRunCount } from "../../support/matrix-sampling";

const NAME = "feed";
const FEED: SourceDeclaration = { kind: "url", url: "https://feeds.example/", into: "deny", expires: "14d" };

interface SourceFile {
  readonly text: string;
  readonly elements: readonly SourceElement[];
  readonly synced: string | undefined;
}

const EMPTY: SourceFile = { text: "", elements: [], synced: undefined };

/** Merges items on a day, and reads the result back from its text. */
function mergeItems(
  { elements, synced }: SourceFile,
  items: ReadonlyMap<string, string | undefined>,
  today: string,
  source: SourceDeclaration = FEED,
  proposed?: SourceFile,
) {
  const merged = mergeSource({
    name: NAME,
    source,
    previous: elements,
    previousSection: source.into,
    lastSync: synced,
    ...(proposed === undefined ? {} : { proposed: new Map(proposed.elements.map((one) => [one.value, one])) }),
    present: items,
    hasNames: true,
    isRejected: () => false,
    isListedElsewhere: () => false,
    today,
  });
  const record = { name: NAME, kind: source.kind, synced: today };
  const text = formatSourceFile({ record, section: source.into, elements: merged.elements });
  const parsed = parseSourceFile(text, { file: "feed.yaml", name: NAME }, readYaml);
  return { merged, state: { text, elements: parsed.elements, synced: today } };
}

const buildItems = (...values: string[]): Map<string, undefined> => new Map(values.map((value) => [value, undefined]));
const buildDomains = (count: number): Map<string, undefined> =>
  buildItems(...Array.from({ length: count }, (_, index) => `d${index}.example`));
const findElement = ({ elements }: SourceFile, value: string) => elements.find((element) => element.value === value);

const DAY_MS = 86_400_000;
const getDay = (index: number): string =>
  new Date(Date.parse("2026-11-01") + index * DAY_MS).toISOString().slice(0, 10);

describe("an entry of a feed with a term", () => {
  const first = mergeItems(EMPTY, buildItems("a.example", "b.example"), "2026-11-01").state;

  it("is unchanged in the first half of its term", () => {
    expect(mergeItems(first, buildItems("a.example", "b.example"), "2026-11-08").state.elements).toEqual(
      first.elements,
    );
  });

  it("is renewed in the second half of its term, and keeps its first day", () => {
    const { merged, state } = mergeItems(first, buildItems("a.example", "b.example"), "2026-11-09");
    expect(merged.renewed).toBe(2);
    expect(findElement(state, "a.example")).toEqual({
      value: "a.example",
      fields: { expires: "2026-11-23" },
      seen: { first: "2026-11-01" },
    });
  });

  it("stays after it left until its term has passed since the day before", () => {
    const { merged, state } = mergeItems(first, buildItems("a.example"), "2026-11-05");
    expect(merged).toMatchObject({ departed: ["b.example"], removed: [] });
    expect(findElement(state, "b.example")).toMatchObject({
      fields: { expires: "2026-11-18" },
      seen: { first: "2026-11-01", last: "2026-11-04" },
    });
    expect(mergeItems(state, buildItems("a.example"), "2026-11-18").merged.removed).toEqual([]);
    expect(mergeItems(state, buildItems("a.example"), "2026-11-19").merged.removed).toEqual(["b.example"]);
  });

  it("keeps its last day while the change waits for its review", () => {
    const proposed = mergeItems(first, buildItems("a.example"), "2026-11-05").state;
    const merge = (before: SourceFile, today: string) =>
      mergeItems(before, buildItems("a.example"), today, FEED, proposed).state;
    expect(findElement(merge(first, "2026-11-07"), "b.example")).toEqual(findElement(proposed, "b.example"));
    // Another change was merged in the meantime, with the entry.
    const later = { ...first, synced: "2026-11-06" };
    expect(findElement(merge(later, "2026-11-07"), "b.example")?.seen?.last).toBe("2026-11-06");
  });

  it("is removed if it expired because nobody synced", () => {
    expect(mergeItems(first, buildItems("a.example"), "2026-11-16").merged.removed).toEqual(["b.example"]);
  });

  it("has no last day once it is back", () => {
    const stateWithoutRemoved = mergeItems(first, buildItems("a.example"), "2026-11-05").state;
    const { merged, state } = mergeItems(stateWithoutRemoved, buildItems("a.example", "b.example"), "2026-11-06");
    expect(merged.returned).toEqual(["b.example"]);
    expect(findElement(state, "b.example")).toMatchObject({
      fields: { expires: "2026-11-20" },
      seen: { first: "2026-11-01" },
    });
    expect(findElement(state, "b.example")?.seen).not.toHaveProperty("last");
  });
});

it("removes a person who leaves a group", () => {
  const group: SourceDeclaration = {
    kind: "ldap",
    url: "ldaps://x",
    base: "dc=x",
    group: "Board",
    into: "vips",
    comment: "{name}, {group}",
  };
  const before = mergeItems(
    EMPTY,
    new Map([
      ["a@x.example", "Ann"],
      ["b@x.example", undefined],
    ]),
    "2026-11-01",
    group,
  ).state;
  expect(before.elements.map(({ fields }) => fields["comment"])).toEqual(["Ann, Board", ", Board"]);
  expect(mergeItems(before, buildItems("a@x.example"), "2026-11-02", group).merged.removed).toEqual(["b@x.example"]);
});

describe("the removal guard", () => {
  const before = mergeItems(EMPTY, buildDomains(40), "2026-11-01").state;

  it.each([
    [31, undefined, false],
    [27, undefined, true],
    [27, 13, false],
    [27, 12, true],
    [0, undefined, true],
  ])("with %i of 40 left and confirmRemovals %s blocks: %s", (remainingCount, confirmRemovals, isBlocked) => {
    const source = confirmRemovals === undefined ? FEED : { ...FEED, confirmRemovals };
    expect(mergeItems(before, buildDomains(remainingCount), "2026-11-02", source).merged.blocker !== undefined).toBe(
      isBlocked,
    );
  });

  it("names the number to confirm", () => {
    expect(mergeItems(before, buildDomains(27), "2026-11-02").merged.blocker).toContain("`confirmRemovals: 13`");
  });
});

const domain = fc.nat({ max: 30 }).map((index) => `d${index}.example`);
const items = fc.uniqueArray(domain, { maxLength: 20 });

it("gives the same bytes twice, and never loses the first day", () => {
  const history = fc.array(fc.record({ values: items, pause: fc.integer({ min: 0, max: 12 }) }), { maxLength: 8 });
  const source = fc.constantFrom<SourceDeclaration>(FEED, { ...FEED, expires: "never" }, { ...FEED, expires: "1d" });
  fc.assert(
    fc.property(history, source, (steps, declared) => {
      let state: SourceFile = EMPTY;
      let index = 0;
      const firstDays = new Map<string, string>();
      for (const { values, pause } of steps) {
        index += pause;
        const day = getDay(index);
        const next = mergeItems(state, buildItems(...values), day, declared).state;
        const again = mergeItems(next, buildItems(...values), day, declared).state;
        expect(again.text).toBe(next.text);
        for (const { value, seen } of next.elements) {
          const known = state.elements.some((element) => element.value === value);
          expect(seen?.first).toBe(known ? firstDays.get(value) : day);
          firstDays.set(value, seen?.first ?? "");
        }
        state = next;
      }
    }),
    { numRuns: getRunCount(200) },
  );
});

it("keeps an entry for its whole term after each day with it, if somebody syncs daily", () => {
  const source = fc.constantFrom<readonly [term: number, declared: SourceDeclaration]>(
    [14, FEED],
    [3, { ...FEED, expires: "3d" }],
    [1, { ...FEED, expires: "1d" }],
  );
  fc.assert(
    fc.property(fc.array(items, { maxLength: 40 }), source, (days, [term, declared]) => {
      let state: SourceFile = EMPTY;
      const lastDays = new Map<string, number>();
      for (const [index, values] of days.entries()) {
        state = mergeItems(state, buildItems(...values), getDay(index), declared).state;
        for (const value of values) lastDays.set(value, index);
        for (const [value, day] of lastDays) {
          const element = findElement(state, value);
          expect([value, element !== undefined]).toEqual([value, index <= day + term]);
          const earliest = getDay(day === index ? index : day + term);
          if (element !== undefined) expect(String(element.fields["expires"]) >= earliest).toBe(true);
        }
      }
    }),
    { numRuns: 100 },
  );
});

it("writes names and comments from outside so that they read back unchanged, on one line each", () => {
  fc.assert(
    fc.property(fc.array(hostileText, { minLength: 1, maxLength: 5 }), (names) => {
      const present = new Map(names.map((name, index) => [`d${index}.example`, name]));
      const { merged, state } = mergeItems(EMPTY, present, "2026-11-01", { ...FEED, comment: "{name}" });
      expect(state.elements).toHaveLength(names.length);
      expect(state.text.split("\n").filter((line) => line.startsWith("  - {"))).toHaveLength(names.length);
      for (const { value, fields } of state.elements) {
        const expected = merged.elements.find((element) => element.value === value);
        expect(fields["comment"]).toBe(expected?.fields["comment"]);
      }
    }),
    { numRuns: getRunCount(200) },
  );
});

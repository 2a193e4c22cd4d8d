import fc from "fast-check";
import { expect, test } from "vitest";
import type { PagedList } from "../../../provider/client/paged-list";
import { iterateList, readWholeList } from "../../../provider/client/paging";
import { getRunCount } from "../../support/matrix-sampling";

/** A change of the list between two requests: items are added, removed, or both, at any position. */
type Move = { readonly add?: readonly number[]; readonly drop?: readonly number[] };

const places = fc.array(fc.nat(), { minLength: 1, maxLength: 3 });
const move: fc.Arbitrary<Move | undefined> = fc.option(
  fc.oneof(
    places.map((add) => ({ add })),
    places.map((drop) => ({ drop })),
  ),
  { nil: undefined, freq: 2 },
);
/**
 * As many items are added as removed, so the total stays the same, which a single read of numbered pages can't detect.
 */
const swap: fc.Arbitrary<Move> = fc
  .array(fc.tuple(fc.nat(), fc.nat()), { minLength: 1, maxLength: 3 })
  .map((pairs) => ({ add: pairs.map(([add]) => add), drop: pairs.map(([, drop]) => drop) }));
const generatePages = (moves: fc.Arbitrary<Move | undefined>) =>
  fc.record({
    length: fc.nat(12),
    size: fc.integer({ min: 1, max: 4 }),
    /** The changes, request by request; afterwards the list stays the same. */
    moves: fc.array(moves, { maxLength: 12 }),
  });
const sequence = generatePages(move);
const sequenceWithSwaps = generatePages(fc.oneof(move, swap));

/** Returns a list that changes as specified, the items that it contained all the time, and the requests made. */
function createMovingList(
  { length, size, moves }: { length: number; size: number; moves: (Move | undefined)[] },
  hasTotal = true,
) {
  let rows = Array.from({ length }, (_, index) => `r${index}`);
  let created = length;
  const always = new Set(rows);
  const ever = new Set(rows);
  const requestedPages: number[] = [];
  const list: PagedList<string> = {
    name: "deny list",
    fetchPage: async (page) => {
      const now = requestedPages.length === 0 ? undefined : moves[requestedPages.length - 1];
      requestedPages.push(page);
      for (const place of now?.drop ?? []) {
        if (rows.length === 0) continue;
        const [removedRow] = rows.splice(place % rows.length, 1);
        always.delete(removedRow as string);
      }
      for (const place of now?.add ?? []) {
        const row = `r${created++}`;
        rows = rows.toSpliced(place % (rows.length + 1), 0, row);
        ever.add(row);
      }
      const items = rows.slice((page - 1) * size, page * size);
      return { items, page, page_size: items.length, total: hasTotal ? rows.length : undefined };
    },
    getIdentity: (row) => row,
  };
  return { list, always, ever, requestedPages, rowsNow: () => rows };
}

const attempts = 5;
const moveCount = (moves: readonly unknown[]) => moves.filter((candidate) => candidate !== undefined).length;

test.each([
  ["with a total", true],
  ["without a total", false],
])("yields each lasting item exactly once or reports instability, %s", async (_name, hasTotal) => {
  await fc.assert(
    fc.asyncProperty(sequenceWithSwaps, async (scenario) => {
      const { list, always, ever, requestedPages } = createMovingList(scenario, hasTotal);
      const received: string[] = [];
      const outcome = await (async () => {
        for await (const item of iterateList(list)) received.push(item);
      })().then(
        () => "whole",
        (error: { code?: string }) => error.code,
      );
      expect(new Set(received).size).toBe(received.length);
      for (const item of received) expect(ever).toContain(item);
      if (outcome === "whole") expect([...always].filter((item) => !received.includes(item))).toEqual([]);
      else expect(outcome).toBe("ERR_LIST_UNSTABLE");
      // A change spoils every attempt but the last two; those two see no changes, and the last finds nothing new.
      if (moveCount(scenario.moves) < attempts - 1) expect(outcome).toBe("whole");
      const most = Math.ceil((scenario.length + 3 * scenario.moves.length) / scenario.size) + 2;
      expect(requestedPages.length).toBeLessThanOrEqual(attempts * most);
    }),
    { numRuns: getRunCount(4_000), seed: 1 },
  );
});

test("yields an unchanged multi-page list in order", async () => {
  await fc.assert(
    fc.asyncProperty(sequence, async ({ length, size }) => {
      const { list, requestedPages, rowsNow } = createMovingList({ length, size, moves: [] });
      const received: string[] = [];
      for await (const item of iterateList(list)) received.push(item);
      expect(received).toEqual(rowsNow());
      const pages = Array.from({ length: Math.max(1, Math.ceil(length / size)) }, (_, index) => index + 1);
      expect(requestedPages).toEqual(pages.length === 1 ? pages : [...pages, ...pages]);
    }),
    { numRuns: getRunCount(200), seed: 2 },
  );
});

test("requests no page beyond the one where iteration breaks", async () => {
  await fc.assert(
    fc.asyncProperty(sequence, fc.nat(), async ({ length, size }, index) => {
      fc.pre(length > 0);
      const last = index % length;
      const { list, requestedPages } = createMovingList({ length, size, moves: [] });
      let count = 0;
      for await (const _ of iterateList(list)) if (count++ === last) break;
      expect(requestedPages).toHaveLength(Math.floor(last / size) + 1);
    }),
    { numRuns: getRunCount(200), seed: 3 },
  );
});

test("returns the list as of its last read", async () => {
  await fc.assert(
    fc.asyncProperty(sequence, async (scenario) => {
      const { list, requestedPages, rowsNow } = createMovingList(scenario);
      const outcome = await readWholeList(list).catch((error: { code?: string }) => error.code);
      if (Array.isArray(outcome)) {
        expect(outcome).toEqual(rowsNow());
        expect(requestedPages.at(-1)).toBe(Math.max(1, Math.ceil(outcome.length / scenario.size)));
      } else {
        expect(outcome).toBe("ERR_LIST_UNSTABLE");
        expect(moveCount(scenario.moves)).toBeGreaterThanOrEqual(attempts);
      }
    }),
    { numRuns: getRunCount(2_000), seed: 4 },
  );
});

test("gives up on an endless list even if every item is new", async () => {
  let pages = 0;
  const endless = iterateList<string>({
    name: "deny list",
    fetchPage: async (page) => {
      pages += 1;
      return { items: [`item-${page}`], page, page_size: 1, total: undefined };
    },
    getIdentity: (item) => item,
  });
  const reading = (async () => {
    for await (const _ of endless);
  })();
  await expect(reading).rejects.toMatchObject({ code: "ERR_LIST_UNSTABLE" });
  expect(pages).toBe(10_000);
});

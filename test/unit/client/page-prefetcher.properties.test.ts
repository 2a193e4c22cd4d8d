import fc from "fast-check";
import { expect, test } from "vitest";
import { MAX_CONCURRENT_PAGES } from "../../../provider/client/page-prefetcher";
import type { PagedList } from "../../../provider/client/paged-list";
import { readWholeList } from "../../../provider/client/paging";
import { getRunCount } from "../../support/matrix-sampling";

const PAGE_SIZE = 2;

interface ListRow {
  readonly id: string;
  readonly createdAt: number;
}

/** A write between two requests: the number of additions, and the places of removals. */
interface ListChange {
  readonly add: number;
  readonly drop: readonly number[];
}

const drops = fc.array(fc.nat(), { minLength: 1, maxLength: 2 });
/** A single request can see that the total changed. */
const visibleWrite: fc.Arbitrary<ListChange> = fc.oneof(
  fc.record({ add: fc.integer({ min: 1, max: 2 }), drop: fc.constant([]) }),
  fc.record({ add: fc.constant(0), drop: drops }),
);
/** The total stays the same. */
const swap: fc.Arbitrary<ListChange> = drops.map((drop) => ({ add: drop.length, drop }));

const generateScenario = (write: fc.Arbitrary<ListChange>) =>
  fc.record({
    length: fc.integer({ min: 21, max: 60 }),
    isNewestFirst: fc.boolean(),
    /** The write before each request that the service receives. */
    writes: fc.array(fc.option(write, { nil: undefined, freq: 1 }), { maxLength: 40 }),
    scheduler: fc.scheduler(),
  });
type PrefetchScenario = ReturnType<typeof generateScenario> extends fc.Arbitrary<infer Value> ? Value : never;

/** A list whose requests reach the service in any order, and whose responses arrive in any order. */
function buildList({ length, isNewestFirst, writes, scheduler }: PrefetchScenario) {
  let rows: readonly ListRow[] = Array.from({ length }, (_, index) => ({ id: `r${index}`, createdAt: index }));
  if (isNewestFirst) rows = rows.toReversed();
  let created = length;
  const requestedPages: number[] = [];
  let inFlight = 0;
  let maxInFlight = 0;
  const applyWrite = ({ add, drop }: ListChange): void => {
    for (const place of drop) if (rows.length > 0) rows = rows.toSpliced(place % rows.length, 1);
    for (let count = 0; count < add; count += 1) {
      const row = { id: `r${created}`, createdAt: created };
      created += 1;
      rows = isNewestFirst ? [row, ...rows] : [...rows, row];
    }
  };
  const list: PagedList<ListRow> = {
    name: "deny list",
    pageSize: PAGE_SIZE,
    async fetchPage(page) {
      inFlight += 1;
      maxInFlight = Math.max(maxInFlight, inFlight);
      await scheduler.schedule(Promise.resolve());
      const write = writes[requestedPages.length];
      requestedPages.push(page);
      if (write !== undefined) applyWrite(write);
      const items = rows.slice((page - 1) * PAGE_SIZE, page * PAGE_SIZE);
      const response = { items, page, page_size: items.length, total: rows.length };
      await scheduler.schedule(Promise.resolve());
      inFlight -= 1;
      return response;
    },
    getIdentity: ({ id }) => id,
    getCreatedAt: ({ createdAt }) => new Date(createdAt).toISOString(),
  };
  return { list, requestedPages, getRows: () => rows, getMaxInFlight: () => maxInFlight };
}

async function readScenario(scenario: PrefetchScenario) {
  const model = buildList(scenario);
  let pages = 0;
  const reading = readWholeList(model.list, { onPage: () => (pages += 1) }).then(
    // Later requests can still write.
    (items) => ({ items, rows: model.getRows() }),
    (error: { code?: string }) => error.code,
  );
  const outcome = await scenario.scheduler.waitFor(reading);
  return { ...model, outcome, pages };
}

const countPages = (length: number) => Math.ceil(length / PAGE_SIZE);

test("reads an unchanged list eight pages at a time, with one more request", async () => {
  let maxInFlight = 0;
  await fc.assert(
    fc.asyncProperty(generateScenario(swap), async (scenario) => {
      const model = await readScenario({ ...scenario, writes: [] });
      expect(model.outcome).toEqual({ items: model.getRows(), rows: model.getRows() });
      expect(model.requestedPages).toHaveLength(countPages(scenario.length) + 1);
      maxInFlight = Math.max(maxInFlight, model.getMaxInFlight());
    }),
    { numRuns: getRunCount(50), seed: 1 },
  );
  expect(maxInFlight).toBe(MAX_CONCURRENT_PAGES);
});

test("returns the list as of its last read if every write changes the total", async () => {
  await fc.assert(
    fc.asyncProperty(generateScenario(visibleWrite), async (scenario) => {
      const { outcome } = await readScenario(scenario);
      if (typeof outcome === "object") expect(outcome.items).toEqual(outcome.rows);
      else expect(outcome).toBe("ERR_LIST_UNSTABLE");
    }),
    { numRuns: getRunCount(300), seed: 2 },
  );
});

test("never accepts prefetched pages of a list whose total stayed equal by a swap", async () => {
  let accepted = 0;
  await fc.assert(
    fc.asyncProperty(generateScenario(fc.oneof(swap, visibleWrite)), async (scenario) => {
      const { outcome, pages } = await readScenario(scenario);
      const isPrefetched = typeof outcome === "object" && pages === countPages(outcome.items.length) + 1;
      if (!isPrefetched) return;
      accepted += 1;
      expect(outcome.items).toEqual(outcome.rows);
    }),
    { numRuns: getRunCount(600), seed: 3 },
  );
  expect(accepted).toBeGreaterThan(20);
});

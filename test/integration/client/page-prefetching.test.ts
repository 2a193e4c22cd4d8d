import type { ServerResponse } from "node:http";
import { describe, expect, it } from "vitest";
import { VirtualTime } from "../../support/virtual-time";
import {
  type Answerer,
  buildEntry,
  buildListBody,
  getPageNumber,
  getRejection,
  RecordingService,
  respondWithJson,
  TestClient,
} from "./service";

const PAGE_SIZE = 200;
const PAGES = 25;

const computeCreationTime = (index: number) => new Date(Date.UTC(2026, 0, 1) - index * 60_000).toISOString();
const newestFirst = Array.from({ length: PAGES * PAGE_SIZE }, (_, index) =>
  buildEntry(index, { created_at: computeCreationTime(index) }),
);

/** Returns an answerer that pages through `rows` correctly. */
function createCappedAnswerer(rows: readonly unknown[], more: Record<string, unknown> = {}): Answerer {
  return (request, response) => {
    const page = getPageNumber(request);
    const items = rows.slice((page - 1) * PAGE_SIZE, page * PAGE_SIZE);
    respondWithJson(response, 200, buildListBody(items, { page: page, total: rows.length, ...more }));
  };
}

/** Counts the requests in flight. Each response waits until the requests that are about to be sent have arrived. */
function measureConcurrency(answer: Answerer) {
  let inFlight = 0;
  const measured = { max: 0 };
  const answerLater: Answerer = (request, response, index) => {
    inFlight += 1;
    measured.max = Math.max(measured.max, inFlight);
    setTimeout(() => {
      inFlight -= 1;
      answer(request, response, index);
    }, 20);
  };
  return { answerer: answerLater, measured };
}

describe("a list of 25 pages", () => {
  it.each([
    ["newest first", newestFirst, [1]],
    ["oldest first", newestFirst.toReversed(), [PAGES]],
    ["with equal times", newestFirst.map((row) => ({ ...row, created_at: computeCreationTime(0) })), [1, PAGES]],
  ])("is read eight pages at a time, %s", async (_name, rows, rereadPages) => {
    const { answerer, measured } = measureConcurrency(createCappedAnswerer(rows));
    await using service = await RecordingService.start(answerer);
    await using client = new TestClient(service);
    const read = await client.allowDenyEntries.readAll("deny");
    expect(read.map(({ id }) => id)).toEqual(rows.map(({ id }) => id));
    expect(measured.max).toBe(8);
    expect(service.received.slice(PAGES).map(getPageNumber)).toEqual(rereadPages);
  });

  it.each<[string, Answerer]>([
    ["sorted in another way", createCappedAnswerer(newestFirst.toSorted((a, b) => (a.value < b.value ? -1 : 1)))],
    [
      "without creation times",
      createCappedAnswerer(newestFirst.map(({ created_at: _, ...row }: Record<string, unknown>) => row)),
    ],
    ["without a total", createCappedAnswerer(newestFirst, { total: null })],
  ])("is read one page after another if it is %s", async (_name, answer) => {
    const { answerer, measured } = measureConcurrency(answer);
    await using service = await RecordingService.start(answerer);
    await using client = new TestClient(service);
    expect(await client.allowDenyEntries.readAll("deny")).toHaveLength(newestFirst.length);
    expect(measured.max).toBe(1);
  });

  it("is read again, one page after another, if a new entry replaced a removed one", async () => {
    const changed = [buildEntry("new", { created_at: computeCreationTime(-1) }), ...newestFirst.toSpliced(3_000, 1)];
    await using service = await RecordingService.start((request, response, index) =>
      createCappedAnswerer(index < 12 ? newestFirst : changed)(request, response, index),
    );
    await using client = new TestClient(service);
    const read = await client.allowDenyEntries.readAll("deny");
    expect(read.map(({ id }) => id)).toEqual(changed.map(({ id }) => id));
    const pagesInOrder = Array.from({ length: PAGES }, (_, index) => index + 1);
    expect(service.received.slice(-PAGES).map(getPageNumber)).toEqual(pagesInOrder);
  });

  it.each([
    ["answers 503", (response: ServerResponse) => respondWithJson(response, 503, { error: "busy" })],
    ["breaks the connection", (response: ServerResponse) => response.destroy()],
  ])("is read although the service %s for a second", async (_label, fail) => {
    const time = new VirtualTime();
    let failsUntil: number | undefined;
    await using service = await RecordingService.start((request, response, index) => {
      if (getPageNumber(request) === 3) failsUntil ??= time.atMs + 1_000;
      if (time.atMs < (failsUntil ?? 0)) fail(response);
      else createCappedAnswerer(newestFirst)(request, response, index);
    });
    await using client = new TestClient(service, { time, retries: true });
    expect(await client.allowDenyEntries.readAll("deny")).toHaveLength(newestFirst.length);
    // At most 8 pages are in flight when it fails; then one attempt follows the other.
    expect(service.received.length).toBeLessThanOrEqual(PAGES + 1 + 8 + 4);
    expect(time.sleeps).toEqual([250, 500, 1_000]);
  });

  it("is given up at the first 401, without waiting for the other pages", async () => {
    const closed: number[] = [];
    await using service = await RecordingService.start((request, response, index) => {
      const page = getPageNumber(request);
      response.on("close", () => closed.push(page));
      if (page === 5) respondWithJson(response, 401, { error: "revoked" });
      else if (page === 1) createCappedAnswerer(newestFirst)(request, response, index);
    });
    await using client = new TestClient(service, { retries: true });
    expect(await getRejection(client.allowDenyEntries.readAll("deny"))).toMatchObject({ status: 401 });
    await expect.poll(() => closed.toSorted((a, b) => a - b)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9]);
  });
});

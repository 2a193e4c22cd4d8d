import { describe, expect, test } from "vitest";
import { getTimeLimit, selectSize } from "../../support/matrix-sampling";
import { RecordingService } from "../client/service";
import { runClient } from "./client-process";
import {
  answerPage,
  assertReadStopped,
  buildListItems,
  ENDLESS,
  MOST_GROWTH_MIB,
  parsePageNumber,
} from "./invalid-lists";

describe("endless lists", () => {
  test.for(ENDLESS.slice(selectSize("hostile-lists", 0, 1)))(
    "are read only up to their limit: $name",
    { timeout: getTimeLimit(120_000) },
    assertReadStopped,
  );

  test("are iterated without retaining large items", async () => {
    const pages = 12;
    await using service = await RecordingService.start((request, response) => {
      const items =
        parsePageNumber(request) > pages
          ? []
          : buildListItems(request, parsePageNumber(request) * 12, 12, "x".repeat(1024 * 1024));
      answerPage(request, response, items, pages * 12);
    });
    const run = await runClient({ baseUrl: service.url, calls: ["threats.iterate"] });
    expect(run.outcomes).toEqual([{ name: "threats.iterate", length: String(pages * 12).length }]);
    expect(run.grownMiB).toBeLessThan(MOST_GROWTH_MIB);
  });
});

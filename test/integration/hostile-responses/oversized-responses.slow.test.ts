import { describe, test } from "vitest";
import { getTimeLimit, selectSize } from "../../support/matrix-sampling";
import { assertBoundedCost, GROUPS, isBrief, type SizeCase } from "./oversized-responses";

/** All cases in the long form of the tests; otherwise every other case that oversized-responses.test.ts doesn't run. */
const isTaken = (sizeCase: SizeCase, index: number): boolean =>
  selectSize("hostile-sizes", true, !isBrief(sizeCase) && index % 2 === 0);

describe.each(GROUPS)("cost of a response %s", (_label, cases, endpoints) => {
  test.for(cases.filter(isTaken))(
    "is bounded for $attack.name",
    { timeout: getTimeLimit(120_000) },
    async (sizeCase) => {
      await assertBoundedCost(sizeCase, endpoints);
    },
  );
});

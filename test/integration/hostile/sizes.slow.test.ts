import { describe, test } from "vitest";
import { sized, timeLimit } from "../../support/matrix-sampling";
import { costsABoundedTimeAndMemory, GROUPS, isBrief, type SizeCase } from "./sizes";

/** All cases in the long form of the tests; otherwise every other case that sizes.test.ts doesn't run. */
const isTaken = (one: SizeCase, index: number): boolean =>
  sized("hostile-sizes", true, !isBrief(one) && index % 2 === 0);

describe.each(GROUPS)("cost of a response %s", (_what, cases, endpoints) => {
  test.for(cases.filter(isTaken))("$attack.name", { timeout: timeLimit(120_000) }, async (one) => {
    await costsABoundedTimeAndMemory(one, endpoints);
  });
});

import { describe, test } from "vitest";
import { assertBoundedCost, GROUPS, isBrief } from "./oversized-responses";

describe.each(GROUPS)("cost of a response %s", (_label, cases, endpoints) => {
  test.for(cases.filter(isBrief))("is bounded for $attack.name", { timeout: 120_000 }, async (sizeCase) => {
    await assertBoundedCost(sizeCase, endpoints);
  });
});

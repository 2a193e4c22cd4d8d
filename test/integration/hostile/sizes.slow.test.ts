import { describe, test } from "vitest";
import { sized, timeLimit } from "../../support/scale";
import { costsABoundedTimeAndMemory, GROUPS, isBrief } from "./sizes";

describe.each(GROUPS)("an answer %s costs a bounded time and memory", (_what, cases, endpoints) => {
  test.for(cases.filter((one) => sized("hostile-sizes", true, !isBrief(one))))(
    "$attack.name",
    { timeout: timeLimit(120_000) },
    async (one) => {
      await costsABoundedTimeAndMemory(one, endpoints);
    },
  );
});

import fc from "fast-check";
import { expect, it } from "vitest";
import { Companies } from "../../support/model/company";
import { InProcessStack } from "../../support/model/in-process-stack";
import { aStory, play } from "../../support/model/story";
import { isLong } from "../../support/scale";

/** How many stories are told at each kind of service. */
const STORIES = isLong ? 5_000 : 80;

/** The same stories in every `npm test`, which must not fail one day for what it passed the day before. */
const SEED = isLong ? {} : { seed: 20_260_101 };

/* A failure names its seed and path: given to fast-check as `seed` and `path`, they tell that one story again. */

it.each(["canonical", "as-sent"] as const)(
  "whatever a program and a colleague do, the tenant is what was promised, and the run after it is empty (values come back %s)",
  { timeout: isLong ? 0 : 300_000 },
  async (echoValue) => {
    await using companies = new Companies({ echoValue });
    const property = fc.asyncProperty(fc.noBias(aStory({ chapters: 4 })), async (story) => {
      const company = await companies.next();
      await using stack = new InProcessStack(company);
      await play(story, company, stack);
    });
    const { seed, counterexamplePath, errorInstance } = await fc.check(property, {
      numRuns: STORIES,
      ...SEED,
    });
    const failure = errorInstance instanceof Error ? errorInstance.message : "";
    expect(failure, `seed ${seed}, path ${counterexamplePath}`).toBe("");
  },
);

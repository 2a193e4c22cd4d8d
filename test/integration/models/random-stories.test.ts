import fc from "fast-check";
import { expect, it } from "vitest";
import { getPropertyOptions, timeLimit } from "../../support/matrix-sampling";
import { Companies } from "../../support/model/company";
import { InProcessStack } from "../../support/model/in-process-stack";
import { aStory, play } from "../../support/model/story";

/** Every `npm test` plays the same stories, so that a test that passed yesterday doesn't fail today by chance. */
const STORIES = getPropertyOptions("models", { numRuns: 50, seed: 20_260_101 });

/* A failure prints its seed and path. Pass them to fast-check as `seed` and `path` to replay that one story. */

it.each(["canonical", "as-sent"] as const)(
  "converges after any program and console changes (values come back %s)",
  { timeout: timeLimit(300_000) },
  async (echoValue) => {
    await using companies = new Companies({ echoValue });
    const property = fc.asyncProperty(fc.noBias(aStory({ chapters: 4 })), async (story) => {
      const company = await companies.next();
      await using stack = new InProcessStack(company);
      await play(story, company, stack);
    });
    const { seed, counterexamplePath, errorInstance } = await fc.check(property, STORIES);
    const failure = errorInstance instanceof Error ? errorInstance.message : "";
    expect(failure, `seed ${seed}, path ${counterexamplePath}`).toBe("");
  },
);

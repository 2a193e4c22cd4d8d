import fc from "fast-check";
import { expect, it } from "vitest";
import { getPropertyOptions, sized, timeLimit } from "../support/matrix-sampling";
import { Companies } from "../support/model/company";
import { aStory, play } from "../support/model/story";
import { EngineStack } from "./engine-stack";

const STORIES = getPropertyOptions("engine-models", { numRuns: 1, seed: 20_260_101 });
const CHAPTERS = sized("engine-models", 4, 1);

it("converges on the declared state for any program and console edits", {
  timeout: timeLimit(600_000),
}, async () => {
  await using companies = new Companies({ echoValue: "canonical" });
  const property = fc.asyncProperty(fc.noBias(aStory({ chapters: CHAPTERS })), async (story) => {
    const company = await companies.next();
    await using stack = await EngineStack.create(company);
    await play(story, company, stack);
  });
  // Shrinking the story would take hours with the engine. The same seed and path reproduce it with the handlers alone.
  const { seed, counterexamplePath, errorInstance } = await fc.check(property, {
    ...STORIES,
    endOnFailure: true,
  });
  const failure = errorInstance instanceof Error ? errorInstance.message : "";
  expect(failure, `seed ${seed}, path ${counterexamplePath}`).toBe("");
});

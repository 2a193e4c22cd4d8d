import fc from "fast-check";
import { expect, it } from "vitest";
import { getPropertyOptions, getTimeLimit, selectSize } from "../support/matrix-sampling";
import { Companies } from "../support/model/company";
import { generateRunSequence, playRuns } from "../support/model/run-sequence";
import { EngineStack } from "./engine-stack";

const SEQUENCES = getPropertyOptions("engine-models", { numRuns: 1, seed: 20_260_101 });
const ROUNDS = selectSize("engine-models", 4, 1);

it("converges on the declared state for any program and console edits", {
  timeout: getTimeLimit(600_000),
}, async () => {
  await using companies = new Companies({ echoValue: "canonical" });
  const property = fc.asyncProperty(fc.noBias(generateRunSequence({ rounds: ROUNDS })), async (sequence) => {
    const company = await companies.next();
    await using stack = await EngineStack.create(company);
    await playRuns(sequence, company, stack);
  });
  // Shrinking the sequence would take hours with the engine. The same seed and path reproduce it with the handlers alone.
  const { seed, counterexamplePath, errorInstance } = await fc.check(property, {
    ...SEQUENCES,
    endOnFailure: true,
  });
  const failure = errorInstance instanceof Error ? errorInstance.message : "";
  expect(failure, `seed ${seed}, path ${counterexamplePath}`).toBe("");
});

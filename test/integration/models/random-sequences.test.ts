import fc from "fast-check";
import { expect, it } from "vitest";
import { getPropertyOptions, getRunCount, getTimeLimit } from "../../support/matrix-sampling";
import { Companies } from "../../support/model/company";
import { InProcessStack } from "../../support/model/in-process-stack";
import { generateRunSequence, playRuns } from "../../support/model/run-sequence";

/** Every `npm test` plays the same sequences, so that a test that passed yesterday doesn't fail today by chance. */
const SEQUENCES = getPropertyOptions("models", { numRuns: getRunCount(50), seed: 20_260_101 });

/* A failure prints its seed and path. Pass them to fast-check as `seed` and `path` to replay that one sequence. */

it.each(["canonical", "as-sent"] as const)(
  "converges after any program and console changes (values come back %s)",
  { timeout: getTimeLimit(300_000) },
  async (echoValue) => {
    await using companies = new Companies({ echoValue });
    const property = fc.asyncProperty(fc.noBias(generateRunSequence({ rounds: 4 })), async (sequence) => {
      const company = await companies.next();
      await using stack = new InProcessStack(company);
      await playRuns(sequence, company, stack);
    });
    const { seed, counterexamplePath, errorInstance } = await fc.check(property, SEQUENCES);
    const failure = errorInstance instanceof Error ? errorInstance.message : "";
    expect(failure, `seed ${seed}, path ${counterexamplePath}`).toBe("");
  },
);

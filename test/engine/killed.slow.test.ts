import { FRONTS, type Front, MOMENTS, VICTIMS } from "../support/killable-stack";
import { isLong } from "../support/scale";
import { type Case, describeKills, REQUESTS, RUNS } from "./killed";

/**
 * All boundaries of all requests; by default a sample in which each run, each victim and each moment is, of which the
 * second front, that runs the same code, has a part.
 */
function cases(front: Front): Case[] {
  if (isLong) {
    return RUNS.flatMap((run) =>
      Array.from({ length: REQUESTS[run] }, (_, at) => at).flatMap((at) =>
        VICTIMS.flatMap((victim) => MOMENTS.map((moment) => ({ run, at, victim, moment }))),
      ),
    );
  }
  const sample = VICTIMS.map((victim, number): Case => {
    const run = RUNS[(number + 2) % RUNS.length] ?? "create";
    const moment = MOMENTS[(number + 1) % MOMENTS.length] ?? "before the answer to";
    return { run, victim, moment, at: Math.floor((REQUESTS[run] * (number + 1)) / (VICTIMS.length + 1)) };
  });
  return front === "dynamic" ? sample : sample.filter(({ victim }) => /^(provider|engine)$/.test(victim));
}

for (const front of FRONTS) describeKills(front, cases(front));

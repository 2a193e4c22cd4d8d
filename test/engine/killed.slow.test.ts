import { FRONTS, type Front, MOMENTS, VICTIMS } from "../support/killable-stack";
import { matrix } from "../support/scale";
import { type Case, describeKills, REQUESTS, RUNS } from "./killed";

/**
 * All boundaries of all requests; by default a sample in which each run, each victim and each moment is: over the plugin its
 * own process is killed, over the other front, where killed.test.ts has that, somebody else. The plugin's is killed in the first
 * of the runs, so that the others need not be made.
 */
function cases(front: Front): readonly Case[] {
  const all = RUNS.flatMap((run) =>
    Array.from({ length: REQUESTS[run] }, (_, at) => at).flatMap((at) =>
      VICTIMS.flatMap((victim) => MOMENTS.map((moment): Case => ({ run, at, victim, moment }))),
    ),
  );
  const sample = VICTIMS.map((victim, number): Case => {
    const run = RUNS[number % RUNS.length] ?? "create";
    const moment = MOMENTS[(number + 1) % MOMENTS.length] ?? "before the answer to";
    return { run, victim, moment, at: Math.floor((REQUESTS[run] * (number + 1)) / (VICTIMS.length + 1)) };
  });
  const isSampled = ({ victim }: Case) => (victim === "provider") === (front === "native");
  return matrix("kills", all, sample.filter(isSampled));
}

for (const front of FRONTS) describeKills(front, cases(front));

import { type KillableProviderKind, MOMENTS, PROVIDERS, VICTIMS } from "../support/killable-stack";
import { selectCases } from "../support/matrix-sampling";
import { describeKills, type KillCase, REQUESTS, RUNS } from "./process-kills";

/**
 * Returns all boundaries of all requests; by default only a sample that covers each run, victim and moment. With the
 * native plugin, the sample kills only the plugin's process; with dynamic resources, it kills only the other victims,
 * because process-kills.test.ts kills the dynamic provider. The plugin is killed in the first run, so that the later runs
 * aren't needed.
 */
function listCases(providerKind: KillableProviderKind): readonly KillCase[] {
  const all = RUNS.flatMap((run) =>
    Array.from({ length: REQUESTS[run] }, (_, index) => index).flatMap((index) =>
      VICTIMS.flatMap((victim) => MOMENTS.map((moment): KillCase => ({ run, requestIndex: index, victim, moment }))),
    ),
  );
  const sample = VICTIMS.map((victim, number): KillCase => {
    const run = RUNS[number % RUNS.length] ?? "create";
    const moment = MOMENTS[(number + 1) % MOMENTS.length] ?? "before the answer to";
    return { run, victim, moment, requestIndex: Math.floor((REQUESTS[run] * (number + 1)) / (VICTIMS.length + 1)) };
  });
  const isSampled = ({ victim }: KillCase) => (victim === "provider") === (providerKind === "native");
  return selectCases("kills", all, sample.filter(isSampled));
}

for (const providerKind of PROVIDERS) describeKills(providerKind, listCases(providerKind));

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Target, WaveRule } from "../../../../provider/rollout/model/target";
import { assignWaves, UnassignedTargetsError } from "../../../../provider/rollout/targets/assign-waves";
import { getToleratedFailures } from "../../../../provider/rollout/targets/tolerance";
import { buildTarget } from "../../../support/rollout-target";

function buildRule(name: string, rest: Partial<WaveRule> = {}): WaveRule {
  return {
    name,
    maxConcurrent: 1,
    failureTolerance: { count: 0 },
    soakMs: 0,
    gate: false,
    place: { file: "tenants.yaml", line: 9, column: 11 },
    ...rest,
  };
}

const buildTargets = (count: number, labels: Record<string, string> = {}): Target[] =>
  Array.from({ length: count }, (_, index) => buildTarget(`t${index}`, labels));

const countWaveTenants = (rules: WaveRule[], targets: Target[]): number[] =>
  assignWaves(rules, targets).waves.map(({ tenants }) => tenants.length);

describe("wave sizes and tolerances", () => {
  it.each<[number, Partial<WaveRule>, number]>([
    [30, { limit: { percent: 10 } }, 3],
    [31, { limit: { percent: 10 } }, 4],
    [3, { limit: { percent: 1 } }, 1],
    [300, { limit: { percent: 0.34 } }, 2],
    [10_000, { limit: { percent: 0.07 } }, 7],
    [7, { limit: { percent: 100 } }, 7],
    [7, { limit: { count: 2 } }, 2],
    [7, { limit: { count: 9 } }, 7],
    [7, {}, 7],
  ])("give %i tenants with %j a wave of %i", (count, rest, waveSize) => {
    expect(countWaveTenants([buildRule("a", rest), buildRule("rest")], buildTargets(count))[0]).toBe(waveSize);
  });

  it("apply to all matching tenants and take from those left", () => {
    const half = { limit: { percent: 50 } };
    expect(countWaveTenants([buildRule("a", half), buildRule("b", half)], buildTargets(10))).toEqual([5, 5]);
    const most = { limit: { percent: 60 } };
    expect(countWaveTenants([buildRule("a", most), buildRule("b", most)], buildTargets(10))).toEqual([6, 4]);
  });

  it.each([
    [{ percent: 2 }, 300, 6],
    [{ percent: 2 }, 49, 0],
    [{ percent: 0.29 }, 10_000, 29],
    [{ percent: 100 }, 7, 7],
    [{ count: 3 }, 300, 3],
  ])("give %j of %i tenants a tolerance of %i", (tolerance, tenants, tolerated) => {
    expect(getToleratedFailures(tolerance, tenants)).toBe(tolerated);
  });

  it("apply the failure percentage to the wave's own tenants", () => {
    const rules = [buildRule("a", { limit: { count: 10 }, failureTolerance: { percent: 25 } }), buildRule("b")];
    expect(assignWaves(rules, buildTargets(100)).waves.map(({ tolerated }) => tolerated)).toEqual([2, 0]);
  });
});

it("assigns matching tenants to a wave in file order", () => {
  const health = { command: ["./check.sh"], timeoutMs: 1_000 };
  const rules = [
    buildRule("eu", {
      match: { region: ["eu", "ch"], ring: ["canary"] },
      maxConcurrent: 3,
      soakMs: 7,
      gate: true,
      health,
    }),
    buildRule("rest"),
  ];
  const targets = [
    buildTarget("a", { region: "eu" }),
    buildTarget("b", { region: "ch", ring: "canary" }),
    buildTarget("c", { ring: "canary" }),
    buildTarget("d", { region: "eu", ring: "canary" }),
  ];
  expect(assignWaves(rules, targets)).toEqual({
    waves: [
      { name: "eu", maxConcurrent: 3, tolerated: 0, soakMs: 7, gate: true, health, tenants: ["b", "d"] },
      { name: "rest", maxConcurrent: 1, tolerated: 0, soakMs: 0, gate: false, tenants: ["a", "c"] },
    ],
    findings: [],
  });
});

it("omits an empty wave with a warning about what it drops", () => {
  const rules = [
    buildRule("none", { match: { toString: ["x"] }, gate: true, soakMs: 5 }),
    buildRule("all"),
    buildRule("late"),
  ];
  const { waves, findings } = assignWaves(rules, buildTargets(2));
  expect(waves.map(({ name }) => name)).toEqual(["all"]);
  expect(findings.map(({ level, code, message }) => `${level} ${code}: ${message}`)).toEqual([
    'warning wave-empty: the wave "none" has no tenant because no tenant matches it; it is skipped, and with it its soak and its gate',
    'warning wave-empty: the wave "late" has no tenant because all 2 that match it are in earlier waves; it is skipped',
  ]);
});

it("throws a bounded list of tenants in no wave", () => {
  const long = Object.fromEntries(Array.from({ length: 9 }, (_, index) => [`l${index}`, "v"]));
  const targets = [
    buildTarget("a", { ring: "canary" }),
    buildTarget("b"),
    buildTarget("c", { ring: "beta" }),
    buildTarget("d", long),
  ];
  const captureRefusal = (rules: WaveRule[], all: Target[]): string => {
    try {
      assignWaves(rules, all);
      return "";
    } catch (error) {
      expect(error).toMatchObject({ code: "ERR_ROLLOUT_WAVES" });
      return (error as Error).message;
    }
  };
  const rules = [buildRule("canary", { match: { ring: ["canary"] } })];
  expect(captureRefusal(rules, targets).split("\n")).toEqual([
    "3 tenants are in no wave. Fix the labels, or end `waves` with a wave without `match` and `limit`, which includes all remaining tenants:",
    '  tenants.yaml:1: "b" (no labels)',
    '  tenants.yaml:1: "c" (ring: beta)',
    '  tenants.yaml:1: "d" (l0: v, l1: v, l2: v, l3: v, l4: v, …)',
  ]);
  expect(captureRefusal(rules, buildTargets(2_000)).split("\n")).toHaveLength(22);
});

describe("arbitrary wave rules", () => {
  const value = fc.constantFrom("x", "y", "z");
  const labels = fc.dictionary(fc.constantFrom("ring", "region"), value);
  const anyTargets = fc
    .array(labels, { maxLength: 40 })
    .map((all) => all.map((item, index) => buildTarget(`t${index}`, item)));
  const tolerance = fc.oneof(
    fc.record({ count: fc.integer({ min: 1, max: 20 }) }),
    fc.record({ percent: fc.integer({ min: 1, max: 10_000 }).map((hundredths) => hundredths / 100) }),
  );
  const match = fc.dictionary(fc.constantFrom("ring", "region"), fc.array(value, { minLength: 1, maxLength: 2 }));
  const anyRules = fc
    .array(
      fc.record({ match, limit: tolerance, failureTolerance: tolerance }, { requiredKeys: ["failureTolerance"] }),
      {
        maxLength: 6,
      },
    )
    .map((all) => all.map((item, index) => buildRule(`w${index}`, item)));

  it("assign each tenant once to the first fitting wave or report it", () => {
    fc.assert(
      fc.property(anyRules, anyTargets, (rules, targets) => {
        const expected = assignByDefinition(rules, targets);
        const empty = expected.waves.filter(({ tenants }) => tenants.length === 0).map(({ name }) => name);
        const unassigned = expected.unassigned;
        try {
          const { waves, findings } = assignWaves(rules, targets);
          expect(unassigned).toEqual([]);
          expect(waves.map(({ name, tenants }) => ({ name, tenants }))).toEqual(
            expected.waves.filter(({ tenants }) => tenants.length > 0),
          );
          expect(findings).toHaveLength(empty.length);
          for (const { name, tolerated, tenants } of waves) {
            const { failureTolerance } = rules.find((rule) => rule.name === name) as WaveRule;
            if ("count" in failureTolerance) expect(tolerated).toBe(failureTolerance.count);
            // The largest integer within the percentage.
            else {
              const hundredths = Math.round(failureTolerance.percent * 100) * tenants.length;
              expect(tolerated * 10_000).toBeLessThanOrEqual(hundredths);
              expect((tolerated + 1) * 10_000).toBeGreaterThan(hundredths);
            }
          }
        } catch (error) {
          if (!(error instanceof UnassignedTargetsError)) throw error;
          expect(error.targets.map(({ name }) => name)).toEqual(unassigned);
          expect(unassigned).not.toEqual([]);
        }
      }),
      { numRuns: 500 },
    );
  });
});

/** The same rules applied to one tenant at a time: the number of slots in a wave, and the order of tenants. */
function assignByDefinition(rules: readonly WaveRule[], targets: readonly Target[]) {
  const matchesRule = ({ match = {} }: WaveRule, { labels }: Target): boolean =>
    Object.keys(match).every((label) => match[label]?.some((candidate) => candidate === labels[label]));
  const waves = rules.map((rule) => ({
    name: rule.name,
    tenants: [] as string[],
    rule: rule,
    places: countPlaces(rule),
  }));
  function countPlaces(rule: WaveRule): number {
    const matching = targets.filter((candidate) => matchesRule(rule, candidate)).length;
    if (rule.limit === undefined) return matching;
    if ("count" in rule.limit) return rule.limit.count;
    const hundredths = Math.round(rule.limit.percent * 100) * matching;
    let places = 1;
    while (places * 10_000 < hundredths) places += 1;
    return places;
  }
  const unassigned: string[] = [];
  for (const target of targets) {
    const wave = waves.find(({ rule, tenants, places }) => matchesRule(rule, target) && tenants.length < places);
    (wave?.tenants ?? unassigned).push(target.name);
  }
  return { waves: waves.map(({ name, tenants }) => ({ name, tenants })), unassigned };
}

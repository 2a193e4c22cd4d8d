/** One of the long matrices. `npm run test:long` runs it in full, in shards; `npm test` runs a sample. */
export interface Part {
  /** The vitest project that runs it. */
  readonly project: "unit" | "integration" | "native" | "dynamic" | "engine";
  /** Its test file, without `.test.ts`. */
  readonly file: string;
  /** Selects its tests in the file, as the value of vitest's `-t`. Default: all tests. */
  readonly only?: string;
  readonly aCase: string;
  /** The total number of cases. */
  readonly cases: number;
  /** The number of cases in a shard: a few minutes on one core, so that stopping loses little. */
  readonly shard: number;
  /** The number of tests in a shard, if it differs from the number of cases. */
  readonly tests?: number;
}

const FAULTS = {
  file: "test/integration/faults/resources",
  aCase: "a fault, its moment, its endpoint, and the attempt that it hits",
  cases: 768,
  shard: 60,
} as const;

const KILLS = {
  project: "engine",
  file: "test/engine/process-kills.slow",
  aCase: "a run, the killed process, the request, and the moment in it",
  cases: 420,
  shard: 10,
} as const;

const TWO_STACKS = {
  file: "test/integration/resources/two-stacks",
  aCase: "an order of the requests of two stacks",
  cases: 60,
  shard: 20,
} as const;

const HOSTILE_TEXT = {
  file: "test/integration/secrets/hostile-text",
  only: "is escaped in output and state",
  aCase: "a hostile text in every response of the service",
  cases: 26,
  shard: 26,
} as const;

/**
 * All parts by the names used on the command line. Tests that run over both providers are two parts; the `-native` one
 * uses the plugin.
 */
const parts = {
  "native-import": {
    project: "engine",
    file: "test/engine/native-import.slow",
    only: "each or as whole lists",
    aCase: "5,000 entries, as single entries and as whole lists",
    cases: 1,
    shard: 1,
    tests: 1,
  },
  "rollout-isolation": {
    project: "engine",
    file: "test/engine/rollout-isolation.slow",
    only: "keeps the changes of \\d+ tenants apart",
    aCase: "300 tenants changed by the engine",
    cases: 1,
    shard: 1,
    tests: 1,
  },
  soak: {
    project: "integration",
    file: "test/integration/load/soak",
    aCase: "50,000 entries and 200 VIPs, changed 100 times",
    cases: 1,
    shard: 1,
    tests: 1,
  },
  "hostile-sizes": {
    project: "integration",
    file: "test/integration/hostile-responses/oversized-responses.slow",
    aCase: "every oversized response, at every endpoint",
    cases: 1,
    shard: 1,
    tests: 38,
  },
  "hostile-lists": {
    project: "integration",
    file: "test/integration/hostile-responses/invalid-lists.slow",
    only: "endless lists",
    aCase: "every endless list, with every way to read it",
    cases: 1,
    shard: 1,
    tests: 4,
  },
  versions: {
    project: "engine",
    file: "test/engine/versions.slow",
    aCase: "a version of `@pulumi/pulumi`, with both providers",
    cases: 7,
    shard: 1,
    tests: 4,
  },
  "engine-faults": {
    project: "engine",
    file: "test/engine/faults.slow",
    aCase: "a fault in a run of the engine",
    cases: 6,
    shard: 6,
    tests: 1,
  },
  "rollout-kills": {
    project: "engine",
    file: "test/engine/rollout-kills.slow",
    only: "is killed at request",
    aCase: "the killed process, and the request of a rollout",
    cases: 216,
    shard: 8,
  },
  "rollout-moments": {
    project: "engine",
    file: "test/engine/rollout-kills.slow",
    only: "resumes after a kill when",
    aCase: "the step of a rollout at which its coordinator is killed",
    cases: 6,
    shard: 3,
  },
  kills: { ...KILLS, only: "dynamic resources" },
  "kills-native": { ...KILLS, only: "native resources" },
  "engine-models": {
    project: "engine",
    file: "test/engine/models.slow",
    aCase: "a scenario of four parts, through the engine",
    cases: 40,
    shard: 5,
    tests: 1,
  },
  "tenants-over-time": {
    project: "engine",
    file: "test/engine/tenant-set-changes.slow",
    aCase: "a scenario of ten rounds with a fleet's tenants, in two clones",
    cases: 200,
    shard: 5,
    tests: 2,
  },
  "plan-processes": {
    project: "integration",
    file: "test/integration/gitops/plan-accuracy",
    only: "in the real provider process",
    aCase: "a scenario of three plans and runs, each in a provider process",
    cases: 200,
    shard: 25,
    tests: 1,
  },
  "plan-sequences": {
    project: "integration",
    file: "test/integration/gitops/plan-accuracy",
    only: "values as canonical",
    aCase: "a scenario of three plans and runs",
    cases: 10_000,
    shard: 500,
    tests: 1,
  },
  "plan-as-sent": {
    project: "integration",
    file: "test/integration/gitops/plan-accuracy",
    only: "values as sent",
    aCase: "the same, with a service that returns values as they were sent",
    cases: 2_500,
    shard: 500,
    tests: 1,
  },
  models: {
    project: "integration",
    file: "test/integration/models/random-sequences",
    aCase: "a scenario of four parts, with two kinds of service",
    cases: 5_000,
    shard: 250,
    tests: 2,
  },
  "failing-journal": {
    project: "integration",
    file: "test/integration/rollout/journal-failures",
    only: "reports each tenant's true state",
    aCase: "a rollout whose journal fails at a statement",
    cases: 1_000,
    shard: 500,
    tests: 1,
  },
  journal: {
    project: "integration",
    file: "test/integration/rollout/journal",
    only: "matches its model after every operation",
    aCase: "a sequence of operations, each interrupted at every statement",
    cases: 400,
    shard: 100,
    tests: 1,
  },
  faults: { ...FAULTS, project: "dynamic" },
  "faults-native": { ...FAULTS, project: "native" },
  "faults-reading": {
    project: "integration",
    file: "test/integration/faults/read-only-endpoints",
    only: "at the read-only endpoints",
    aCase: "the same, for read-only operations",
    cases: 1_152,
    shard: 144,
  },
  "hostile-text": { ...HOSTILE_TEXT, project: "dynamic" },
  "hostile-text-native": { ...HOSTILE_TEXT, project: "native" },
  "two-stacks": { ...TWO_STACKS, project: "dynamic" },
  "two-stacks-native": { ...TWO_STACKS, project: "native" },
  "first-calls": {
    project: "dynamic",
    file: "test/integration/resources/calls-during-configuration.slow",
    aCase: "concurrent calls of every kind, to starting processes",
    cases: 60,
    shard: 60,
    tests: 2,
  },
  alike: {
    project: "native",
    file: "test/integration/plugin/provider-parity",
    aCase: "arguments before and after, of each kind of resource",
    cases: 20_000,
    shard: 4_000,
    tests: 4,
  },
  "plan-each": {
    project: "unit",
    file: "test/unit/rollout/probing/plan-all-targets",
    only: "limits requests to a down address",
    aCase: "a fleet with failing addresses",
    cases: 5_000,
    shard: 5_000,
    tests: 1,
  },
  "plan-each-living": {
    project: "unit",
    file: "test/unit/rollout/probing/plan-all-targets",
    only: "doesn't slow down tenants",
    aCase: "a fleet with and without unresponsive addresses",
    cases: 1_000,
    shard: 1_000,
    tests: 1,
  },
} as const satisfies Record<string, Part>;

export type PartName = keyof typeof parts;

export const PARTS: Readonly<Record<PartName, Part>> = parts;

/** Sources that StrykerJS mutates together, and the tests that must notice. */
export interface MutationPart {
  readonly aim: string;
  /** The mutated files, as globs. */
  readonly sources: readonly string[];
  /** The test files, as globs. They must run the sources in their own process. */
  readonly tests: readonly string[];
  /** Why the surviving mutants are acceptable. */
  readonly survivorsReason?: string;
}

const RESOURCE_TESTS = "test/integration/resources";

/** All parts by the names used on the command line. */
const parts = {
  "next-step": {
    aim: "the next step of a rollout",
    sources: ["provider/rollout/model/next-step.ts"],
    tests: ["test/unit/rollout/model/next-step.test.ts", "test/unit/rollout/model/simulation.test.ts"],
  },
  risk: {
    aim: "risky entries and dangerous changes",
    sources: ["provider/model/{risk,danger}.ts"],
    tests: [
      "test/unit/model/{arguments,danger,risk}.test.ts",
      "test/unit/{settings-files/file-declaration-checks,commands/explain/explain,rollout/report/change-danger}.test.ts",
    ],
    survivorsReason: "They remove a filter that the compiler needs. All special ranges are valid.",
  },
  "removal-guard": {
    aim: "the guard against mass removal, and the protection of a list",
    sources: ["provider/model/{removal-guard,list-protection}.ts"],
    tests: [
      "test/unit/model/{arguments,list-arguments,list-mode,list-protection,removal-guard}.test.ts",
      "test/unit/plan/make-plan.test.ts",
    ],
    survivorsReason: "They skip work that would find nothing, or check a type that is certain. The result is the same.",
  },
  "plan-digest": {
    aim: "the digest of a reviewed plan, and its enforcement",
    sources: ["provider/model/plan-digest.ts", "provider/resources/lifecycle/{reviewed-plan,enforce-plan}.ts"],
    tests: [
      "test/unit/model/plan-digest.test.ts",
      "test/unit/plan/make-plan.test.ts",
      "test/unit/gitops/expired-removal.test.ts",
      "test/unit/resources/{enforce-plan,reviewed-plan}.test.ts",
      "test/integration/gitops/plan.test.ts",
    ],
  },
  retry: {
    aim: "retries, the circuit breaker, and the meaning of responses",
    sources: [
      "provider/client/{retry-policy,retry-budget,retry-after,circuit-breaker,response-classification}.ts",
      "provider/tenant/resolve-outcome.ts",
    ],
    tests: [
      "test/unit/client/{circuit-breaker,parse-response,request-scheduler,response-classification,retry-*}.test.ts",
      "test/unit/tenant/vip-batches.test.ts",
      "test/integration/tenant/{rate-limit,unknown-outcome}.test.ts",
    ],
  },
  scheduler: {
    aim: "the scheduling of requests",
    sources: ["provider/client/{request-scheduler,adaptive-limit,deadline-context}.ts"],
    tests: ["test/unit/client/request-scheduler.test.ts", "test/integration/tenant/rate-limit.test.ts"],
  },
  "entry-value": {
    aim: "values and their canonical form",
    sources: ["provider/model/{entry-value,address-range}.ts"],
    tests: ["test/unit/model/{covering-values,entry-value,entry-value.properties,refang}.test.ts"],
  },
  "entry-fields": {
    aim: "fields of entries, encoded lists and patterns",
    sources: ["provider/model/{encoded-list,entry-fields,list-pattern,sequential-ids}.ts"],
    tests: [
      "test/unit/model/{arguments,encoded-list.properties,entry-fields,list-arguments,list-pattern,sequential-ids}.test.ts",
    ],
  },
  tenant: {
    aim: "snapshots, batches and writes of a tenant",
    sources: ["provider/tenant/*.ts", "!provider/tenant/{index,resolve-outcome}.ts"],
    tests: ["test/unit/tenant/*.test.ts", "test/integration/tenant/*.test.ts"],
  },
  "lifecycle-entry": {
    aim: "writes and removals of single entries",
    sources: [
      "provider/resources/lifecycle/{allow-deny-entry,changed-scopes,declarable,duplicate-rows,look-up-entry,row-ownership}.ts",
      "provider/resources/lifecycle/entry-*.ts",
    ],
    tests: [
      `${RESOURCE_TESTS}/{adoption-on-move,allow-deny-entry,allow-deny-list,duplicate-spellings,risk}.test.ts`,
      `${RESOURCE_TESTS}/{changed-scopes,duplicate-rows,entry-types,foreign-list-rows,id-collisions}.slow.test.ts`,
      `${RESOURCE_TESTS}/{import,removed-rows,row-ownership,unlisted-rows}.slow.test.ts`,
      "test/unit/resources/look-up.properties.test.ts",
    ],
  },
  "lifecycle-list": {
    aim: "whole allow and deny lists",
    sources: [
      "provider/resources/lifecycle/{allow-deny-list,best-effort-runner,decode-entries}.ts",
      "provider/resources/lifecycle/list-*.ts",
    ],
    tests: [
      `${RESOURCE_TESTS}/{allow-deny-list,exclusive-allows,risk}.test.ts`,
      `${RESOURCE_TESTS}/{changed-scopes,duplicate-rows,foreign-list-rows,import}.slow.test.ts`,
      `${RESOURCE_TESTS}/{lagging-lists,removed-rows,vip-list}.slow.test.ts`,
    ],
  },
  "lifecycle-vip": {
    aim: "VIPs, and what all resources share",
    sources: ["provider/resources/lifecycle/{vip-*,lifecycle,errors}.ts"],
    tests: [
      `${RESOURCE_TESTS}/vip-employee.test.ts`,
      `${RESOURCE_TESTS}/{duplicate-rows,import,vip-list}.slow.test.ts`,
      "test/unit/resources/look-up.properties.test.ts",
    ],
  },
} as const satisfies Record<string, MutationPart>;

export type MutationPartName = keyof typeof parts;

export const MUTATION_PARTS: Readonly<Record<MutationPartName, MutationPart>> = parts;

/** @throws {Error} if an argument names no part. */
export function selectParts(names: readonly string[]): MutationPartName[] {
  const all = Object.keys(MUTATION_PARTS) as MutationPartName[];
  const unknown = names.find((name) => !all.includes(name as MutationPartName));
  if (unknown !== undefined) throw new Error(`"${unknown}" is not a part. The parts are ${all.join(", ")}.`);
  return names.length === 0 ? all : all.filter((name) => names.includes(name));
}

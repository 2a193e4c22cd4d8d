import fc from "fast-check";
import { expect, it } from "vitest";
import { getPropertyOptions, getTimeLimit, selectSize } from "../support/matrix-sampling";
import { CompanyFleet, getStack, type NamedTenants, SERVICES, type TenantDeclaration } from "./company-fleet";

/*
 * The set of tenants is edited by hand, in two clones, between the steps of rollouts. {@link CompanyFleet} documents
 * and checks the invariants.
 */

const SEQUENCES = getPropertyOptions("tenants-over-time", { numRuns: 1, seed: 20_260_101 });
const STEPS = selectSize("tenants-over-time", 10, 6);

const NAMES = ["acme", "globex", "initech"] as const;
const name = fc.constantFrom(...NAMES);
const service = fc.constantFrom(...SERVICES);
const allow = fc.constantFrom("partner.example", "supplier.example");

type DeclarationEdit = (tenants: Map<string, TenantDeclaration>) => void;

/** An edit of `tenants.yaml`, if it applies. */
const change = fc.oneof(
  fc.tuple(name, service, allow).map(
    ([item, key, value]): DeclarationEdit =>
      (tenants) => {
        if (!tenants.has(item) && isFree(key, tenants))
          tenants.set(item, { service: key, allow: value, ...pickFreeStack(item, tenants) });
      },
  ),
  name.map(
    (item): DeclarationEdit =>
      (tenants) => {
        if (tenants.size > 1) tenants.delete(item);
      },
  ),
  fc.tuple(name, name, allow).map(
    ([old, next, value]): DeclarationEdit =>
      (tenants) => {
        const tenant = tenants.get(old);
        if (tenant === undefined || tenants.has(next)) return;
        tenants.delete(old);
        tenants.set(next, { ...tenant, allow: value });
      },
  ),
  takeName(name, fc.boolean()),
  fc.tuple(name, service, fc.integer({ min: 0, max: 3 })).map(
    ([item, key, rarely]): DeclarationEdit =>
      (tenants) => {
        const tenant = tenants.get(item);
        if (tenant !== undefined && (rarely === 0 || isFree(key, tenants)))
          tenants.set(item, { ...tenant, service: key });
      },
  ),
  fc.tuple(name, name).map(
    ([a, b]): DeclarationEdit =>
      (tenants) => {
        const [first, second] = [tenants.get(a), tenants.get(b)];
        if (first === undefined || second === undefined) return;
        tenants.set(a, { ...first, service: second.service });
        tenants.set(b, { ...second, service: first.service });
      },
  ),
  fc.tuple(name, allow).map(
    ([item, value]): DeclarationEdit =>
      (tenants) => {
        const tenant = tenants.get(item);
        if (tenant !== undefined) tenants.set(item, { ...tenant, allow: value });
      },
  ),
  name.map(
    (item): DeclarationEdit =>
      (tenants) => {
        const tenant = tenants.get(item);
        if (tenant !== undefined) tenants.set(item, { ...tenant, isRenamedHost: tenant.isRenamedHost !== true });
      },
  ),
);

/** Removes a tenant, and renames another one to its name. The renamed tenant keeps its stack, or loses it. */
function takeName(anyName: typeof name, keepsStack: fc.Arbitrary<boolean>): fc.Arbitrary<DeclarationEdit> {
  return fc.tuple(anyName, anyName, keepsStack).map(
    ([removed, renamed, isKept]): DeclarationEdit =>
      (tenants) => {
        const tenant = tenants.get(renamed);
        if (tenant === undefined || removed === renamed || !tenants.has(removed)) return;
        const { stack: _stack, ...others } = tenant;
        const stack = getStack(renamed, tenants);
        tenants.delete(renamed);
        tenants.set(removed, isKept && stack !== removed ? { ...others, stack } : others);
      },
  );
}

/** Returns another stack than that of a tenant which had the name before. */
function pickFreeStack(text: string, tenants: NamedTenants): Pick<TenantDeclaration, "stack"> {
  const stacks = new Set([...tenants.keys()].map((other) => getStack(other, tenants)));
  return stacks.has(text) ? { stack: `${text}-2` } : {};
}

function isFree(key: string, tenants: NamedTenants): boolean {
  return [...tenants.values()].every(({ service: other }) => other !== key);
}

type FleetAction = (company: CompanyFleet) => Promise<unknown>;

const anyIndex = fc.constantFrom(0, 1);
const editBy = (changes: fc.Arbitrary<DeclarationEdit>) =>
  fc.tuple(anyIndex, changes, fc.boolean()).map(
    ([clone, apply, isPulled]): FleetAction =>
      async (company) => {
        const tenants = new Map(company.getTenants(clone));
        apply(tenants);
        await company.edit(clone, tenants, isPulled);
      },
  );
const rollout = anyIndex.map(
  (clone): FleetAction =>
    async (company) =>
      await company.runRollout(clone),
);
const status = anyIndex.map(
  (clone): FleetAction =>
    async (company) =>
      await company.checkStatus(clone),
);
const generateRun = (commands: fc.Arbitrary<readonly string[]>) =>
  fc.tuple(anyIndex, commands).map(
    ([clone, args]): FleetAction =>
      async (company) =>
        await company.run(clone, ...args),
  );
const rollback = anyIndex.map(
  (clone): FleetAction =>
    async (company) =>
      await company.runRollback(clone),
);
const rolloutSteps = fc.oneof(
  { weight: 3, arbitrary: fc.constant(["rollout", "resume"]) },
  fc.constant(["rollout", "abandon"]),
);
/** Removes a tenant, and renames another one to its name. */
const reuseName = fc.tuple(anyIndex, name, name).map(
  ([clone, removed, renamed]): FleetAction =>
    async (company) => {
      if (removed === renamed) return;
      await company.run(clone, "tenant", "remove", removed);
      await company.run(clone, "tenant", "rename", renamed, removed);
    },
);
const command = fc.oneof(
  {
    weight: 8,
    arbitrary: generateRun(
      fc.oneof(
        { weight: 4, arbitrary: rolloutSteps },
        fc.tuple(name, name).map(([old, next]) => ["tenant", "rename", old, next]),
        name.map((item) => ["tenant", "remove", item]),
        name.map((item) => ["rollout", "skip", item, "--reason", "its key is refused"]),
        name.map((item) => ["rollout", "unskip", item]),
      ),
    ),
  },
  reuseName,
);

/** The service's tenant that each name refers to when no keys are mixed up. */
const OWN: Readonly<Record<(typeof NAMES)[number], string>> = { acme: "t0", globex: "t1", initech: "t2" };

const declareTenants = (value: string, names: readonly (typeof NAMES)[number][]): NamedTenants =>
  new Map(names.map((item) => [item, { service: OWN[item], allow: value }]));

/** Swaps keys between tenants that a rollout knows, or restores them. */
const mixUp = fc.oneof(
  fc.tuple(name, name).map(
    ([a, b]): DeclarationEdit =>
      (tenants) => {
        const [first, second] = [tenants.get(a), tenants.get(b)];
        if (first === undefined || second === undefined) return;
        tenants.set(a, { ...first, service: second.service });
        tenants.set(b, { ...second, service: first.service });
      },
  ),
  fc.tuple(name, name, fc.boolean()).map(
    ([a, b, isSecondKey]): DeclarationEdit =>
      (tenants) => {
        const tenant = tenants.get(a);
        if (tenant !== undefined) tenants.set(a, { ...tenant, service: OWN[b], isSecondKey });
      },
  ),
  fc.tuple(name, allow).map(
    ([item, value]): DeclarationEdit =>
      (tenants) => {
        tenants.set(item, { service: OWN[item], allow: value });
      },
  ),
  name.map(
    (item): DeclarationEdit =>
      (tenants) => {
        if (tenants.size > 1) tenants.delete(item);
      },
  ),
);

const FLEETS = [
  {
    label: "writes only to tenants of the current file, and reports only read tenants as in sync",
    hasPeople: true,
    names: ["acme", "globex"],
    edit: editBy(change),
    command,
  },
  {
    label: "writes to each tenant only under its own name, however keys are mixed up",
    hasPeople: false,
    names: NAMES,
    edit: editBy(mixUp),
    command: generateRun(
      fc.oneof(
        { weight: 6, arbitrary: rolloutSteps },
        name.map((item) => ["tenant", "remove", item, "--destroy", "--yes", item]),
      ),
    ),
  },
] as const;

it.each(FLEETS)(
  "keeps its guarantee: $label",
  {
    timeout: getTimeLimit(300_000),
  },
  async ({ hasPeople, names, edit, command: commands }) => {
    const round = fc.tuple(
      fc.array(edit, { maxLength: 2 }),
      fc.oneof({ weight: 4, arbitrary: rollout }, { weight: 2, arbitrary: status }, rollback, {
        weight: 3,
        arbitrary: commands,
      }),
      fc.boolean(),
      fc.option(anyIndex, { freq: 2 }),
    );
    const sequence = fc.array(round, { minLength: STEPS, maxLength: STEPS });
    const property = fc.asyncProperty(fc.noBias(sequence), async (rounds) => {
      await using company = await CompanyFleet.start(hasPeople);
      // The second rollout changes each tenant again, so that the first rollout can be pruned.
      for (const value of ["supplier.example", "partner.example"]) {
        await company.edit(0, declareTenants(value, names), true);
        await company.runRollout(0);
        await company.run(0, "rollout", "resume");
      }
      for (const [edits, command, isReverted, pruned] of rounds) {
        const before = [0, 1].map((clone) => company.getTenants(clone));
        for (const action of edits) await action(company);
        await command(company);
        if (pruned !== null) await company.prune(pruned);
        if (isReverted) await company.revert(before);
      }
      await company.checkStatus(0);
    });
    // Shrinking the sequence would take hours here.
    const { seed, counterexamplePath, errorInstance } = await fc.check(property, {
      ...SEQUENCES,
      endOnFailure: true,
    });
    const failure = errorInstance instanceof Error ? errorInstance.message : "";
    expect(failure, `seed ${seed}, path ${counterexamplePath}`).toBe("");
  },
);

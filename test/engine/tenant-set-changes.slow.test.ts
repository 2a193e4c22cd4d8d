import fc from "fast-check";
import { expect, it } from "vitest";
import { getPropertyOptions, sized, timeLimit } from "../support/matrix-sampling";
import { CompanyFleet, type NamedTenants, SERVICES, stackOf, type TenantDeclaration } from "./company-fleet";

/*
 * The set of tenants is edited by hand, in two clones, between the steps of rollouts. {@link CompanyFleet} documents
 * and checks the invariants.
 */

const STORIES = getPropertyOptions("tenants-over-time", { numRuns: 1, seed: 20_260_101 });
const STEPS = sized("tenants-over-time", 10, 6);

const NAMES = ["acme", "globex", "initech"] as const;
const name = fc.constantFrom(...NAMES);
const service = fc.constantFrom(...SERVICES);
const allow = fc.constantFrom("partner.example", "supplier.example");

type Change = (tenants: Map<string, TenantDeclaration>) => void;

/** An edit of `tenants.yaml`, if it applies. */
const change = fc.oneof(
  fc.tuple(name, service, allow).map(
    ([one, key, value]): Change =>
      (tenants) => {
        if (!tenants.has(one) && isFree(key, tenants))
          tenants.set(one, { service: key, allow: value, ...freeStack(one, tenants) });
      },
  ),
  name.map(
    (one): Change =>
      (tenants) => {
        if (tenants.size > 1) tenants.delete(one);
      },
  ),
  fc.tuple(name, name, allow).map(
    ([old, next, value]): Change =>
      (tenants) => {
        const tenant = tenants.get(old);
        if (tenant === undefined || tenants.has(next)) return;
        tenants.delete(old);
        tenants.set(next, { ...tenant, allow: value });
      },
  ),
  takeName(name, fc.boolean()),
  fc.tuple(name, service, fc.integer({ min: 0, max: 3 })).map(
    ([one, key, rarely]): Change =>
      (tenants) => {
        const tenant = tenants.get(one);
        if (tenant !== undefined && (rarely === 0 || isFree(key, tenants)))
          tenants.set(one, { ...tenant, service: key });
      },
  ),
  fc.tuple(name, name).map(
    ([one, other]): Change =>
      (tenants) => {
        const [first, second] = [tenants.get(one), tenants.get(other)];
        if (first === undefined || second === undefined) return;
        tenants.set(one, { ...first, service: second.service });
        tenants.set(other, { ...second, service: first.service });
      },
  ),
  fc.tuple(name, allow).map(
    ([one, value]): Change =>
      (tenants) => {
        const tenant = tenants.get(one);
        if (tenant !== undefined) tenants.set(one, { ...tenant, allow: value });
      },
  ),
  name.map(
    (one): Change =>
      (tenants) => {
        const tenant = tenants.get(one);
        if (tenant !== undefined) tenants.set(one, { ...tenant, isRenamedHost: tenant.isRenamedHost !== true });
      },
  ),
);

/** Removes a tenant, and renames another one to its name. The renamed tenant keeps its stack, or loses it. */
function takeName(anyName: typeof name, keepsStack: fc.Arbitrary<boolean>): fc.Arbitrary<Change> {
  return fc.tuple(anyName, anyName, keepsStack).map(
    ([removed, renamed, isKept]): Change =>
      (tenants) => {
        const tenant = tenants.get(renamed);
        if (tenant === undefined || removed === renamed || !tenants.has(removed)) return;
        const { stack: _stack, ...others } = tenant;
        const stack = stackOf(renamed, tenants);
        tenants.delete(renamed);
        tenants.set(removed, isKept && stack !== removed ? { ...others, stack } : others);
      },
  );
}

/** Returns another stack than that of a tenant which had the name before. */
function freeStack(one: string, tenants: NamedTenants): Pick<TenantDeclaration, "stack"> {
  const stacks = new Set([...tenants.keys()].map((other) => stackOf(other, tenants)));
  return stacks.has(one) ? { stack: `${one}-2` } : {};
}

function isFree(key: string, tenants: NamedTenants): boolean {
  return [...tenants.values()].every(({ service: other }) => other !== key);
}

type Step = (company: CompanyFleet) => Promise<unknown>;

const at = fc.constantFrom(0, 1);
const editBy = (changes: fc.Arbitrary<Change>) =>
  fc.tuple(at, changes, fc.boolean()).map(
    ([clone, apply, isPulled]): Step =>
      async (company) => {
        const tenants = new Map(company.tenants(clone));
        apply(tenants);
        await company.edit(clone, tenants, isPulled);
      },
  );
const rollout = at.map(
  (clone): Step =>
    async (company) =>
      await company.rollout(clone),
);
const status = at.map(
  (clone): Step =>
    async (company) =>
      await company.status(clone),
);
const runOf = (commands: fc.Arbitrary<readonly string[]>) =>
  fc.tuple(at, commands).map(
    ([clone, args]): Step =>
      async (company) =>
        await company.run(clone, ...args),
  );
const rollback = at.map(
  (clone): Step =>
    async (company) =>
      await company.rollback(clone),
);
const ofRollouts = fc.oneof(
  { weight: 3, arbitrary: fc.constant(["rollout", "resume"]) },
  fc.constant(["rollout", "abandon"]),
);
/** Removes a tenant, and renames another one to its name. */
const reuseName = fc.tuple(at, name, name).map(
  ([clone, removed, renamed]): Step =>
    async (company) => {
      if (removed === renamed) return;
      await company.run(clone, "tenant", "remove", removed);
      await company.run(clone, "tenant", "rename", renamed, removed);
    },
);
const command = fc.oneof(
  {
    weight: 8,
    arbitrary: runOf(
      fc.oneof(
        { weight: 4, arbitrary: ofRollouts },
        fc.tuple(name, name).map(([old, next]) => ["tenant", "rename", old, next]),
        name.map((one) => ["tenant", "remove", one]),
        name.map((one) => ["rollout", "skip", one, "--reason", "its key is refused"]),
        name.map((one) => ["rollout", "unskip", one]),
      ),
    ),
  },
  reuseName,
);

/** The service's tenant that each name refers to when no keys are mixed up. */
const OWN: Readonly<Record<(typeof NAMES)[number], string>> = { acme: "t0", globex: "t1", initech: "t2" };

const tenantsAllowing = (value: string, names: readonly (typeof NAMES)[number][]): NamedTenants =>
  new Map(names.map((one) => [one, { service: OWN[one], allow: value }]));

/** Swaps keys between tenants that a rollout knows, or restores them. */
const mixUp = fc.oneof(
  fc.tuple(name, name).map(
    ([one, other]): Change =>
      (tenants) => {
        const [first, second] = [tenants.get(one), tenants.get(other)];
        if (first === undefined || second === undefined) return;
        tenants.set(one, { ...first, service: second.service });
        tenants.set(other, { ...second, service: first.service });
      },
  ),
  fc.tuple(name, name, fc.boolean()).map(
    ([one, other, isSecondKey]): Change =>
      (tenants) => {
        const tenant = tenants.get(one);
        if (tenant !== undefined) tenants.set(one, { ...tenant, service: OWN[other], isSecondKey });
      },
  ),
  fc.tuple(name, allow).map(
    ([one, value]): Change =>
      (tenants) => {
        tenants.set(one, { service: OWN[one], allow: value });
      },
  ),
  name.map(
    (one): Change =>
      (tenants) => {
        if (tenants.size > 1) tenants.delete(one);
      },
  ),
);

const FLEETS = [
  {
    about: "writes only to tenants of the current file, and reports only read tenants as in sync",
    hasPeople: true,
    names: ["acme", "globex"],
    edit: editBy(change),
    command,
  },
  {
    about: "writes to each tenant only under its own name, however keys are mixed up",
    hasPeople: false,
    names: NAMES,
    edit: editBy(mixUp),
    command: runOf(
      fc.oneof(
        { weight: 6, arbitrary: ofRollouts },
        name.map((one) => ["tenant", "remove", one, "--destroy", "--yes", one]),
      ),
    ),
  },
] as const;

it.each(FLEETS)(
  "keeps its guarantee: $about",
  {
    timeout: timeLimit(300_000),
  },
  async ({ hasPeople, names, edit, command: deeds }) => {
    const round = fc.tuple(
      fc.array(edit, { maxLength: 2 }),
      fc.oneof({ weight: 4, arbitrary: rollout }, { weight: 2, arbitrary: status }, rollback, {
        weight: 3,
        arbitrary: deeds,
      }),
      fc.boolean(),
      fc.option(at, { freq: 2 }),
    );
    const story = fc.array(round, { minLength: STEPS, maxLength: STEPS });
    const property = fc.asyncProperty(fc.noBias(story), async (rounds) => {
      await using company = await CompanyFleet.start(hasPeople);
      // The second rollout changes each tenant again, so that the first rollout can be pruned.
      for (const value of ["supplier.example", "partner.example"]) {
        await company.edit(0, tenantsAllowing(value, names), true);
        await company.rollout(0);
        await company.run(0, "rollout", "resume");
      }
      for (const [edits, deed, isReverted, pruned] of rounds) {
        const before = [0, 1].map((clone) => company.tenants(clone));
        for (const one of edits) await one(company);
        await deed(company);
        if (pruned !== null) await company.prune(pruned);
        if (isReverted) await company.revert(before);
      }
      await company.status(0);
    });
    // Shrinking the story would take hours here.
    const { seed, counterexamplePath, errorInstance } = await fc.check(property, {
      ...STORIES,
      endOnFailure: true,
    });
    const failure = errorInstance instanceof Error ? errorInstance.message : "";
    expect(failure, `seed ${seed}, path ${counterexamplePath}`).toBe("");
  },
);

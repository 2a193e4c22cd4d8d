import { describe, expect, it } from "vitest";
import { buildTenantIdentity, shrinkIdentity, type TenantIdentity } from "../../../../provider/model/tenant-identity";
import type { Target } from "../../../../provider/rollout/model/target";
import {
  addMarkerRecords,
  findTenantConflicts,
  type IdentityRecords,
  SameTenantError,
  validateTenantIdentities,
} from "../../../../provider/rollout/targets/tenant-conflicts";
import { createTarget } from "../../../support/rollout-target";

const AT = "https://mail.example";

/**
 * Builds a tenant's identity: entries by number, with ids that no other tenant has. Entries from 10 on were created
 * after all snapshots.
 */
function buildIdentity(tenant: string, ...numbers: number[]): TenantIdentity {
  const rows = numbers.map((number) => ({
    id: `${tenant}-7f3c1b9e-52aa-4d0e-8b16-${String(number).padStart(12, "0")}`,
    entry_type: "domain",
    value: `evil${number}.example`,
    created_at: number < 10 ? "2026-11-02T09:00:00Z" : "2026-11-21T09:00:00Z",
  }));
  return buildTenantIdentity(AT, { rows, mailboxes: [], servedAtMs: Date.parse("2026-11-20T12:00:00Z") });
}

const [A, B, FORMER] = [
  buildIdentity("a", 0, 1, 2, 3),
  buildIdentity("b", 0, 1, 2, 3),
  buildIdentity("former", 0, 1, 2, 3),
];

function buildRecords(tenants: Readonly<Record<string, TenantIdentity>>): IdentityRecords {
  return new Map(
    Object.entries(tenants).map(([stack, identity]) => [stack, { stack, name: stack, rollout: "r", seq: 1, identity }]),
  );
}

function buildReadIdentities(tenants: Readonly<Record<string, TenantIdentity>>): ReadonlyMap<Target, TenantIdentity> {
  return new Map(Object.entries(tenants).map(([name, identity]) => [createTarget(name, AT), identity]));
}

const listNames = (all: readonly { readonly name: string }[]): string[] => all.map(({ name }) => name);

function findConflicts(
  readings: Readonly<Record<string, TenantIdentity>>,
  remembered: Readonly<Record<string, TenantIdentity>>,
): readonly unknown[] {
  return findTenantConflicts(buildReadIdentities(readings), buildRecords(remembered)).map(
    ({ targets, records, wrongTargets, replacedTargets }) => [
      listNames(targets),
      listNames(records),
      listNames(wrongTargets),
      listNames(replacedTargets),
    ],
  );
}

describe("findTenantConflicts", () => {
  it("names both tenants whose keys were swapped", () => {
    expect(findConflicts({ a: B, b: A }, { a: A, b: B })).toEqual([
      [["a"], ["b"], ["a"], ["b"]],
      [["b"], ["a"], ["b"], ["a"]],
    ]);
  });

  it("names the tenant whose identity changed when two read the same", () => {
    expect(findConflicts({ a: B, b: B }, { a: A, b: B })).toEqual([[["a", "b"], [], ["a"], []]]);
  });

  it("detects another tenant by a single matching row", () => {
    const changed = buildIdentity("b", 3, 14, 15, 16);
    expect(findConflicts({ a: changed }, { a: A, b: B })).toEqual([[["a"], ["b"], ["a"], []]]);
  });

  it("accepts a tenant whose rows were all removed or replaced", () => {
    expect(findConflicts({ a: buildIdentity("a", 10, 11) }, { a: A, b: B })).toEqual([]);
    expect(findConflicts({ a: buildIdentity("a") }, { a: A, b: B })).toEqual([]);
  });

  it("accepts a tenant that the journal also knows by another name", () => {
    const former = buildIdentity("a", 0, 1);
    expect(findConflicts({ a: buildIdentity("a", 0, 10, 11, 12) }, { a: A, former })).toEqual([]);
  });
});

describe("validateTenantIdentities", () => {
  const createRecordReader =
    (declared: Readonly<Record<string, TenantIdentity>>) => async (selection: "declared" | "all") =>
      buildRecords(selection === "all" ? { ...declared, former: FORMER } : declared);

  it("recognizes a tenant that has left the file", async () => {
    const same = await validateTenantIdentities(buildReadIdentities({ a: FORMER }), createRecordReader({ a: A }));
    expect(same.map(({ records }) => listNames(records))).toEqual([["former"]]);
  });

  it("accepts a former tenant under a new name", async () => {
    expect(await validateTenantIdentities(buildReadIdentities({ a: FORMER }), createRecordReader({}))).toEqual([]);
  });
});

it("has its own code for a shared key", () => {
  const getConflictCode = (readings: Readonly<Record<string, TenantIdentity>>): string =>
    new SameTenantError(findTenantConflicts(buildReadIdentities(readings), buildRecords({ a: A, b: B }))).code;
  expect(getConflictCode({ a: B })).toBe("ERR_OTHER_TENANT");
  expect(getConflictCode({ a: B, b: B })).toBe("ERR_SAME_TENANT");
});

describe("validateTenantIdentities with earlier rollouts", () => {
  /**
   * Builds the records of each tenant from its snapshots in earlier rollouts, oldest first; the last one is remembered.
   */
  const createHistoryReader =
    (tenants: Readonly<Record<string, readonly (readonly [sequence: number, TenantIdentity])[]>>) =>
    async (): Promise<IdentityRecords> =>
      new Map(
        Object.entries(tenants).map(([stack, read]) => {
          const earlier = read.map(([sequence, identity]) => ({ order: [sequence, 0] as const, identity }));
          const identity = earlier.at(-1)?.identity ?? A;
          const seq = read.at(-1)?.[0] ?? 0;
          return [
            stack,
            { stack, name: stack, rollout: "r", seq, identity, readEarlierIdentities: async () => earlier },
          ];
        }),
      );
  /** Read long after its entries were created. */
  const STRANGER = buildIdentity("stranger", 0, 1, 2, 3);

  it("accepts any identity that the tenant had before", async () => {
    const memory = createHistoryReader({
      a: [
        [1, A],
        [2, B],
      ],
      b: [[1, B]],
    });
    expect(await validateTenantIdentities(buildReadIdentities({ a: A, b: B }), memory)).toEqual([]);
    expect(await validateTenantIdentities(buildReadIdentities({ b: B }), memory)).toEqual([]);
  });

  it("assigns an identity read under two names to the first", async () => {
    const swappedOnce = createHistoryReader({
      a: [
        [1, A],
        [2, B],
      ],
      b: [
        [1, B],
        [2, A],
      ],
    });
    expect(await validateTenantIdentities(buildReadIdentities({ a: A, b: B }), swappedOnce)).toEqual([]);
    const readFixedRecords = createHistoryReader({
      a: [
        [1, A],
        [2, B],
        [3, A],
      ],
      b: [
        [1, B],
        [2, A],
        [3, B],
      ],
    });
    const again = await validateTenantIdentities(buildReadIdentities({ a: B, b: A }), readFixedRecords);
    expect(again.map(({ targets }) => listNames(targets))).toEqual([["a"], ["b"]]);
  });

  it("rejects an unknown identity unless a person accepts it", async () => {
    const memory = createHistoryReader({ a: [[1, A]], b: [[1, B]] });
    const conflicts = await validateTenantIdentities(buildReadIdentities({ a: STRANGER }), memory);
    expect(conflicts.map(({ targets, mismatch }) => [listNames(targets), mismatch?.reason])).toEqual([
      [["a"], expect.stringMatching(/^it has nothing in common with what was read on .* and now has 4 entries/)],
    ]);
    const { code, message } = new SameTenantError(conflicts);
    expect(code).toBe("ERR_OTHER_TENANT");
    expect(message).toContain('EMAIL_SECURITY_ACCEPT_EMPTY_TENANT=a. Found in this run: the key of "a" (');
    expect(
      await validateTenantIdentities(buildReadIdentities({ a: STRANGER }), memory, (name) => name === "a"),
    ).toEqual([]);
  });

  it("accepts another tenant's identity only if both are accepted", async () => {
    const memory = createHistoryReader({ a: [[1, A]], b: [[1, B]] });
    const validateAccepted = async (...names: string[]) =>
      await validateTenantIdentities(buildReadIdentities({ a: B }), memory, (name) => names.includes(name));
    expect(await validateAccepted("a")).toHaveLength(1);
    expect(await validateAccepted("a", "b")).toEqual([]);
  });

  it("never accepts two keys of one tenant in one run", async () => {
    const memory = createHistoryReader({ a: [[1, A]], b: [[1, B]] });
    expect(await validateTenantIdentities(buildReadIdentities({ a: B, b: B }), memory, () => true)).toHaveLength(1);
  });
});

describe("addMarkerRecords", () => {
  const MARKER = { rollout: "20261120-1200-aaaaaa", seq: 1, at: "2026-11-20T12:00:00Z" };
  const [a = createTarget("a", AT), b = a] = buildReadIdentities({ a: B, b: A }).keys();

  it("adds records from the stack state that the journal lacks", async () => {
    const memory = addMarkerRecords(
      async () => buildRecords({ a: A }),
      [a, b],
      ({ name }) => ({ ...MARKER, identity: name === "a" ? B : shrinkIdentity(B) }),
    );
    const remembered = await memory("declared");
    expect([...remembered.values()].map(({ stack, rollout }) => [stack, rollout])).toEqual([
      ["a", "r"],
      ["b", MARKER.rollout],
    ]);
    const conflicts = await validateTenantIdentities(
      new Map([
        [a, B],
        [b, A],
      ]),
      memory,
    );
    expect(conflicts.map(({ targets, records }) => [listNames(targets), listNames(records)])).toEqual([
      [["a"], ["b"]],
      [["b"], ["a"]],
    ]);
  });

  const createJournalReader = (seq: number) => async (): Promise<IdentityRecords> => {
    const readEarlierIdentities = async () => [{ order: [seq, 0] as const, identity: A }];
    return new Map([
      ["a", { stack: "a", name: "a", rollout: "r", seq, identity: A, fingerprint: "f", readEarlierIdentities }],
    ]);
  };

  it.each([
    ["a newer marker", 3, { ...MARKER, seq: 4 }, B],
    ["a marker with a newer identity", 3, { ...MARKER, identitySource: { ...MARKER, seq: 4 } }, B],
    ["a newer record", 4, { ...MARKER, seq: 3 }, A],
    ["a record of the same number", 4, { ...MARKER, seq: 4 }, A],
    ["a record where the marker has no identity", 3, undefined, A],
  ])("prefers %s", async (_label, seq, marker, expected) => {
    const memory = addMarkerRecords(
      createJournalReader(seq),
      [a],
      () => marker && { ...MARKER, ...marker, identity: B },
    );
    expect((await memory("declared")).get("a")?.identity).toBe(expected);
  });

  it("drops the readings before an acceptance that only the marker knows", async () => {
    const findEarlierRecord = async (acceptedSeq: number | undefined) => {
      const marker = { ...MARKER, seq: 4, identity: B, ...(acceptedSeq === undefined ? {} : { acceptedSeq }) };
      const record = (await addMarkerRecords(createJournalReader(3), [a], () => marker)("declared")).get("a");
      return [(await record?.readEarlierIdentities?.())?.length, record?.fingerprint];
    };
    expect(await findEarlierRecord(undefined)).toEqual([1, "f"]);
    expect(await findEarlierRecord(3)).toEqual([1, "f"]);
    expect(await findEarlierRecord(4)).toEqual([0, undefined]);
  });

  it("adds nothing for a marker without an identity", async () => {
    expect(
      (
        await addMarkerRecords(
          async () => new Map(),
          [a],
          () => MARKER,
        )("all")
      ).size,
    ).toBe(0);
  });
});

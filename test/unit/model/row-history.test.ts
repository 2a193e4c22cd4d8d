import { describe, expect, it } from "vitest";
import type { IdentifyingEntry } from "../../../provider/model/identity-hash";
import {
  buildTenantIdentity,
  describeOtherTenantProof,
  matchesEarlierIdentity,
  shrinkIdentity,
  type TenantIdentity,
} from "../../../provider/model/tenant-identity";

const AT = "https://mail.example";
const READ = Date.parse("2026-11-20T12:00:00Z");
const LONG_BEFORE = "2026-11-02T09:00:00Z";
const AFTER = "2026-11-20T12:30:00Z";

/** Builds entries whose ids no other tenant has. */
function buildRows(tenant: string, count: number, createdAt: string | null = LONG_BEFORE): IdentifyingEntry[] {
  return Array.from({ length: count }, (_, index) => ({
    id: `${tenant}-7f3c1b9e-52aa-4d0e-8b16-${String(index).padStart(12, "0")}`,
    entry_type: "domain",
    value: `evil${index}.example`,
    created_at: createdAt,
  }));
}

function buildIdentity(
  rows: readonly IdentifyingEntry[],
  { mailboxes = [], servedAtMs = READ }: { mailboxes?: string[]; servedAtMs?: number | undefined } = {},
): TenantIdentity {
  return buildTenantIdentity(AT, { rows, mailboxes, servedAtMs });
}

const OTHER = buildRows("other", 5);

describe("proof of another tenant", () => {
  it.each([1, 5, 31, 200, 2_000])("is found against an earlier read of %d entries", (count) => {
    const before = buildIdentity(buildRows("own", count));
    const rest = "and now has 5 entries that were created before that";
    expect(describeOtherTenantProof(buildIdentity(OTHER), before)).toBe(
      `it has nothing in common with what was read on 2026-11-20 12:00 UTC, ${rest}`,
    );
  });

  it("is found against an earlier read without entries", () => {
    expect(describeOtherTenantProof(buildIdentity(buildRows("other", 1)), buildIdentity([]))).toBe(
      "it was empty on 2026-11-20 12:00 UTC, and now has 1 entry that was created before that",
    );
  });

  it("is found among many more, mostly newer entries", () => {
    const now = buildIdentity([...buildRows("other", 20), ...buildRows("newer", 5_000, AFTER)]);
    expect(describeOtherTenantProof(now, buildIdentity(buildRows("own", 40)))).toContain("16 or more entries");
  });

  it("uses the newest earlier entry when the service returns no time", () => {
    const before = buildTenantIdentity(AT, { rows: buildRows("own", 3, "2026-11-10T09:00:00Z"), mailboxes: [] });
    expect(describeOtherTenantProof(buildIdentity(OTHER), before)).toContain("2026-11-10 09:00 UTC");
    const older = buildTenantIdentity(AT, { rows: buildRows("own", 3, "2026-11-01T09:00:00Z"), mailboxes: [] });
    expect(describeOtherTenantProof(buildIdentity(OTHER), older)).toBeUndefined();
  });
});

describe("missing proof of another tenant", () => {
  const own = buildRows("own", 40);
  const before = buildIdentity(own);

  it.each<[label: string, now: IdentifyingEntry[], before?: IdentifyingEntry[]]>([
    ["if it was emptied", []],
    ["if it was emptied and filled again", buildRows("rebuilt", 40, AFTER)],
    ["where one entry is left among many new ones", [...buildRows("rebuilt", 9_000, AFTER), ...own.slice(7, 8)]],
    ["where the entries were created within the clocks' skew", buildRows("new", 3, "2026-11-20T11:55:00Z")],
    ["where entries have no date", buildRows("other", 5, null)],
    ["where entries have a date without a time zone", buildRows("other", 5, "2026-11-02 09:00:00")],
    ["where the entries that were read before had no date", OTHER, buildRows("own", 5, null)],
    ["where nearly all of a long list was removed", buildRows("own", 2_000).slice(1_950), buildRows("own", 2_000)],
    [
      "where nearly all of a long list was removed, and people renamed",
      buildRows("own", 2_000)
        .slice(1_950)
        .map((row) => ({ ...row, created_by: "renamed" })),
      buildRows("own", 2_000),
    ],
    [
      "where the service writes dates otherwise",
      own.map((row) => ({ ...row, created_at: "2026-11-02T10:00:00.000+01:00" })),
    ],
  ])("returns undefined %s", (...[, now, earlier = own]) => {
    expect(describeOtherTenantProof(buildIdentity(now), buildIdentity(earlier))).toBeUndefined();
  });

  it("returns undefined when a VIP matches", () => {
    const mailboxes = ["ceo@own.example"];
    expect(
      describeOtherTenantProof(buildIdentity(OTHER, { mailboxes }), buildIdentity(own, { mailboxes })),
    ).toBeUndefined();
  });

  it("returns undefined for an identity from an earlier release", () => {
    const { history: _history, ...earlier } = before;
    expect(describeOtherTenantProof(buildIdentity(OTHER), earlier)).toBeUndefined();
  });

  it("returns undefined for a different address", () => {
    expect(describeOtherTenantProof(buildIdentity(OTHER), { ...before, address: "elsewhere" })).toBeUndefined();
  });
});

describe("shrunk identity", () => {
  it.each([3, 40, 3_000])("recognizes a tenant of %d entries in less than a thousand bytes", (count) => {
    const mailboxes = Array.from({ length: 50 }, (_, index) => `user${index}@own.example`);
    const small = shrinkIdentity(buildIdentity(buildRows("own", count), { mailboxes }));
    expect(small.history?.smallestAt).toBeUndefined();
    expect(JSON.stringify(small).length).toBeLessThan(1_000);
    expect(matchesEarlierIdentity(buildIdentity(buildRows("own", count), { mailboxes }), small)).toBe(true);
    expect(matchesEarlierIdentity(buildIdentity(OTHER), small)).toBe(false);
  });

  it.each([3, 40, 300])("proves another tenant against %d entries", (count) => {
    expect(
      describeOtherTenantProof(buildIdentity(OTHER), shrinkIdentity(buildIdentity(buildRows("own", count)))),
    ).toBeDefined();
  });

  it.each([2_500, 20_000])("proves another tenant with as many as %d entries", (count) => {
    const earlier = shrinkIdentity(buildIdentity(buildRows("own", count)));
    expect(describeOtherTenantProof(buildIdentity(buildRows("other", count)), earlier)).toBeDefined();
    expect(describeOtherTenantProof(buildIdentity(buildRows("other", count, AFTER)), earlier)).toBeUndefined();
    // A tenant's own entries that the sketch doesn't contain prove nothing.
    const { history, ...rest } = buildIdentity(buildRows("own", count));
    const own = { ...rest, unique: [], ...(history && { history }) };
    expect(describeOtherTenantProof(own, earlier)).toBeUndefined();
  });

  it("falls back to an earlier release's bit set without a sketch", () => {
    const removeSketch = (count: number): TenantIdentity => {
      const { history, ...identity } = shrinkIdentity(buildIdentity(buildRows("own", count)));
      const { smallest: _smallest, ...old } = history ?? { at: "", rows: "", oldest: [] };
      return { ...identity, history: old };
    };
    expect(describeOtherTenantProof(buildIdentity(OTHER), removeSketch(40))).toBeDefined();
    expect(describeOtherTenantProof(buildIdentity(buildRows("other", 20_000)), removeSketch(20_000))).toBeUndefined();
  });

  it("recognizes a tenant of entries with counted ids", () => {
    const buildCountedRows = (author: string): IdentifyingEntry[] =>
      Array.from({ length: 40 }, (_, index) => ({
        id: String(index + 1),
        entry_type: "domain",
        value: `${author}${index}.example`,
        created_at: new Date(READ - index * 60_000).toISOString(),
      }));
    expect(
      matchesEarlierIdentity(
        buildIdentity(buildCountedRows("own")),
        shrinkIdentity(buildIdentity(buildCountedRows("own"))),
      ),
    ).toBe(true);
    expect(
      matchesEarlierIdentity(
        buildIdentity(buildCountedRows("other")),
        shrinkIdentity(buildIdentity(buildCountedRows("own"))),
      ),
    ).toBe(false);
  });
});

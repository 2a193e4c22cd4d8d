import { expect, it } from "vitest";
import type { IdentifyingEntry } from "../../../provider/model/identity-hash";
import {
  buildTenantIdentity,
  compactIdentity,
  findSameTenants,
  type TenantIdentity,
} from "../../../provider/model/tenant-identity";

const AT = "https://mail.example";

function buildIdentifyingEntry(id: string, value: string, created_at = "2026-11-02T09:00:00Z"): IdentifyingEntry {
  return { id, value, entry_type: "domain", created_at, created_by: "ci" };
}

function buildIdentity(
  rows: readonly IdentifyingEntry[],
  mailboxes: readonly string[] = [],
  address = AT,
): TenantIdentity {
  return buildTenantIdentity(address, { rows, mailboxes });
}

function findSame(readings: Readonly<Record<string, TenantIdentity>>): readonly (readonly string[])[] {
  return findSameTenants(new Map(Object.entries(readings)));
}

const UUID = "7f3c1b9e-52aa-4d0e-8b16-90e4c7d2a5f8";

it("groups tenants that share a random entry id and creation date", () => {
  const existingEntry = buildIdentifyingEntry(UUID, "evil.example");
  expect(
    findSame({
      a: buildIdentity([existingEntry]),
      b: buildIdentity([]),
      c: buildIdentity([existingEntry]),
      d: buildIdentity([existingEntry], ["x@d.example"]),
    }),
  ).toEqual([["a", "c", "d"]]);
});

it("separates tenants whose equal ids have different creation dates", () => {
  expect(
    findSame({
      a: buildIdentity([buildIdentifyingEntry(UUID, "evil.example")]),
      b: buildIdentity([buildIdentifyingEntry(UUID, "evil.example", "2026-11-02T09:00:01Z")]),
    }),
  ).toEqual([]);
});

it("groups different spellings of one address only", () => {
  const existingEntries = [buildIdentifyingEntry(UUID, "evil.example")];
  const buildIdentityAt = (address: string): TenantIdentity => buildIdentity(existingEntries, [], address);
  expect(
    findSame({
      a: buildIdentityAt("https://mail.example"),
      b: buildIdentityAt("https://MAIL.example.:443/"),
      c: buildIdentityAt("https://other.example"),
      d: buildIdentityAt("http://127.0.0.1:8080"),
      e: buildIdentityAt("http://localhost:8080"),
    }),
  ).toEqual([
    ["a", "b"],
    ["d", "e"],
  ]);
});

it.each([
  ["1", "2", "3", "4", "5", "6"],
  [1, 2, 3, 4, 5, 6].map((id) => `entry-00000${id}`),
  [1, 2, 3, 4, 5, 6].map((id) => `00000000-0000-4000-8000-00000000000${id}`),
])("separates tenants with equal counted ids created in one second: %s", (...ids) => {
  const rows = ids.map((id) => buildIdentifyingEntry(id, `evil${id}.example`));
  expect(findSame({ a: buildIdentity(rows), b: buildIdentity(rows) })).toEqual([]);
  expect(findSame({ a: buildIdentity(rows, ["x@a.example"]), b: buildIdentity(rows, ["x@b.example"]) })).toEqual([]);
  expect(findSame({ a: buildIdentity(rows, ["x@a.example"]), b: buildIdentity(rows) })).toEqual([]);
});

it("groups counted ids when VIPs, dates or a third tenant decide", () => {
  const rows = [buildIdentifyingEntry("1", "one.example"), buildIdentifyingEntry("2", "two.example")];
  const a = buildIdentity(rows, ["x@a.example"]);
  expect(findSame({ a, b: buildIdentity(rows, ["X@a.example"]) })).toEqual([["a", "b"]]);
  const grown = [3, 4, 5].map((day) =>
    buildIdentifyingEntry(`${day}`, `evil${day}.example`, `2026-11-0${day}T09:00:00Z`),
  );
  expect(findSame({ a: buildIdentity(grown), b: buildIdentity(grown) })).toEqual([["a", "b"]]);
  const third = buildIdentity([buildIdentifyingEntry("3", "one.example")]);
  expect(findSame({ a: buildIdentity(rows), b: buildIdentity(rows), third })).toEqual([["a", "b"]]);
  const own = buildIdentity([buildIdentifyingEntry("1", "other.example")]);
  expect(findSame({ a: buildIdentity(rows), b: buildIdentity(rows), own })).toEqual([]);
});

it("groups counted ids with two creation dates only if these are more precise than a second", () => {
  const buildFractionIdentity = (fraction: string) =>
    buildIdentity(
      [1, 2].map((id) => buildIdentifyingEntry(`${id}`, `evil${id}.example`, `2026-11-02T09:00:0${id}${fraction}Z`)),
    );
  expect(findSame({ a: buildFractionIdentity(".417"), b: buildFractionIdentity(".417") })).toEqual([["a", "b"]]);
  expect(findSame({ a: buildFractionIdentity(""), b: buildFractionIdentity("") })).toEqual([]);
  expect(findSame({ a: buildFractionIdentity(".000"), b: buildFractionIdentity(".000") })).toEqual([]);
  expect(findSame({ a: buildFractionIdentity(".417"), b: buildFractionIdentity(".418") })).toEqual([]);
});

it("separates tenants that share only some counted entries", () => {
  const rows = [1, 2, 3, 4].map((id) =>
    buildIdentifyingEntry(`${id}`, `evil${id}.example`, `2026-11-0${id}T09:00:00Z`),
  );
  const other = [...rows.slice(0, 2), buildIdentifyingEntry("3", "x.example"), buildIdentifyingEntry("4", "y.example")];
  expect(findSame({ a: buildIdentity(rows), b: buildIdentity(other) })).toEqual([]);
});

it("groups tenants without entries by their VIPs", () => {
  expect(
    findSame({
      a: buildIdentity([], ["ceo@a.example"]),
      b: buildIdentity([], ["CEO@a.example"]),
      c: buildIdentity([], ["ceo@c.example"]),
      d: buildIdentity([]),
      e: buildIdentity([]),
    }),
  ).toEqual([["a", "b"]]);
});

it("recognizes a long list after many changes without storing values", () => {
  const rows = Array.from({ length: 3_000 }, (_, index) =>
    buildIdentifyingEntry(
      `ade_${(index * 2_654_435_761).toString(16).padStart(12, "0")}9c7fb2`,
      `evil${index}.example`,
    ),
  );
  const changed = [...rows.slice(500), buildIdentifyingEntry(UUID, "new.example")].toReversed();
  const a = buildIdentity(rows, ["ceo@a.example"]);
  expect(findSame({ a, b: buildIdentity(changed, ["ceo@a.example"]) })).toEqual([["a", "b"]]);
  expect(JSON.stringify(a)).not.toMatch(/evil|ceo|ade_/);
  expect(JSON.stringify(compactIdentity(a)).length).toBeLessThan(2_500);
});

it.each([300, 10_001])("samples %d entries independently of their order", (count) => {
  const rows = Array.from({ length: count }, (_, index) => {
    const createdAt = new Date(Date.parse("2026-11-02T09:00:00Z") + index * 1_000).toISOString();
    return buildIdentifyingEntry(String(index + 1), `evil${index}.example`, createdAt);
  });
  const identity = buildIdentity(rows);
  expect(identity).toMatchObject({ entries: count, numbers: { length: 32 }, counted: { length: 32 } });
  expect(identity.history?.oldest[0]).toMatch(`:${(Date.parse("2026-11-02T09:00:00Z") / 1_000).toString(36)}`);
  expect(buildIdentity(rows.toReversed())).toEqual(identity);
});

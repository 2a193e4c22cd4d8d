import { expect, it } from "vitest";
import type { IdentifyingEntry } from "../../../provider/settings/identity-hash";
import {
  buildTenantIdentity,
  compactIdentity,
  findSameTenants,
  type TenantIdentity,
} from "../../../provider/settings/tenant-identity";

const AT = "https://mail.example";

function entry(id: string, value: string, created_at = "2026-11-02T09:00:00Z"): IdentifyingEntry {
  return { id, value, entry_type: "domain", created_at, created_by: "ci" };
}

function reading(rows: readonly IdentifyingEntry[], mailboxes: readonly string[] = [], address = AT): TenantIdentity {
  return buildTenantIdentity(address, { rows, mailboxes });
}

function same(readings: Readonly<Record<string, TenantIdentity>>): readonly (readonly string[])[] {
  return findSameTenants(new Map(Object.entries(readings)));
}

const UUID = "7f3c1b9e-52aa-4d0e-8b16-90e4c7d2a5f8";

it("groups tenants that share a random entry id and creation date", () => {
  const held = entry(UUID, "evil.example");
  expect(same({ a: reading([held]), b: reading([]), c: reading([held]), d: reading([held], ["x@d.example"]) })).toEqual(
    [["a", "c", "d"]],
  );
});

it("separates tenants whose equal ids have different creation dates", () => {
  expect(
    same({
      a: reading([entry(UUID, "evil.example")]),
      b: reading([entry(UUID, "evil.example", "2026-11-02T09:00:01Z")]),
    }),
  ).toEqual([]);
});

it("groups different spellings of one address only", () => {
  const held = [entry(UUID, "evil.example")];
  const at = (address: string): TenantIdentity => reading(held, [], address);
  expect(
    same({
      a: at("https://mail.example"),
      b: at("https://MAIL.example.:443/"),
      c: at("https://other.example"),
      d: at("http://127.0.0.1:8080"),
      e: at("http://localhost:8080"),
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
  const rows = ids.map((id) => entry(id, `evil${id}.example`));
  expect(same({ a: reading(rows), b: reading(rows) })).toEqual([]);
  expect(same({ a: reading(rows, ["x@a.example"]), b: reading(rows, ["x@b.example"]) })).toEqual([]);
  expect(same({ a: reading(rows, ["x@a.example"]), b: reading(rows) })).toEqual([]);
});

it("groups counted ids when VIPs, dates or a third tenant decide", () => {
  const rows = [entry("1", "one.example"), entry("2", "two.example")];
  const a = reading(rows, ["x@a.example"]);
  expect(same({ a, b: reading(rows, ["X@a.example"]) })).toEqual([["a", "b"]]);
  const grown = [3, 4, 5].map((day) => entry(`${day}`, `evil${day}.example`, `2026-11-0${day}T09:00:00Z`));
  expect(same({ a: reading(grown), b: reading(grown) })).toEqual([["a", "b"]]);
  const third = reading([entry("3", "one.example")]);
  expect(same({ a: reading(rows), b: reading(rows), third })).toEqual([["a", "b"]]);
  const own = reading([entry("1", "other.example")]);
  expect(same({ a: reading(rows), b: reading(rows), own })).toEqual([]);
});

it("groups counted ids with two creation dates only if these are more precise than a second", () => {
  const build = (fraction: string) =>
    reading([1, 2].map((id) => entry(`${id}`, `evil${id}.example`, `2026-11-02T09:00:0${id}${fraction}Z`)));
  expect(same({ a: build(".417"), b: build(".417") })).toEqual([["a", "b"]]);
  expect(same({ a: build(""), b: build("") })).toEqual([]);
  expect(same({ a: build(".000"), b: build(".000") })).toEqual([]);
  expect(same({ a: build(".417"), b: build(".418") })).toEqual([]);
});

it("separates tenants that share only some counted entries", () => {
  const rows = [1, 2, 3, 4].map((id) => entry(`${id}`, `evil${id}.example`, `2026-11-0${id}T09:00:00Z`));
  const other = [...rows.slice(0, 2), entry("3", "x.example"), entry("4", "y.example")];
  expect(same({ a: reading(rows), b: reading(other) })).toEqual([]);
});

it("groups tenants without entries by their VIPs, but never empty ones", () => {
  expect(
    same({
      a: reading([], ["ceo@a.example"]),
      b: reading([], ["CEO@a.example"]),
      c: reading([], ["ceo@c.example"]),
      d: reading([]),
      e: reading([]),
    }),
  ).toEqual([["a", "b"]]);
});

it("recognizes a long list after many changes without storing values", () => {
  const rows = Array.from({ length: 3_000 }, (_, at) =>
    entry(`ade_${(at * 2_654_435_761).toString(16).padStart(12, "0")}9c7fb2`, `evil${at}.example`),
  );
  const changed = [...rows.slice(500), entry(UUID, "new.example")].toReversed();
  const a = reading(rows, ["ceo@a.example"]);
  expect(same({ a, b: reading(changed, ["ceo@a.example"]) })).toEqual([["a", "b"]]);
  expect(JSON.stringify(a)).not.toMatch(/evil|ceo|ade_/);
  expect(JSON.stringify(compactIdentity(a)).length).toBeLessThan(2_500);
});

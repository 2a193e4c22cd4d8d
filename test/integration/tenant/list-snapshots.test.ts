import { expect, it } from "vitest";
import type { ServiceRequest, ServiceResponse } from "../../../provider/sandbox";
import type { EntryQuery } from "../../../provider/tenant";
import { formatPersonAddress } from "../../support/people";
import { formatDomain, startTenantService } from "./service";

const buildQuery = (index: number, list: "allow" | "deny" = "deny"): EntryQuery => ({
  list,
  entryType: "domain",
  value: formatDomain(list, index),
  verdictScope: "global",
});
const MANY = Array.from({ length: 5_000 }, (_, index) => index);

it("shares one read of each list among 5,000 callers", async () => {
  await using acme = await startTenantService({ people: 450, vips: 450, denied: 401, allowed: 1 });
  const { tenant, trace } = acme;
  const reading = ["allow 1 200", "deny 1 200", "deny 2 200", "deny 3 200"];
  const vips = ["vips 1 200", "vips 2 200", "vips 3 200"];
  const matches = await Promise.all(
    MANY.flatMap((index) => [tenant.findEntry(buildQuery(index)), tenant.findVip(formatPersonAddress(index))]),
  );
  expect(matches.filter((row) => row !== undefined)).toHaveLength(401 + 450);
  expect(trace().sort()).toEqual([...reading, ...vips].sort());
  await Promise.all(MANY.map((index) => tenant.refetchEntry(buildQuery(index))));
  expect(trace().sort()).toEqual(reading);
  await Promise.all(MANY.map((index) => tenant.refetchVip(formatPersonAddress(index))));
  expect(trace()).toEqual(vips);
});

it("confirms 5,000 missing rows with the reads for one", async () => {
  await using acme = await startTenantService({ people: 450, vips: 450, denied: 401, allowed: 200 });
  const { tenant, trace } = acme;
  const matches = await Promise.all(
    MANY.flatMap((index) => [
      tenant.findEntryConfirmed(buildQuery(index + 401)),
      tenant.findVipConfirmed(formatPersonAddress(index + 450)),
    ]),
  );
  expect(matches.every((row) => row === undefined)).toBe(true);
  const pages = ["deny 1 200", "deny 2 200", "deny 3 200", "vips 1 200", "vips 2 200", "vips 3 200"];
  expect(trace().sort()).toEqual(repeatLines(6, ["allow 1 200", ...pages]).sort());
  // Other misses in the meantime cause no requests.
  expect(await tenant.findEntryConfirmed(buildQuery(9_999))).toBeUndefined();
  expect(await tenant.findVipConfirmed(formatPersonAddress(9_999))).toBeUndefined();
  expect(await tenant.findEntryConfirmed(buildQuery(400))).toMatchObject({ value: formatDomain("deny", 400) });
  expect(await tenant.findVipConfirmed(formatPersonAddress(449))).toMatchObject({ email: formatPersonAddress(449) });
  expect(trace()).toEqual([]);
});

it("rereads a list for 3 s before reporting a row gone", async () => {
  await using acme = await startTenantService({ people: 200, vips: 200, denied: 200 });
  const { tenant, time, trace } = acme;
  expect(await tenant.findEntryConfirmed(buildQuery(999))).toBeUndefined();
  expect(await tenant.findVipConfirmed(formatPersonAddress(999))).toBeUndefined();
  expect(trace().sort()).toEqual(repeatLines(6, ["allow 1 200", "deny 1 200", "vips 1 200"]).sort());
  const pauses = [100, 200, 400, 800, 1_500];
  expect(time.sleeps).toEqual([...pauses.flatMap((pause) => [pause, pause]), ...pauses]);
});

it("skips the rereads for a row that isn't expected", async () => {
  await using acme = await startTenantService({ people: 200, vips: 200, denied: 200 });
  const isExpected = false;
  expect(await acme.tenant.findEntryConfirmed(buildQuery(999), { isExpected })).toBeUndefined();
  expect(await acme.tenant.findVipConfirmed(formatPersonAddress(999), { isExpected })).toBeUndefined();
  expect(acme.trace().sort()).toEqual(["allow 1 200", "deny 1 200", "vips 1 200"]);
});

it("finds an entry missed by a read during a concurrent write", async () => {
  let hidden = 2;
  // Twice, another row takes the entry's place: one row was added for each one removed, so the read looks complete.
  const shiftDenies = (request: ServiceRequest, response: ServiceResponse): ServiceResponse | undefined => {
    if (request.query["list"] !== "deny" || hidden === 0) return undefined;
    const text = JSON.stringify(response.body);
    if (!text.includes(`"${formatDomain("deny", 7)}"`)) return undefined;
    hidden -= 1;
    const other = text.replace(/\{[^{}]*"value":"deny-7\.example"[^{}]*\}/, (row) => row.replaceAll("7", "x"));
    return { ...response, body: JSON.parse(other) };
  };
  await using acme = await startTenantService({ denied: 300, afterHandle: shiftDenies });
  const { tenant, trace } = acme;
  expect(await tenant.findEntry(buildQuery(7))).toBeUndefined();
  hidden = 0;
  expect(await tenant.findEntryConfirmed(buildQuery(7))).toMatchObject({ value: formatDomain("deny", 7) });
  expect(trace().sort()).toEqual(repeatLines(2, ["allow 1 200", "deny 1 200", "deny 2 200"]).sort());
  // Two reads had the row, so one read that misses it doesn't prove its removal.
  await tenant.refetchEntry(buildQuery(8));
  hidden = 1;
  await tenant.refetchEntry(buildQuery(8));
  trace();
  expect(await tenant.findEntry(buildQuery(7))).toBeUndefined();
  expect(await tenant.findEntryConfirmed(buildQuery(7))).toMatchObject({ value: formatDomain("deny", 7) });
  expect(trace().sort()).toEqual(["allow 1 200", "deny 1 200", "deny 2 200"]);
});

it("rereads when an entry is deleted between two pages", async () => {
  let done = false;
  await using acme = await startTenantService({
    denied: 401,
    intercept: async ({ query: pageQuery }) => {
      if (done || pageQuery["list"] !== "deny" || pageQuery["page"] !== "2") return;
      done = true;
      const [newest] = acme.sandbox.allowDenyEntries("acme");
      await acme.console("DELETE", `/allow_deny_entries/${newest?.id}`);
      return undefined;
    },
  });
  const { tenant, trace } = acme;
  const matches = await Promise.all(MANY.slice(0, 401).map((index) => tenant.findEntryConfirmed(buildQuery(index))));
  expect(matches.filter((row) => row === undefined)).toHaveLength(1);
  expect(trace().filter((line) => line.startsWith("deny"))).toEqual([
    "deny 1 200",
    "deny 2 200",
    "deny 1 200",
    "deny 2 200",
    // A missing row causes another read.
    ...repeatLines(5, ["deny 1 200", "deny 2 200"]),
  ]);
});

it("merges its own writes into the snapshots of both lists", async () => {
  await using acme = await startTenantService({ people: 3, vips: 3, denied: 250, allowed: 250 });
  const { tenant, trace } = acme;
  const created = {
    list: "deny",
    entry_type: "domain",
    value: "new.example",
    verdict_scope: "global",
  } as const;
  // The read is in flight while the entry is created, so it may or may not include the entry.
  const [, { row, isNew }] = await Promise.all([tenant.refetchEntry(buildQuery(1)), tenant.createEntry(created)]);
  expect(isNew).toBe(true);
  trace();
  const query = { ...buildQuery(0), value: "new.example" };
  expect(await tenant.findEntry(query)).toEqual(row);
  expect(await tenant.readAllEntries()).toHaveLength(501);
  await tenant.updateEntry(row.id, { list: "allow" });
  expect(await tenant.findEntry(query)).toMatchObject({ id: row.id, list: "allow" });
  await tenant.deleteEntry(row.id);
  expect(await tenant.findEntry(query)).toBeUndefined();
  expect(await tenant.readAllEntries()).toHaveLength(500);
  expect(trace()).toEqual([`PATCH allow_deny_entries/${row.id} 200`, `DELETE allow_deny_entries/${row.id} 200`]);
  await tenant.findVip(formatPersonAddress(0));
  await tenant.editVipComment(formatPersonAddress(0), "Chair");
  await tenant.removeVip(formatPersonAddress(1));
  expect((await tenant.readAllVips()).map(({ email, comment }) => `${email} ${comment}`).sort()).toEqual([
    `${formatPersonAddress(0)} Chair`,
    `${formatPersonAddress(2)} Board`,
  ]);
});

it("returns all entries and VIPs from shared snapshots", async () => {
  const duplicateNamelessVips = (request: ServiceRequest, response: ServiceResponse): ServiceResponse | undefined => {
    if (!request.path.endsWith("/vip_employees")) return undefined;
    const { results } = response.body as { results: { items: object[]; total: number } };
    const items = [
      ...results.items,
      { email: formatPersonAddress(0).toUpperCase(), source: "auto" },
      { full_name: "Hiroshi Tanabe", source: "auto" },
    ];
    return { ...response, body: { status: 200, results: { ...results, items, total: items.length } } };
  };
  await using acme = await startTenantService({
    people: 2,
    vips: 2,
    denied: 2,
    allowed: 2,
    afterHandle: duplicateNamelessVips,
  });
  const { tenant, trace } = acme;
  const [entries, vips] = await Promise.all([tenant.readAllEntries(), tenant.readAllVips()]);
  expect(entries.map(({ list, value }) => `${list} ${value}`).sort()).toEqual([
    "allow allow-0.example",
    "allow allow-1.example",
    "deny deny-0.example",
    "deny deny-1.example",
  ]);
  expect(entries.slice(0, 2).every(({ list }) => list === "allow")).toBe(true);
  expect(vips.map(({ email, comment }) => `${email} ${comment}`).sort()).toEqual([
    `${formatPersonAddress(0)} Board`,
    `${formatPersonAddress(1)} Board`,
  ]);
  expect(trace().sort()).toEqual(["allow 1 200", "deny 1 200", "vips 1 200"]);
});

function repeatLines(count: number, lines: string[]): string[] {
  return Array.from({ length: count }, () => lines).flat();
}

import fc from "fast-check";
import { expect, it } from "vitest";
import type { AllowDenyEntryRow, VipEmployeeRow } from "../../../provider/client";
import { ENTRY_LISTS } from "../../../provider/model/assumptions";
import { buildNaturalKey, canonicalizeMailbox } from "../../../provider/model/entry-value";
import {
  addQueryKey,
  findMatchingEntry,
  getRowNaturalKey,
  getRowValueKey,
  selectEffectiveRow,
} from "../../../provider/tenant/match-rows";
import { RowIndex } from "../../../provider/tenant/row-index";
import { getRunCount } from "../../support/matrix-sampling";

const values = ["evil.example", "EVIL.example.", "partner.example", "192.0.2.1", "boss@evil.example"];

/** Entries whose ids, values and scopes collide in every way; no id occurs twice. */
const anyRows = fc.uniqueArray(
  fc.record({
    id: fc.constantFrom("1", "2", "3", "4"),
    list: fc.constantFrom(...ENTRY_LISTS),
    entry_type: fc.constantFrom("domain", "ip"),
    value: fc.constantFrom(...values),
    verdict_scope: fc.constantFrom("global", "graymail", undefined),
  }),
  { selector: ({ id }) => id, maxLength: 4 },
) as fc.Arbitrary<AllowDenyEntryRow[]>;

const anyQuery = fc.record({
  id: fc.constantFrom("1", "2", "3", "4", undefined),
  list: fc.constantFrom(...ENTRY_LISTS),
  entryType: fc.constantFrom("domain", "ip"),
  value: fc.constantFrom(...values),
  verdictScope: fc.constantFrom("global", "graymail"),
});

it("finds an entry by value", () => {
  fc.assert(
    fc.property(anyRows, anyQuery, (all, query) => {
      const lists = ENTRY_LISTS.map((list) => {
        const rows = new RowIndex<AllowDenyEntryRow>(getRowValueKey);
        for (const row of all) if (row.list === list) rows.set(row.id, row);
        return rows;
      });
      const match = findMatchingEntry(lists, addQueryKey(query));
      const key = buildNaturalKey(query.entryType, query.value);
      const valueRows = all.filter((row) => getRowNaturalKey(row) === key);
      const own = valueRows.find(({ id }) => id === query.id);
      const scopeRows = valueRows.filter(
        ({ verdict_scope: scope = query.verdictScope }) => scope === query.verdictScope,
      );
      const listRows = scopeRows.filter(({ list }) => list === query.list);
      if (own !== undefined) expect(match).toBe(own);
      else if (scopeRows.length === 0) expect(match).toBeUndefined();
      else expect(listRows.length > 0 ? listRows : scopeRows).toContain(match);
      // Among those, an entry with the declared spelling wins.
      const written = listRows.filter(({ value }) => value === query.value);
      if (own === undefined && written.length > 0) expect(written).toContain(match);
    }),
    { numRuns: getRunCount(2_000) },
  );
});

it("prefers a stored row", () => {
  const rows: VipEmployeeRow[] = [
    { email: "jane@acme.example", source: "auto" },
    { email: "JANE@acme.example", source: "manual", added_by: "Dana" },
    { email: " jane@acme.example", source: "manual", added_by: "Dana" },
  ] as VipEmployeeRow[];
  fc.assert(
    fc.property(fc.shuffledSubarray(rows, { minLength: 1 }), (some) => {
      const chosen = selectEffectiveRow(some, "JANE@acme.example");
      const stored = some.filter((row) => row.added_by !== undefined);
      if (stored.length > 0) expect(stored).toContain(chosen);
      if (stored.includes(rows[1] as VipEmployeeRow)) expect(chosen).toBe(rows[1]);
      expect(canonicalizeMailbox(chosen?.email ?? "")).toBe("jane@acme.example");
    }),
  );
});

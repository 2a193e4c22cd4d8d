import type { AllowDenyEntryRow, VipEmployeeRow } from "../client";
import { LISTS, type List } from "../settings/assumptions";
import { standingOf } from "../settings/entry-fields";
import type { ListedEntry } from "../settings/keyed-list";
import { withoutUndefined } from "../settings/without-undefined";
import type { Change, Standing } from "./plan";

/** What an entry is about, as plans name it. */
export function subjectOf(
  { value, entryType, verdictScope }: ListedEntry,
  key: string,
): Pick<Change, "key" | "value" | "entryType" | "verdictScope"> & { kind: "entry" } {
  return { kind: "entry", key, value, entryType, verdictScope };
}

/** What a plan tells of an entry that is there. */
export function standingOfEntry(row: AllowDenyEntryRow): Standing {
  return {
    ...standingOf(row),
    ...withoutUndefined({ by: told(row.created_by), at: told(row.created_at) }),
  };
}

/** The same of a VIP. */
export function standingOfVip(row: VipEmployeeRow): Standing {
  return { ...standingOf(row), ...withoutUndefined({ by: told(row.added_by), at: told(row.date_added) }) };
}

/** What the service tells, where there is something to be read in it. */
function told(text: string | undefined): string | undefined {
  return text !== undefined && /[^\p{C}\p{Z}]/u.test(text) ? text : undefined;
}

/** Whether a row is of the allow/deny list. */
export function isEntryRow(row: AllowDenyEntryRow | VipEmployeeRow): row is AllowDenyEntryRow {
  return "entry_type" in row;
}

/** Whether it is a list that this release knows. */
export function isList(list: string): list is List {
  return LISTS.some((one) => one === list);
}

import type { AllowDenyEntryRow, VipEmployeeRow } from "../client";
import { LISTS, type List } from "../settings/assumptions";
import { standingOf } from "../settings/entry-fields";
import type { ListedEntry } from "../settings/keyed-list";
import { withoutUndefined } from "../settings/without-undefined";
import type { Change, Standing } from "./plan";

/** Returns the identity of an entry for plans. */
export function subjectOf(
  { value, entryType, verdictScope }: ListedEntry,
  key: string,
): Pick<Change, "key" | "value" | "entryType" | "verdictScope"> & { kind: "entry" } {
  return { kind: "entry", key, value, entryType, verdictScope };
}

/** Returns the state of an existing entry for plans. */
export function standingOfEntry(row: AllowDenyEntryRow): Standing {
  return {
    ...standingOf(row),
    ...withoutUndefined({ by: getReadableText(row.created_by), at: getReadableText(row.created_at) }),
  };
}

/** Returns the state of an existing VIP for plans. */
export function standingOfVip(row: VipEmployeeRow): Standing {
  return {
    ...standingOf(row),
    ...withoutUndefined({ by: getReadableText(row.added_by), at: getReadableText(row.date_added) }),
  };
}

/** Returns the text if it contains a visible character. */
function getReadableText(text: string | undefined): string | undefined {
  return text !== undefined && /[^\p{C}\p{Z}]/u.test(text) ? text : undefined;
}

/** Returns whether a row is from the allow/deny list. */
export function isEntryRow(row: AllowDenyEntryRow | VipEmployeeRow): row is AllowDenyEntryRow {
  return "entry_type" in row;
}

/** Returns whether this release knows the list. */
export function isList(list: string): list is List {
  return LISTS.some((one) => one === list);
}

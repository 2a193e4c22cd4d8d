import type { AllowDenyEntryRow, VipEmployeeRow } from "../client";
import { ENTRY_LISTS, type List } from "../model/assumptions";
import type { ListedEntry } from "../model/encoded-list";
import { pickEntryState } from "../model/entry-fields";
import { omitUndefined } from "../model/omit-undefined";
import type { PlanChange, PlanEntryState } from "./plan";

export function getEntrySubject(
  { value, entryType, verdictScope }: ListedEntry,
  key: string,
): Pick<PlanChange, "key" | "value" | "entryType" | "verdictScope"> & { kind: "entry" } {
  return { kind: "entry", key, value, entryType, verdictScope };
}

export function getEntryRowState(row: AllowDenyEntryRow): PlanEntryState {
  return {
    ...pickEntryState(row),
    ...omitUndefined({ createdBy: getReadableText(row.created_by), createdAt: getReadableText(row.created_at) }),
  };
}

export function getVipRowState(row: VipEmployeeRow): PlanEntryState {
  return {
    ...pickEntryState(row),
    ...omitUndefined({ createdBy: getReadableText(row.added_by), createdAt: getReadableText(row.date_added) }),
  };
}

/** Returns the text if it contains a visible character. */
function getReadableText(text: string | undefined): string | undefined {
  return text !== undefined && /[^\p{C}\p{Z}]/u.test(text) ? text : undefined;
}

export function isEntryRow(row: AllowDenyEntryRow | VipEmployeeRow): row is AllowDenyEntryRow {
  return "entry_type" in row;
}

export function isSupportedList(list: string): list is List {
  return ENTRY_LISTS.some((entryList) => entryList === list);
}

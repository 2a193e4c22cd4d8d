import type { AllowDenyEntryRow, VipEmployeeRow } from "../client";
import { type EncodedList, isUnmanaged } from "../model/encoded-list";
import { type EntryState, isSameEntryState } from "../model/entry-fields";
import { ENTRY_LIST_KIND, VIP_LIST_KIND } from "../model/list-arguments";
import type { PlanChange } from "./plan";
import { isEntryRow } from "./plan-row-state";

/**
 * Returns the last applied state of a key in the stack: what the last run declared, or what a refresh found since. Undefined if the stack
 * never declared the key or no state was read.
 */
export function getLastAppliedState(
  kind: PlanChange["kind"],
  key: string,
  lastKnown: EncodedList | undefined,
): EntryState | undefined {
  const text = lastKnown !== undefined && Object.hasOwn(lastKnown, key) ? lastKnown[key] : undefined;
  if (text === undefined || isUnmanaged(text)) return undefined;
  return (kind === "vip" ? VIP_LIST_KIND : ENTRY_LIST_KIND).decodeState(key, text);
}

/**
 * Describes a change made at the tenant since the last run; undefined if the state is unchanged. The service records who created an entry
 * and when a VIP was last changed, but not who changed or removed it.
 *
 * @param row the actual state of the key; undefined if the tenant doesn't have it.
 */
export function describeExternalChange(
  { kind, stackContent }: { readonly kind: PlanChange["kind"]; readonly stackContent: EncodedList | undefined },
  key: string,
  row: AllowDenyEntryRow | VipEmployeeRow | undefined,
): string | undefined {
  const lastApplied = getLastAppliedState(kind, key, stackContent);
  if (lastApplied === undefined) return undefined;
  if (row === undefined) {
    return "removed from the tenant since the stack's last run; the service doesn't report by whom";
  }
  if (isSameEntryState(row, lastApplied)) return undefined;
  const changeDate = isEntryRow(row) ? undefined : getChangeDate(row);
  const dateText = changeDate === undefined ? "" : ` (on ${changeDate})`;
  return `changed at the tenant since the stack's last run${dateText}; the service doesn't report by whom`;
}

/** Returns the day a VIP was last changed; undefined for one that was added and never changed. */
function getChangeDate({ updated_at, date_added }: VipEmployeeRow): string | undefined {
  if (updated_at === undefined || updated_at === date_added) return undefined;
  return /^\d{4}-\d{2}-\d{2}(?=$|[T ])/.exec(updated_at)?.[0];
}

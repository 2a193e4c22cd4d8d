import type { AllowDenyEntryRow, VipEmployeeRow } from "../client";
import { isSameStanding, type Standing } from "../settings/entry-fields";
import { isUnmanaged, type KeyedList } from "../settings/keyed-list";
import { ENTRIES, MEMBERS } from "../settings/list-arguments";
import type { Change } from "./plan";
import { isEntryRow } from "./rows";

/**
 * What the last run left at the tenant under a key, as the stack's state holds it: what it declared, or what a refresh found in its
 * place since. Undefined where it declared nothing of it, or no state was read.
 */
export function leftByRun(
  kind: Change["kind"],
  key: string,
  known: KeyedList | undefined,
): Standing | undefined {
  const text = known !== undefined && Object.hasOwn(known, key) ? known[key] : undefined;
  if (text === undefined || isUnmanaged(text)) return undefined;
  return (kind === "vip" ? MEMBERS : ENTRIES).standing(key, text);
}

/**
 * What somebody did at the tenant since the last run, in a few words; undefined where it holds what that left. The service keeps
 * who made what is there, and of a VIP when it was last changed; who changed something or took it away it tells nobody.
 *
 * @param row what the tenant holds under the key; undefined where it holds nothing.
 */
export function doneSince(
  { kind, known }: { readonly kind: Change["kind"]; readonly known: KeyedList | undefined },
  key: string,
  row: AllowDenyEntryRow | VipEmployeeRow | undefined,
): string | undefined {
  const left = leftByRun(kind, key, known);
  if (left === undefined) return undefined;
  if (row === undefined) {
    return "gone from the tenant since the stack's last run; who took it away, the service does not tell";
  }
  if (isSameStanding(row, left)) return undefined;
  const day = isEntryRow(row) ? undefined : dayOfChange(row);
  const on = day === undefined ? "" : ` (on ${day})`;
  return `changed at the tenant since the stack's last run${on}; by whom, the service does not tell`;
}

/** When a VIP was last changed. One that was added and left alone has that day only. */
function dayOfChange({ updated_at, date_added }: VipEmployeeRow): string | undefined {
  if (updated_at === undefined || updated_at === date_added) return undefined;
  return /^\d{4}-\d{2}-\d{2}(?=$|[T ])/.exec(updated_at)?.[0];
}

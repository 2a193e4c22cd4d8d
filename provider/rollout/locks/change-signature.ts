import { type EntryState, getComparableValues } from "../../model/entry-fields";
import { hashJson } from "../../model/plan-digest";

interface PlannedChange {
  readonly kind: string;
  readonly key: string;
  readonly before?: EntryState;
  readonly after?: EntryState;
}

/**
 * Identifies a change across tenants. The signature says that a value enters or leaves a list, or how a value that stays on its list
 * changes.
 * A new entry with another comment has the same signature.
 */
export function getChangeSignature({ kind, key, before, after }: PlannedChange): string {
  if (after === undefined) return hashJson(["remove", kind, key]);
  if (before === undefined || before.list !== after.list) return hashJson(["put", kind, key, after.list ?? "", ""]);
  return hashJson(["comment", kind, key, ...getComparableValues(after)]);
}

export function getPlanSignatures(plan: string): readonly string[] {
  return (JSON.parse(plan) as { readonly changes?: readonly PlannedChange[] }).changes?.map(getChangeSignature) ?? [];
}

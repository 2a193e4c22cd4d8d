import { comparedValues, type Standing } from "../../settings/entry-fields";
import { hashOf } from "../../settings/plan-digest";

/** The parts of a planned change that identify it if it is planned again. */
interface PlannedChange {
  readonly kind: string;
  readonly key: string;
  readonly before?: Standing;
  readonly after?: Standing;
}

/**
 * Identifies a change across tenants. The signature says that a value enters or leaves a list, or how a value that stays on its list
 * changes.
 * A new entry with another comment has the same signature.
 */
export function signatureOf({ kind, key, before, after }: PlannedChange): string {
  if (after === undefined) return hashOf(["remove", kind, key]);
  if (before === undefined || before.list !== after.list) return hashOf(["put", kind, key, after.list ?? "", ""]);
  return hashOf(["comment", kind, key, ...comparedValues(after)]);
}

/** The signatures of a plan in the journal's format. */
export function signaturesIn(plan: string): readonly string[] {
  return (JSON.parse(plan) as { readonly changes?: readonly PlannedChange[] }).changes?.map(signatureOf) ?? [];
}

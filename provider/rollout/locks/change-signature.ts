import { comparedValues, type Standing } from "../../settings/entry-fields";
import { hashOf } from "../../settings/plan-digest";

/** A change of a plan, as far as it tells what would be done again. */
interface PlannedChange {
  readonly kind: string;
  readonly key: string;
  readonly before?: Standing;
  readonly after?: Standing;
}

/**
 * What tells a change from others, whoever's it is: that a value comes to a list, or goes; and of one that stays on its list, what it
 * becomes. With another comment it is the same value on the same list.
 */
export function signatureOf({ kind, key, before, after }: PlannedChange): string {
  if (after === undefined) return hashOf(["remove", kind, key]);
  if (before === undefined || before.list !== after.list)
    return hashOf(["put", kind, key, after.list ?? "", ""]);
  return hashOf(["comment", kind, key, ...comparedValues(after)]);
}

/** The signatures of a plan as the journal has it. */
export function signaturesIn(plan: string): readonly string[] {
  return (
    (JSON.parse(plan) as { readonly changes?: readonly PlannedChange[] }).changes?.map(signatureOf) ?? []
  );
}

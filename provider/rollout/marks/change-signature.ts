import { hashOf } from "../../settings/plan-digest";

/** A change of a plan, as far as it tells what would be done again. */
interface PlannedChange {
  readonly kind: string;
  readonly key: string;
  readonly before?: { readonly list?: string; readonly comment?: string };
  readonly after?: { readonly list?: string; readonly comment?: string };
}

/**
 * What tells a change from others, whoever's it is: that a value comes to a list, or goes; and of a comment that changes, which it
 * becomes. With another comment it is the same value on the same list.
 */
export function signatureOf({ kind, key, before, after }: PlannedChange): string {
  if (after === undefined) return hashOf(["remove", kind, key]);
  const isComment = before !== undefined && before.list === after.list;
  return hashOf([
    isComment ? "comment" : "put",
    kind,
    key,
    after.list ?? "",
    isComment ? (after.comment ?? "") : "",
  ]);
}

/** The signatures of a plan as the journal has it. */
export function signaturesIn(plan: string): readonly string[] {
  return (
    (JSON.parse(plan) as { readonly changes?: readonly PlannedChange[] }).changes?.map(signatureOf) ?? []
  );
}

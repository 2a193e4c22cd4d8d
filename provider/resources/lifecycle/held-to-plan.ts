import type { AllowDenyEntryRow } from "../../client";
import type { AllowDenyEntryInputs, VipEmployeeInputs } from "../../settings/arguments";
import { cutByDanger } from "../../settings/danger";
import { isSameStanding } from "../../settings/entry-fields";
import { keyOfEntry, keyOfVip, textOfEntry, textOfVip } from "../../settings/keyed-list";
import { ENTRIES, type ListKind, MEMBERS } from "../../settings/list-arguments";
import { printable } from "../../settings/text";
import { keyOfRow } from "./entry-match";
import { PlanMovedError } from "./errors";
import type { Context } from "./lifecycle";

/** The intended change of one entry or VIP: the texts of its key in a keyed list. */
export interface Intent {
  readonly key: string;
  readonly before: string | undefined;
  readonly after: string | undefined;
}

const SHOWN = 20;

/**
 * Enforces the reviewed plan, if there is one: nothing is written unless the plan has exactly these changes.
 *
 * @param intents the changes; those already done are ignored.
 * @param left what stays unchanged because of a refusal.
 * @throws {PlanMovedError} (`ERR_PLAN_MOVED`) which names the changes that were not reviewed.
 */
export function holdToPlan(
  kind: ListKind,
  intents: readonly Intent[],
  { reviewed }: Context,
  left = "Nothing of this resource was changed.",
): void {
  const plan = reviewed?.();
  if (plan === undefined) return;
  const refused = intents.flatMap(({ key, ...texts }) => {
    const [before, after] = [kind.standing(key, texts.before), kind.standing(key, texts.after)];
    if (isSameStanding(before, after)) return [];
    const why = plan.refusal({ kind: kind.subjectKind, key, before, after });
    if (why === undefined) return [];
    const name = kind.describe(key, texts.after ?? texts.before ?? "");
    const listOf = (standing: typeof before) =>
      standing && (kind.subjectKind === "vip" ? "vip" : standing.list);
    return [{ text: `${name} ${why}`, from: listOf(before), to: listOf(after) }];
  });
  if (refused.length === 0) return;
  const { shown, more } = cutByDanger(refused, SHOWN, (one) => one);
  throw new PlanMovedError(
    [
      `What would be done is not what was reviewed. ${left}`,
      ...shown.map(({ text }) => `  ${printable(text)}`),
      ...(more === undefined ? [] : [`  … and ${more}`]),
      "Make the plan anew, and have it reviewed.",
    ].join("\n"),
  );
}

/**
 * Enforces the plan for an entry of another scope that is adopted and so ceases to exist. Called when it is found, since it
 * isn't known earlier.
 */
export function holdTakenOver(row: AllowDenyEntryRow, declared: Entry, context: Context): void {
  const key = keyOfRow(row);
  if (key === keyOfEntry(declared) || row.verdict_scope === undefined) return;
  const intent = { key, before: textOfEntry(row), after: undefined };
  holdToPlan(ENTRIES, [intent], context, "It was left as it is.");
}

/** Whether a plan is enforced. If not, callers skip the wait entirely. */
export function isHeld({ reviewed }: Context): boolean {
  return reviewed?.() !== undefined;
}

type Entry = Omit<AllowDenyEntryInputs, "adopt">;

/**
 * Enforces the plan for a single entry.
 *
 * @param known how to find it: from the state, or as declared.
 * @param after as declared; undefined if it is removed.
 */
export async function holdEntryToPlan(
  known: Entry & { readonly id?: string },
  after: Entry | undefined,
  context: Context,
): Promise<void> {
  const key = keyOfEntry(after ?? known);
  const row = await context.tenant.findEntry(known);
  const before = row !== undefined && keyOfRow(row) === key ? textOfEntry(row) : undefined;
  const wanted = after === undefined ? undefined : textOfEntry(after);
  holdToPlan(ENTRIES, [{ key, before, after: wanted }], context);
}

/** Enforces the plan for a single VIP. */
export async function holdVipToPlan(
  email: string,
  after: Pick<VipEmployeeInputs, "comment"> | undefined,
  context: Context,
): Promise<void> {
  const row = await context.tenant.findVip(email);
  const before = row === undefined ? undefined : textOfVip(row);
  const wanted = after === undefined ? undefined : textOfVip(after);
  holdToPlan(MEMBERS, [{ key: keyOfVip(email), before, after: wanted }], context);
}

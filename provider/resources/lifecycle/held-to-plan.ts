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

const MAX_SHOWN = 20;

/**
 * Enforces the reviewed plan, if there is one: nothing is written unless the plan has exactly these changes.
 *
 * @param changes what is done already is none of the plan's business.
 * @param outcomeText what is not changed because of it.
 * @throws {PlanMovedError} (`ERR_PLAN_MOVED`) that names what was not reviewed so.
 */
export function holdToPlan(
  kind: ListKind,
  changes: readonly Intent[],
  { reviewed }: Context,
  outcomeText = "Nothing of this resource was changed.",
): void {
  const plan = reviewed?.();
  if (plan === undefined) return;
  const unreviewed = changes.flatMap(({ key, ...texts }) => {
    const [before, after] = [kind.standing(key, texts.before), kind.standing(key, texts.after)];
    if (isSameStanding(before, after)) return [];
    const reason = plan.refusal({ kind: kind.subjectKind, key, before, after });
    if (reason === undefined) return [];
    const name = kind.describe(key, texts.after ?? texts.before ?? "");
    const getListName = (entryState: typeof before) =>
      entryState && (kind.subjectKind === "vip" ? "vip" : entryState.list);
    return [{ text: `${name} ${reason}`, from: getListName(before), to: getListName(after) }];
  });
  if (unreviewed.length === 0) return;
  const { shown, more } = cutByDanger(unreviewed, MAX_SHOWN, (item) => item);
  throw new PlanMovedError(
    [
      `What would be done is not what was reviewed. ${outcomeText}`,
      ...shown.map(({ text }) => `  ${printable(text)}`),
      ...(more === undefined ? [] : [`  … and ${more}`]),
      "Make the plan anew, and have it reviewed.",
    ].join("\n"),
  );
}

/** The same for an entry of another scope that is taken over, and so is no more: when it is met, for only then it is known. */
export function holdTakenOver(row: AllowDenyEntryRow, declared: PlannedEntry, context: Context): void {
  const key = keyOfRow(row);
  if (key === keyOfEntry(declared) || row.verdict_scope === undefined) return;
  const change = { key, before: textOfEntry(row), after: undefined };
  holdToPlan(ENTRIES, [change], context, "It was left as it is.");
}

/** Whether a plan is enforced. If not, callers skip the wait entirely. */
export function isHeld({ reviewed }: Context): boolean {
  return reviewed?.() !== undefined;
}

type PlannedEntry = Omit<AllowDenyEntryInputs, "adopt">;

/**
 * Enforces the plan for a single entry.
 *
 * @param knownEntry how to find it: as the state has it, or as it is declared.
 * @param after as it is declared; undefined where it goes.
 */
export async function holdEntryToPlan(
  knownEntry: PlannedEntry & { readonly id?: string },
  after: PlannedEntry | undefined,
  context: Context,
): Promise<void> {
  const key = keyOfEntry(after ?? knownEntry);
  const row = await context.tenant.findEntry(knownEntry);
  const before = row !== undefined && keyOfRow(row) === key ? textOfEntry(row) : undefined;
  const desired = after === undefined ? undefined : textOfEntry(after);
  holdToPlan(ENTRIES, [{ key, before, after: desired }], context);
}

/** Enforces the plan for a single VIP. */
export async function holdVipToPlan(
  email: string,
  after: Pick<VipEmployeeInputs, "comment"> | undefined,
  context: Context,
): Promise<void> {
  const row = await context.tenant.findVip(email);
  const before = row === undefined ? undefined : textOfVip(row);
  const desired = after === undefined ? undefined : textOfVip(after);
  holdToPlan(MEMBERS, [{ key: keyOfVip(email), before, after: desired }], context);
}

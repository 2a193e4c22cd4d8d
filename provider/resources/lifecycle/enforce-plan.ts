import type { AllowDenyEntryRow } from "../../client";
import type { AllowDenyEntryInputs, VipEmployeeInputs } from "../../model/arguments";
import { truncateByDanger } from "../../model/danger";
import { encodeEntry, encodeEntryKey, encodeVip, encodeVipKey } from "../../model/encoded-list";
import { isSameEntryState } from "../../model/entry-fields";
import { ENTRY_LIST_KIND, type ListKind, VIP_LIST_KIND } from "../../model/list-arguments";
import { sanitizeLine } from "../../model/text";
import { encodeRowKey } from "./entry-match";
import { PlanStaleError } from "./errors";
import type { LifecycleContext } from "./lifecycle";

/** The intended change of one entry or VIP: the texts of its key in an encoded list. */
export interface EncodedChange {
  readonly key: string;
  readonly before: string | undefined;
  readonly after: string | undefined;
}

const MAX_SHOWN = 20;

/**
 * Enforces the reviewed plan, if there is one: nothing is written unless the plan has exactly these changes.
 *
 * @param changes the changes to make. Those that are already done are skipped.
 * @param outcomeText a sentence that says what stays unchanged on failure.
 * @throws {PlanStaleError} (`ERR_PLAN_STALE`) that names the changes that were not reviewed.
 */
export function enforcePlan(
  kind: ListKind,
  changes: readonly EncodedChange[],
  { getReviewedPlan }: LifecycleContext,
  outcomeText = "This resource was not changed.",
): void {
  const plan = getReviewedPlan?.();
  if (plan === undefined) return;
  const unreviewed = changes.flatMap(({ key, ...texts }) => {
    const [before, after] = [kind.decodeState(key, texts.before), kind.decodeState(key, texts.after)];
    if (isSameEntryState(before, after)) return [];
    const reason = plan.describeDeviation({ kind: kind.itemKind, key, before, after });
    if (reason === undefined) return [];
    const name = kind.describe(key, texts.after ?? texts.before ?? "");
    const getStateList = (entryState: typeof before) =>
      entryState && (kind.itemKind === "vip" ? "vip" : entryState.list);
    return [{ text: `${name} ${reason}`, from: getStateList(before), to: getStateList(after) }];
  });
  if (unreviewed.length === 0) return;
  const { visible, hiddenText } = truncateByDanger(unreviewed, MAX_SHOWN, (item) => item);
  throw new PlanStaleError(
    [
      `The run would differ from the reviewed plan. ${outcomeText}`,
      ...visible.map(({ text }) => `  ${sanitizeLine(text)}`),
      ...(hiddenText === undefined ? [] : [`  … and ${hiddenText}`]),
      "Create the plan again, and have it reviewed.",
    ].join("\n"),
  );
}

/**
 * Enforces the plan for an adopted entry of another scope, which the adoption replaces. Called when the entry is found,
 * because it isn't known before.
 */
export function enforcePlanForAdoption(
  row: AllowDenyEntryRow,
  declared: PlannedEntry,
  context: LifecycleContext,
): void {
  const key = encodeRowKey(row);
  if (key === encodeEntryKey(declared) || row.verdict_scope === undefined) return;
  const change = { key, before: encodeEntry(row), after: undefined };
  enforcePlan(ENTRY_LIST_KIND, [change], context, "It was not changed.");
}

/** Whether the run may remove a row: no plan is enforced, or the reviewed one shows the removal. */
export function isRemovalReviewed(row: AllowDenyEntryRow, { getReviewedPlan }: LifecycleContext): boolean {
  const { itemKind, decodeState } = ENTRY_LIST_KIND;
  const key = encodeRowKey(row);
  const change = { kind: itemKind, key, before: decodeState(key, encodeEntry(row)), after: undefined };
  return getReviewedPlan?.()?.describeDeviation(change) === undefined;
}

/** Returns whether a plan is enforced. If not, callers skip the wait entirely. */
export function isPlanEnforced({ getReviewedPlan }: LifecycleContext): boolean {
  return getReviewedPlan?.() !== undefined;
}

type PlannedEntry = Omit<AllowDenyEntryInputs, "adopt">;

/**
 * Enforces the plan for a single entry.
 *
 * @param knownEntry the entry to look up: from the state, or as declared.
 * @param after the declaration; undefined if the entry is removed.
 */
export async function enforcePlanForEntry(
  knownEntry: PlannedEntry & { readonly id?: string },
  after: PlannedEntry | undefined,
  context: LifecycleContext,
): Promise<void> {
  const key = encodeEntryKey(after ?? knownEntry);
  const row = await context.tenant.findEntry(knownEntry);
  const before = row !== undefined && encodeRowKey(row) === key ? encodeEntry(row) : undefined;
  const desired = after === undefined ? undefined : encodeEntry(after);
  enforcePlan(ENTRY_LIST_KIND, [{ key, before, after: desired }], context);
}

export async function enforcePlanForVip(
  email: string,
  after: VipEmployeeInputs | undefined,
  context: LifecycleContext,
): Promise<void> {
  const row = await context.tenant.findVip(email);
  const before = row === undefined ? undefined : encodeVip(row);
  const desired = after === undefined ? undefined : encodeVip(after);
  enforcePlan(VIP_LIST_KIND, [{ key: encodeVipKey(email), before, after: desired }], context);
}

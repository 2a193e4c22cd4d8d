import { truncateByDanger } from "../../model/danger";
import { formatErrorWithCode } from "../../model/email-security-error";
import { type EncodedList, isUnmanaged } from "../../model/encoded-list";
import type { ListKind } from "../../model/list-arguments";
import { createIgnoreFilter, createPruneFilter } from "../../model/list-protection";
import { sanitizeLine } from "../../model/text";
import { PRUNE_ADVICE } from "./errors";
import type { LifecycleContext } from "./lifecycle";
import { filterPrunable } from "./list-content-changes";
import { formatItemCount, formatItemNames, MAX_LISTED_ITEMS } from "./list-names";
import type { ListInputs, ListObservation, ListResource } from "./list-resource";

export function logKeptItems(
  kind: ListKind,
  knownContent: EncodedList,
  declaredContent: EncodedList,
  { log }: LifecycleContext,
): void {
  const keptKeys = Object.keys(knownContent).filter((key) => !Object.hasOwn(declaredContent, key));
  if (keptKeys.length === 0) return;
  const [stays, subject] = keptKeys.length === 1 ? ["stays", "it is"] : ["stay", "they are"];
  log(
    `${formatItemCount(keptKeys.length, kind)} ${stays} (onDelete: "keep"): ${subject} only removed from the stack's state.`,
  );
}

export function logItemsDeclaredElsewhere<Inputs extends ListInputs>(
  resource: ListResource<Inputs>,
  content: EncodedList,
  inputs: Inputs,
  { log, isDeclared }: LifecycleContext,
): void {
  const { kind } = resource;
  const remainingEntries = Object.entries(content).filter(([key, text]) =>
    isDeclared(resource.buildItem(key, text, inputs)?.key ?? ""),
  );
  if (remainingEntries.length === 0) return;
  const names = remainingEntries.map(([key, text]) => kind.describe(key, text));
  const staysText =
    remainingEntries.length === 1 ? "is kept: the program declares it" : "are kept: the program declares them";
  log(`${formatItemCount(remainingEntries.length, kind)} ${staysText} (${formatItemNames(names)}).`);
}

export function logContradictions(
  kind: ListKind,
  keys: readonly string[],
  content: EncodedList,
  advice: string,
  { log }: LifecycleContext,
): void {
  const names = keys.map((key) => kind.describe(key, content[key] ?? ""));
  log(`At the tenant, contradicting the declarations: ${formatItemNames(names)}. ${advice}`);
}

/** Advice for an undeclared entry that makes the next run fail. */
export const NEXT_RUN_FAILS_ADVICE =
  "An `up` that still declares the deny fails until that is removed; with `adopt: true` it removes an allow of the same scope.";

/**
 * Describes conflicts with the declared content that don't fail the run. Undefined if there are none.
 *
 * @param declaredContent the content as the stack declares it.
 */
export function describeToleratedConflicts<Inputs extends ListInputs>(
  { kind, findToleratedConflicts }: ListResource<Inputs>,
  { knownContent, others }: ListObservation,
  declaredContent: EncodedList,
  inputs: ListInputs,
): string | undefined {
  if (findToleratedConflicts === undefined) return undefined;
  const isIgnored = createIgnoreFilter(kind, inputs);
  const isPruned = createPruneFilter(kind, inputs);
  const remainingEntries = Object.entries(others).filter((entry) => !isIgnored(...entry) && !isPruned(...entry));
  const remaining = Object.fromEntries(remainingEntries);
  const managedEntries = Object.entries(knownContent).filter(([, text]) => !isUnmanaged(text));
  if (findToleratedConflicts(Object.fromEntries(managedEntries), remaining).length === 0) return undefined;
  // An `up` moves back an entry that is on another list than declared.
  const entriesInPlace = managedEntries.filter(
    ([key, text]) => kind.decodeState(key, text)?.list === kind.decodeState(key, declaredContent[key])?.list,
  );
  const keys = findToleratedConflicts(Object.fromEntries(entriesInPlace), remaining);
  return keys.length === 0 ? undefined : formatItemNames(keys.map((key) => kind.describe(key, remaining[key] ?? "")));
}

export function formatToleratedConflicts(conflicts: string): string {
  return `This list allows what the tenant also denies: ${conflicts}, which this program doesn't declare. The service's reference doesn't define which of the two takes precedence, so mail may be blocked. Remove the deny in the console, or don't declare the allow.`;
}

/**
 * Returns the warning about the conflicts in the state, as long as one of the listed entries stays on its list.
 *
 * @param declaredContent the content that the program declares; undefined if not yet known.
 */
export function getStoredConflictWarnings(
  kind: ListKind,
  conflicts: unknown,
  knownContent: EncodedList,
  declaredContent: EncodedList | undefined,
): readonly string[] {
  if (typeof conflicts !== "string") return [];
  const staysOnList = ([key, text]: readonly [string, string]): boolean =>
    conflicts.includes(sanitizeLine(kind.getPatternTarget(key, text).value)) &&
    kind.decodeState(key, declaredContent?.[key])?.list === kind.decodeState(key, text)?.list;
  // The state truncates a long list of conflicts.
  const isShown =
    declaredContent === undefined || conflicts.includes("…") || Object.entries(knownContent).some(staysOnList);
  return isShown ? [formatToleratedConflicts(conflicts)] : [];
}

/** Logs the tolerated conflicts after a run. @returns their description, which goes into the state. */
export async function logToleratedConflicts<Inputs extends ListInputs>(
  resource: ListResource<Inputs>,
  knownContent: EncodedList,
  inputs: Inputs,
  context: LifecycleContext,
): Promise<string | undefined> {
  if (resource.findToleratedConflicts === undefined) return undefined;
  const observation = await resource.observe(knownContent, context, { shouldConfirm: false }).catch(() => undefined);
  const conflicts = observation && describeToleratedConflicts(resource, observation, knownContent, inputs);
  if (conflicts !== undefined) context.log(formatToleratedConflicts(conflicts));
  return conflicts;
}

/**
 * Logs the tenant's undeclared items that this run leaves in place.
 *
 * @returns whether some contradict the declared content. The next run then checks and reports again.
 */
export async function logUndeclaredItems<Inputs extends ListInputs>(
  resource: ListResource<Inputs>,
  knownContent: EncodedList,
  inputs: Inputs,
  context: LifecycleContext,
): Promise<boolean> {
  const { kind } = resource;
  const observation = await resource
    .observe(knownContent, context, { shouldConfirm: false })
    .catch((error: unknown) => error);
  if (!isObserved(observation)) {
    // The changes are already applied, and the state must keep them. A failed report must not fail the run.
    context.log(`The tenant's other elements could not be read: ${formatErrorWithCode(observation)}`);
    return false;
  }
  const remaining = filterPrunable(kind, observation.others, inputs);
  const contradictingKeys = new Set(resource.findConflicts(observation.knownContent, remaining));
  if (contradictingKeys.size > 0) logContradictions(kind, [...contradictingKeys], remaining, PRUNE_ADVICE, context);
  const otherEntries = Object.entries(remaining).filter(([key]) => !contradictingKeys.has(key));
  if (otherEntries.length === 0) return contradictingKeys.size > 0;
  const { visible, hiddenText } = truncateByDanger(otherEntries, MAX_LISTED_ITEMS, ([key, text]) => ({
    to: kind.itemKind === "vip" ? "vip" : kind.decodeState(key, text)?.list,
  }));
  const names = [
    ...visible.map(([key, text]) => sanitizeLine(kind.describe(key, text))),
    ...(hiddenText === undefined ? [] : [`… and ${hiddenText}`]),
  ];
  context.log(
    `Not changed: ${formatItemCount(otherEntries.length, kind)} that no preview has shown (${names.join(", ")}). A refresh reads them, and the next run removes those that are still undeclared.`,
  );
  return contradictingKeys.size > 0;
}

function isObserved(observation: unknown): observation is ListObservation {
  return typeof observation === "object" && observation !== null && "others" in observation;
}

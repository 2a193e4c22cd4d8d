import { cutByDanger } from "../../settings/danger";
import { withCode } from "../../settings/email-security-error";
import { isUnmanaged, type KeyedList } from "../../settings/keyed-list";
import type { ListKind } from "../../settings/list-arguments";
import { ignoring, pruning } from "../../settings/list-safeguards";
import { printable } from "../../settings/text";
import { PRUNED_BY_NEXT_RUN } from "./errors";
import type { Context } from "./lifecycle";
import { prunable } from "./list-content";
import { counted, FEW, fewOf } from "./list-names";
import type { ListInputs, ListResource, Observed } from "./list-resource";

export function sayKept(kind: ListKind, known: KeyedList, declared: KeyedList, { say }: Context): void {
  const keptKeys = Object.keys(known).filter((key) => !Object.hasOwn(declared, key));
  if (keptKeys.length === 0) return;
  const forgetsText = keptKeys.length === 1 ? "forgets it" : "forgets them";
  say(`${counted(keptKeys.length, kind)} stay (onDelete: "keep"): only the stack ${forgetsText}.`);
}

export function sayDeclaredElsewhere<Inputs extends ListInputs>(
  resource: ListResource<Inputs>,
  content: KeyedList,
  inputs: Inputs,
  { say, isDeclared }: Context,
): void {
  const { kind } = resource;
  const remainingEntries = Object.entries(content).filter(([key, text]) =>
    isDeclared(resource.thing(key, text, inputs)?.key ?? ""),
  );
  if (remainingEntries.length === 0) return;
  const names = remainingEntries.map(([key, text]) => kind.describe(key, text));
  const staysText =
    remainingEntries.length === 1 ? "stays: the program declares it" : "stay: the program declares them";
  say(`${counted(remainingEntries.length, kind)} ${staysText} (${fewOf(names)}).`);
}

/** Reports entries of the tenant that contradict the declared content. */
export function sayContradictions(
  kind: ListKind,
  keys: readonly string[],
  content: KeyedList,
  advice: string,
  { say }: Context,
): void {
  const names = keys.map((key) => kind.describe(key, content[key] ?? ""));
  say(`At the tenant beside what is declared, which it contradicts: ${fewOf(names)}. ${advice}`);
}

/** Advice for an undeclared entry that makes the next run fail. */
export const FAILS_NEXT_RUN =
  "An `up` that still declares the deny fails until that is removed; with `adopt: true` it removes an allow of the same scope.";

/**
 * Describes conflicts with the declared content that don't fail the run. Undefined if there are none.
 *
 * @param declared the content as the stack declares it.
 */
export function describeNamedConflicts<Inputs extends ListInputs>(
  { kind, namedConflicts }: ListResource<Inputs>,
  { known, others }: Observed,
  declared: KeyedList,
  inputs: ListInputs,
): string | undefined {
  if (namedConflicts === undefined) return undefined;
  const isIgnored = ignoring(kind, inputs);
  const isPruned = pruning(kind, inputs);
  const remainingEntries = Object.entries(others).filter((entry) => !isIgnored(...entry) && !isPruned(...entry));
  const remaining = Object.fromEntries(remainingEntries);
  const managedEntries = Object.entries(known).filter(([, text]) => !isUnmanaged(text));
  if (namedConflicts(Object.fromEntries(managedEntries), remaining).length === 0) return undefined;
  // What is declared for another list than it is on now, an `up` moves back.
  const entriesInPlace = managedEntries.filter(
    ([key, text]) => kind.standing(key, text)?.list === kind.standing(key, declared[key])?.list,
  );
  const keys = namedConflicts(Object.fromEntries(entriesInPlace), remaining);
  return keys.length === 0 ? undefined : fewOf(keys.map((key) => kind.describe(key, remaining[key] ?? "")));
}

/** Builds the warning about conflicts. @param conflicts the description from {@link describeNamedConflicts}. */
export function namedConflictsSentence(conflicts: string): string {
  return `This list allows what the tenant also denies: ${conflicts}, which this program doesn't declare. The service's reference doesn't say which of the two decides, so mail may be blocked. Remove the deny in the console, or declare no allow.`;
}

/**
 * The warning about the conflicts that a state names, as long as one of its entries stays where it is.
 *
 * @param declared the content that the program declares; undefined while that isn't known.
 */
export function warnOfNamedConflicts(
  kind: ListKind,
  conflicts: unknown,
  known: KeyedList,
  declared: KeyedList | undefined,
): readonly string[] {
  if (typeof conflicts !== "string") return [];
  const staysOnList = ([key, text]: readonly [string, string]): boolean =>
    conflicts.includes(printable(kind.target(key, text).value)) &&
    kind.standing(key, declared?.[key])?.list === kind.standing(key, text)?.list;
  // Of many conflicts, the state names a few.
  const isShown = declared === undefined || conflicts.includes("…") || Object.entries(known).some(staysOnList);
  return isShown ? [namedConflictsSentence(conflicts)] : [];
}

/** Reports these conflicts after a run. @returns their description, for the state. */
export async function sayNamedConflicts<Inputs extends ListInputs>(
  resource: ListResource<Inputs>,
  known: KeyedList,
  inputs: Inputs,
  context: Context,
): Promise<string | undefined> {
  if (resource.namedConflicts === undefined) return undefined;
  const observation = await resource.observe(known, context, { sure: false }).catch(() => undefined);
  const conflicts = observation && describeNamedConflicts(resource, observation, known, inputs);
  if (conflicts !== undefined) context.say(namedConflictsSentence(conflicts));
  return conflicts;
}

/**
 * Reports what the tenant holds that neither the state nor the program knows. It stays in place.
 *
 * @returns whether some of it contradicts the declared content. The next run then checks and reports again.
 */
export async function reportOthers<Inputs extends ListInputs>(
  resource: ListResource<Inputs>,
  known: KeyedList,
  inputs: Inputs,
  context: Context,
): Promise<boolean> {
  const { kind } = resource;
  const observation = await resource.observe(known, context, { sure: false }).catch((error: unknown) => error);
  if (!isObserved(observation)) {
    // The changes are already applied, and the state must keep them. A failed report must not fail the run.
    context.say(`What else the tenant holds could not be read: ${withCode(observation)}`);
    return false;
  }
  const remaining = prunable(kind, observation.others, inputs);
  const contradictingKeys = new Set(resource.conflicts(observation.known, remaining));
  if (contradictingKeys.size > 0)
    sayContradictions(kind, [...contradictingKeys], remaining, PRUNED_BY_NEXT_RUN, context);
  const otherEntries = Object.entries(remaining).filter(([key]) => !contradictingKeys.has(key));
  if (otherEntries.length === 0) return contradictingKeys.size > 0;
  const { shown, more } = cutByDanger(otherEntries, FEW, ([key, text]) => ({
    to: kind.subjectKind === "vip" ? "vip" : kind.standing(key, text)?.list,
  }));
  const names = [
    ...shown.map(([key, text]) => printable(kind.describe(key, text))),
    ...(more === undefined ? [] : [`… and ${more}`]),
  ];
  context.say(
    `Left alone: ${counted(otherEntries.length, kind)} that no preview has shown (${names.join(", ")}). A refresh shows them, and the run after it removes what is not declared then.`,
  );
  return contradictingKeys.size > 0;
}

function isObserved(observation: unknown): observation is Observed {
  return typeof observation === "object" && observation !== null && "others" in observation;
}

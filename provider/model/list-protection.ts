import type { ArgumentFailure, ON_DELETE, RawArguments } from "./arguments";
import { type EncodedList, isUnmanaged } from "./encoded-list";
import type { ListKind, ListOptions } from "./list-arguments";
import { canPrune, canPruneAny } from "./list-mode";
import { type Pattern, parseListPattern } from "./list-pattern";
import { validateRemovals } from "./removal-guard";
import { quote, sanitizeLine } from "./text";

/** Checks well-formed content against the safeguards of a list: ignored and protected entries, and the removal guard. */
export function validateListProtection(
  kind: ListKind,
  inputs: RawArguments,
  encoded: EncodedList,
  previous: RawArguments,
): ArgumentFailure[] {
  const { property } = kind;
  const options = inputs as ListOptions;
  const failures: ArgumentFailure[] = [];
  const ignoredPatterns = parseValidPatterns(options.ignore);
  const protectedPatterns = parseValidPatterns(options.protect);
  // Skips the work for long lists without patterns.
  const declared = ignoredPatterns.length + protectedPatterns.length === 0 ? [] : Object.entries(encoded);
  const matchNames = (pattern: Pattern, candidates: readonly (readonly [string, unknown])[]): string[] =>
    candidates
      .filter(([key, text]) => pattern.matches(kind.getPatternTarget(key, String(text))))
      .map(([key, text]) => kind.describe(key, String(text)));
  for (const pattern of ignoredPatterns) {
    const declaredMatches = matchNames(pattern, declared);
    if (declaredMatches.length === 0) continue;
    failures.push({
      property: "ignore",
      reason: `contains ${quote(pattern.text)}, which also matches declared items (${formatFewNames(declaredMatches)}). Ignored items are never changed: narrow the pattern, or remove the declaration`,
    });
  }
  const previousContent = (previous[property] ?? {}) as EncodedList;
  const removedEntries = findRemovals(kind, previousContent, encoded, options);
  const getTargetName = ([key, text]: readonly [string, unknown]): string => {
    const { list, value } = kind.getPatternTarget(key, String(text));
    return `${list} ${value}`;
  };
  const isProtectionChecked = protectedPatterns.length > 0 && removedEntries.length > 0;
  // An entry that only gets another scope stays protected.
  const declaredTargets = new Set(isProtectionChecked ? declared.map(getTargetName) : []);
  const unreplacedRemovals = isProtectionChecked
    ? removedEntries.filter((removed) => !declaredTargets.has(getTargetName(removed)))
    : [];
  for (const pattern of protectedPatterns) {
    if (matchNames(pattern, declared).length === 0) {
      failures.push({
        property: "protect",
        reason: `contains ${quote(pattern.text)}, but no declared ${kind.noun[0]} matches it. Protected items must be declared: declare it, or remove the pattern`,
      });
      continue;
    }
    const protectedNames = matchNames(pattern, unreplacedRemovals);
    if (protectedNames.length === 0) continue;
    failures.push({
      property: "protect",
      reason: `contains ${quote(pattern.text)}, and this run would remove items that match it (${formatFewNames(protectedNames)}). Declare them again, or narrow the pattern`,
    });
  }
  const previousConfirmation = previous["confirmRemovals"];
  const guardProblem = validateRemovals(
    {
      removedItems: findUnreplacedRemovals(kind, removedEntries, previousContent, encoded).map(([key, text]) => ({
        name: kind.describe(key, text),
        from: kind.itemKind === "vip" ? "vip" : kind.decodeState(key, text)?.list,
      })),
      countBefore: countRemovable(kind, previousContent, options),
      countAfter: Object.keys(encoded).length,
      noun: kind.noun,
    },
    options,
    typeof previousConfirmation === "number" ? previousConfirmation : undefined,
  );
  if (guardProblem !== undefined) failures.push({ property, reason: guardProblem });
  return failures;
}

/**
 * Lists the keys that a run removes, with their previous texts. These are keys that are no longer declared, and unmanaged keys in a mode
 * that prunes them. Ignored keys are never removed.
 */
export function findRemovals(
  kind: ListKind,
  previousContent: EncodedList,
  declared: EncodedList,
  options: Pick<ListOptions, "mode" | "ignore"> & { readonly onDelete?: (typeof ON_DELETE)[number] },
): [key: string, text: string][] {
  if (options.onDelete === "keep") return [];
  const isIgnored = createIgnoreFilter(kind, options);
  const isPruned = createPruneFilter(kind, options);
  const removedEntries: [key: string, text: string][] = [];
  for (const key of Object.keys(previousContent)) {
    const text = previousContent[key] ?? "";
    if (Object.hasOwn(declared, key)) continue;
    if (isUnmanaged(text) ? isPruned(key, text) : !isIgnored(key, text)) removedEntries.push([key, text]);
  }
  return removedEntries;
}

/**
 * Returns the removals that the removal guard counts. An entry whose scope changes has another key, but its row stays in the new form: a
 * newly declared key of the same value stands for one removed key. Unmanaged keys always count, because no declaration replaces them.
 */
function findUnreplacedRemovals(
  kind: ListKind,
  removedEntries: readonly (readonly [key: string, text: string])[],
  previousContent: EncodedList,
  declared: EncodedList,
): readonly (readonly [key: string, text: string])[] {
  if (removedEntries.length === 0) return removedEntries;
  const newCounts = new Map<string, number>();
  for (const key of Object.keys(declared)) {
    if (Object.hasOwn(previousContent, key)) continue;
    const subject = kind.getSubject(key);
    newCounts.set(subject, (newCounts.get(subject) ?? 0) + 1);
  }
  return removedEntries.filter(([key, text]) => {
    const subject = kind.getSubject(key);
    const count = isUnmanaged(text) ? 0 : (newCounts.get(subject) ?? 0);
    if (count > 0) newCounts.set(subject, count - 1);
    return count === 0;
  });
}

export function createIgnoreFilter(
  kind: ListKind,
  { ignore }: Pick<ListOptions, "ignore">,
): (key: string, text: string) => boolean {
  const ignoredPatterns = parseValidPatterns(ignore);
  return (key, text) => ignoredPatterns.some((pattern) => pattern.matches(kind.getPatternTarget(key, text)));
}

export function createPruneFilter(
  kind: ListKind,
  options: Pick<ListOptions, "mode" | "ignore">,
): (key: string, text: string) => boolean {
  if (!canPruneAny(options.mode)) return () => false;
  const isIgnored = createIgnoreFilter(kind, options);
  return (key, text) => canPrune(options.mode, kind.getPatternTarget(key, text).list) && !isIgnored(key, text);
}

/** Counts the keys that a run could remove. Unmanaged keys count only if the mode prunes them. */
function countRemovable(kind: ListKind, before: EncodedList, { mode }: ListOptions): number {
  const isRemovable = ([key, text]: [string, string]): boolean =>
    !isUnmanaged(text) || canPrune(mode, kind.getPatternTarget(key, text).list);
  return Object.entries(before).filter(isRemovable).length;
}

/** Parses the valid patterns. The check of the arguments has already reported invalid ones. */
export function parseValidPatterns(texts: readonly string[] | undefined): Pattern[] {
  if (!Array.isArray(texts)) return [];
  return texts.flatMap((text) => {
    const parsed = typeof text === "string" ? parseListPattern(text) : undefined;
    return parsed?.ok ? [parsed.value] : [];
  });
}

function formatFewNames(matchNames: readonly string[]): string {
  const visibleNames = matchNames.slice(0, 5).map(sanitizeLine).join(", ");
  return matchNames.length > 5 ? `${visibleNames} and ${matchNames.length - 5} more` : visibleNames;
}

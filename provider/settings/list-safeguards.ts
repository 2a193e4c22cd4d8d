import type { ArgumentFailure, ON_DELETE, RawArguments } from "./arguments";
import { isUnmanaged, type KeyedList } from "./keyed-list";
import type { ListKind, ListOptions } from "./list-arguments";
import { prunes, prunesAny } from "./list-mode";
import { type Pattern, parsePattern } from "./pattern";
import { guardRemovals } from "./removal-guard";
import { printable, quote } from "./text";

/** What is wrong with a content that is well-formed: what must be there and is not, what must not go and would. */
export function judge(
  kind: ListKind,
  inputs: RawArguments,
  encoded: KeyedList,
  previous: RawArguments,
): ArgumentFailure[] {
  const { property } = kind;
  const options = inputs as ListOptions;
  const failures: ArgumentFailure[] = [];
  const ignoredPatterns = readPatterns(options.ignore);
  const protectedPatterns = readPatterns(options.protect);
  // Lists are long, and most have no patterns to hold against them.
  const declared = ignoredPatterns.length + protectedPatterns.length === 0 ? [] : Object.entries(encoded);
  const matchNames = (pattern: Pattern, candidates: readonly (readonly [string, unknown])[]): string[] =>
    candidates
      .filter(([key, text]) => pattern.matches(kind.target(key, String(text))))
      .map(([key, text]) => kind.describe(key, String(text)));
  for (const pattern of ignoredPatterns) {
    const declaredMatches = matchNames(pattern, declared);
    if (declaredMatches.length === 0) continue;
    failures.push({
      property: "ignore",
      reason: `holds ${quote(pattern.text)}, which names what is declared too (${formatFewNames(declaredMatches)}). What is ignored is never touched: narrow the pattern, or take the declaration away`,
    });
  }
  const previousContent = (previous[property] ?? {}) as KeyedList;
  const removedEntries = removals(kind, previousContent, encoded, options);
  for (const pattern of protectedPatterns) {
    if (matchNames(pattern, declared).length === 0) {
      failures.push({
        property: "protect",
        reason: `holds ${quote(pattern.text)}, and no ${kind.noun[0]} that it names is declared. What is protected must be there: declare it, or take the pattern away`,
      });
      continue;
    }
    const lostNames = matchNames(pattern, removedEntries);
    if (lostNames.length === 0) continue;
    failures.push({
      property: "protect",
      reason: `holds ${quote(pattern.text)}, and this run would remove what it names (${formatFewNames(lostNames)}). Declare it again, or narrow the pattern`,
    });
  }
  const previousConfirmation = previous["confirmRemovals"];
  const guardProblem = guardRemovals(
    {
      removed: removedEntries.map(([key, text]) => ({
        name: kind.describe(key, text),
        from: kind.subjectKind === "vip" ? "vip" : kind.standing(key, text)?.list,
      })),
      before: countRemovable(kind, previousContent, options),
      after: Object.keys(encoded).length,
      noun: kind.noun,
    },
    options,
    typeof previousConfirmation === "number" ? previousConfirmation : undefined,
  );
  if (guardProblem !== undefined) failures.push({ property, reason: guardProblem });
  return failures;
}

/**
 * What a run removes, by key with the text before: what was declared, or shown as unmanaged in a mode that prunes it,
 * and is not declared any more; never what is ignored.
 */
export function removals(
  kind: ListKind,
  previousContent: KeyedList,
  declared: KeyedList,
  options: Pick<ListOptions, "mode" | "ignore"> & { readonly onDelete?: (typeof ON_DELETE)[number] },
): [key: string, text: string][] {
  if (options.onDelete === "keep") return [];
  const isIgnored = ignoring(kind, options);
  const isPruned = pruning(kind, options);
  const removedEntries: [key: string, text: string][] = [];
  for (const key of Object.keys(previousContent)) {
    const text = previousContent[key] ?? "";
    if (Object.hasOwn(declared, key)) continue;
    if (isUnmanaged(text) ? isPruned(key, text) : !isIgnored(key, text)) removedEntries.push([key, text]);
  }
  return removedEntries;
}

/** Tells what a list never touches. */
export function ignoring(
  kind: ListKind,
  { ignore }: Pick<ListOptions, "ignore">,
): (key: string, text: string) => boolean {
  const ignoredPatterns = readPatterns(ignore);
  return (key, text) => ignoredPatterns.some((pattern) => pattern.matches(kind.target(key, text)));
}

/** Tells what a list removes although nobody declared it. */
export function pruning(
  kind: ListKind,
  options: Pick<ListOptions, "mode" | "ignore">,
): (key: string, text: string) => boolean {
  if (!prunesAny(options.mode)) return () => false;
  const isIgnored = ignoring(kind, options);
  return (key, text) => prunes(options.mode, kind.target(key, text).list) && !isIgnored(key, text);
}

/** How many there are of which some may be removed: those nobody declared count only where they may go. */
function countRemovable(kind: ListKind, before: KeyedList, { mode }: ListOptions): number {
  const isRemovable = ([key, text]: [string, string]): boolean =>
    !isUnmanaged(text) || prunes(mode, kind.target(key, text).list);
  return Object.entries(before).filter(isRemovable).length;
}

/** The patterns that can be read; those that can't be were told by the check. */
export function readPatterns(texts: readonly string[] | undefined): Pattern[] {
  if (!Array.isArray(texts)) return [];
  return texts.flatMap((text) => {
    const parsed = typeof text === "string" ? parsePattern(text) : undefined;
    return parsed?.ok ? [parsed.value] : [];
  });
}

function formatFewNames(matchNames: readonly string[]): string {
  const visibleNames = matchNames.slice(0, 5).map(printable).join(", ");
  return matchNames.length > 5 ? `${visibleNames} and ${matchNames.length - 5} more` : visibleNames;
}

import { CoverageIndex, isOverlappingScope, listCoveringValues } from "../model/covering-values";
import { canonicalizeValue } from "../model/entry-value";
import { quote } from "../model/text";
import type { UnratedChange } from "./change-rating";
import type { DesiredState } from "./desired-state";
import type { ObservedState } from "./observed-state";
import type { PlanFinding } from "./plan-codes";

/**
 * Reports undeclared tenant entries on the opposite list that cover a changed entry (a parent domain, a wildcard, an address range) or are
 * covered by it. Lint reports the same for declared entries.
 */
export function findCoveringConflicts(
  changes: readonly UnratedChange[],
  { lists }: Pick<DesiredState, "lists">,
  { entries }: Pick<ObservedState, "entries">,
): PlanFinding[] {
  const newlyListed = changes.filter(
    ({ kind, before, after }) => kind === "entry" && after?.list !== undefined && before?.list !== after.list,
  );
  if (newlyListed.length === 0) return [];
  const byValue = Map.groupBy(newlyListed, ({ value }) => value);
  const covered = new CoverageIndex(byValue.keys());
  const removed = new Set(changes.flatMap(({ operation, key }) => (operation === "remove" ? [key] : [])));
  const isDeclared = (key: string): boolean => lists.some(({ declared }) => Object.hasOwn(declared, key));
  const findings: PlanFinding[] = [];
  const exceptions = new Map<UnratedChange, ExceptionEntry[]>();
  for (const [key, rows] of entries) {
    const [first] = rows;
    if (first === undefined || removed.has(key) || isDeclared(key)) continue;
    const value = canonicalizeValue(first.value);
    const getChanges = (values: readonly string[]) => values.flatMap((item) => byValue.get(item) ?? []);
    const findOtherList = (change: UnratedChange): string | undefined =>
      rows.find((row) => row.list !== change.after?.list && isOverlappingScope(row.verdict_scope, change.verdictScope))
        ?.list;
    for (const change of getChanges(covered.findCovered(value))) {
      const list = findOtherList(change);
      if (list !== undefined) findings.push(buildConflictFinding(change, value, list));
    }
    for (const change of getChanges(listCoveringValues(value))) {
      const list = findOtherList(change);
      if (list === undefined) continue;
      const changeExceptions = exceptions.get(change);
      if (changeExceptions === undefined) exceptions.set(change, [{ value, list }]);
      else changeExceptions.push({ value, list });
    }
  }
  for (const [change, changeExceptions] of exceptions) findings.push(buildExceptionFinding(change, changeExceptions));
  return findings;
}

/** A tenant entry on the opposite list that a changed entry covers. */
interface ExceptionEntry {
  readonly value: string;
  readonly list: string;
}

const MAX_EXCEPTIONS = 5;

/** Returns one finding for all exceptions: a denied domain may have hundreds below it. */
function buildExceptionFinding(
  { key, value, after }: UnratedChange,
  exceptions: readonly ExceptionEntry[],
): PlanFinding {
  const [changeEffect, otherEffect] = after?.list === "allow" ? ["allowed", "denied"] : ["denied", "allowed"];
  const names = exceptions.map((exception) => quote(exception.value)).sort();
  const namesText = names.slice(0, MAX_EXCEPTIONS).join(", ");
  const moreText = names.length > MAX_EXCEPTIONS ? ` and ${names.length - MAX_EXCEPTIONS} more` : "";
  const isKnown = exceptions.every(({ list }) => list === "allow" || list === "deny");
  const otherText = isKnown ? otherEffect : "on another list";
  return {
    code: "contradicted",
    // An allow below a deny keeps open what the change closes; a deny below an allow does no harm.
    level: after?.list === "allow" ? "note" : "warning",
    message: `${quote(value)} is ${changeEffect}, and ${namesText}${moreText}, which it covers, ${names.length === 1 ? "is" : "are"} ${otherText} at the tenant, but no file declares ${names.length === 1 ? "it" : "them"}. The service's reference doesn't define which of the two takes precedence. Remove ${names.length === 1 ? "it" : "them"} at the tenant, or declare ${names.length === 1 ? "it" : "them"} if the exception is intended.`,
    subject: { kind: "entry", key },
  };
}

function buildConflictFinding({ key, value, after }: UnratedChange, covering: string, list: string): PlanFinding {
  const [changeEffect, otherEffect] = after?.list === "allow" ? ["allowed", "denied"] : ["denied", "allowed"];
  const otherText = list === "allow" || list === "deny" ? otherEffect : `on the ${quote(list)} list`;
  return {
    code: "contradicted",
    level: "warning",
    message: `${quote(value)} is ${changeEffect}, and ${quote(covering)}, which covers it, is ${otherText} at the tenant, but no file declares it. The service's reference doesn't define which of the two takes precedence. Remove one of them, or test it before you rely on the change.`,
    subject: { kind: "entry", key },
  };
}

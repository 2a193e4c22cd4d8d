import type { Finding } from "../files/finding";
import { CoveredValues, coveringValues, isOverlappingScope } from "../settings/coverage";
import { canonicalValue } from "../settings/entry-value";
import { quote } from "../settings/text";
import type { BareChange } from "./alarm";
import type { Desired } from "./desired";
import type { Observed } from "./observed";

/**
 * Reports undeclared tenant entries on the opposite list that cover a changed entry (a parent domain, a wildcard, an address range) or are
 * covered by it. Lint reports the same for declared entries.
 */
export function coveringFindings(
  changes: readonly BareChange[],
  { lists }: Pick<Desired, "lists">,
  { entries }: Pick<Observed, "entries">,
): Finding[] {
  const put = changes.filter(
    ({ kind, before, after }) => kind === "entry" && after?.list !== undefined && before?.list !== after.list,
  );
  if (put.length === 0) return [];
  const byValue = Map.groupBy(put, ({ value }) => value);
  const covered = new CoveredValues(byValue.keys());
  const removed = new Set(changes.flatMap(({ sign, key }) => (sign === "remove" ? [key] : [])));
  const isDeclared = (key: string): boolean => lists.some(({ declared }) => Object.hasOwn(declared, key));
  const findings: Finding[] = [];
  const exceptions = new Map<BareChange, Exception[]>();
  for (const [key, rows] of entries) {
    const [first] = rows;
    if (first === undefined || removed.has(key) || isDeclared(key)) continue;
    const value = canonicalValue(first.value);
    const changesOf = (values: readonly string[]) => values.flatMap((one) => byValue.get(one) ?? []);
    const otherList = (change: BareChange): string | undefined =>
      rows.find(
        (row) =>
          row.list !== change.after?.list && isOverlappingScope(row.verdict_scope, change.verdictScope),
      )?.list;
    for (const change of changesOf(covered.coveredBy(value))) {
      const list = otherList(change);
      if (list !== undefined) findings.push(contradicted(change, value, list));
    }
    for (const change of changesOf(coveringValues(value))) {
      const list = otherList(change);
      if (list === undefined) continue;
      const found = exceptions.get(change);
      if (found === undefined) exceptions.set(change, [{ value, list }]);
      else found.push({ value, list });
    }
  }
  for (const [change, found] of exceptions) findings.push(exceptionFound(change, found));
  return findings;
}

/** A tenant entry on the opposite list that a changed entry covers. */
interface Exception {
  readonly value: string;
  readonly list: string;
}

const SHOWN_EXCEPTIONS = 5;

/** Returns one finding for all exceptions: a denied domain may have hundreds below it. */
function exceptionFound({ key, value, after }: BareChange, exceptions: readonly Exception[]): Finding {
  const [doing, done] = after?.list === "allow" ? ["allowed", "denied"] : ["denied", "allowed"];
  const names = exceptions.map((one) => quote(one.value)).sort();
  const shown = names.slice(0, SHOWN_EXCEPTIONS).join(", ");
  const more = names.length > SHOWN_EXCEPTIONS ? ` and ${names.length - SHOWN_EXCEPTIONS} more` : "";
  const isKnown = exceptions.every(({ list }) => list === "allow" || list === "deny");
  const what = isKnown ? done : "on another list";
  return {
    code: "contradicted",
    // An allow below a deny keeps open what the change closes; a deny below an allow does no harm.
    level: after?.list === "allow" ? "note" : "warning",
    message: `${quote(value)} is ${doing}, and ${shown}${more}, which it covers, ${names.length === 1 ? "is" : "are"} ${what} at the tenant, and no file declares ${names.length === 1 ? "it" : "them"}. The service's reference does not say which of the two decides; remove ${names.length === 1 ? "it" : "them"} at the tenant, or declare ${names.length === 1 ? "it" : "them"} if the exception is meant.`,
    subject: { kind: "entry", key },
  };
}

function contradicted({ key, value, after }: BareChange, covering: string, list: string): Finding {
  const [doing, done] = after?.list === "allow" ? ["allowed", "denied"] : ["denied", "allowed"];
  const what = list === "allow" || list === "deny" ? done : `on the ${quote(list)} list`;
  return {
    code: "contradicted",
    level: "warning",
    message: `${quote(value)} is ${doing}, and ${quote(covering)}, which covers it, is ${what} at the tenant, and no file declares it. The service's reference does not say which of the two decides; remove one of them, or find out before you count on the change.`,
    subject: { kind: "entry", key },
  };
}

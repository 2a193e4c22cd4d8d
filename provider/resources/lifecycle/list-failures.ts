import { type EmailSecurityError, withCode } from "../../settings/email-security-error";
import type { ListKind } from "../../settings/list-arguments";
import { printable } from "../../settings/text";
import { NotTriedError } from "./attempt-all";
import { ListNotAppliedError } from "./errors";
import { fewOf } from "./list-names";
import type { Failure } from "./list-resource";

export function notApplied(kind: ListKind, sorted: readonly Failure[], total: number): EmailSecurityError {
  const outcomeText =
    sorted.length < total
      ? "Everything else is as declared, and the stack's state holds what the service said is there."
      : "The stack's state holds what the service said is there.";
  return new ListNotAppliedError(
    `${sorted.length} of ${total} ${kind.noun[1]} could not be brought to what is declared; the reasons are below. ${outcomeText} Fix what the reasons name, then run again: a run does only what is left.`,
  );
}

/** So many that failed alike are told one by one; more are told together. */
const MAX_SEPARATE_REASONS = 5;

/**
 * Returns the reasons of all failures. Similar ones are grouped, such as those of an outage, and so are items that were not
 * attempted.
 */
export function reasonsOf(unorderedFailures: readonly Failure[]): string[] {
  const byName = unorderedFailures.toSorted(
    (one, other) => one.danger - other.danger || (one.name < other.name ? -1 : 1),
  );
  // What was not even tried comes last.
  const sorted = byName.toSorted((one, other) => Number(isNotAttempted(one)) - Number(isNotAttempted(other)));
  const groups = Map.groupBy(sorted, getFailureGroup);
  return [...groups.values()].flatMap((group) => {
    const [first] = group;
    const isAttempted = first !== undefined && !isNotAttempted(first);
    if (first === undefined || (isAttempted && group.length <= MAX_SEPARATE_REASONS)) {
      return group.map(({ name, error }) => `${printable(name)}: ${withCode(error)}`);
    }
    const names = fewOf(group.map(({ name }) => name));
    return [`${group.length} ${isAttempted ? "alike" : "more"} (${names}): ${withCode(first.error)}`];
  });
}

/** The same for failures that differ only in counts, ids and the request, as those of many entries do. */
function getFailureGroup(failure: Failure): string {
  if (isNotAttempted(failure)) return "";
  return withCode(failure.error).replace(/\b(?:GET|POST|PATCH|DELETE) \S+|\d+/g, "");
}

function isNotAttempted({ error }: Failure): boolean {
  return error instanceof NotTriedError;
}

import { type EmailSecurityError, withCode } from "../../settings/email-security-error";
import type { ListKind } from "../../settings/list-arguments";
import { printable } from "../../settings/text";
import { NotTriedError } from "./attempt-all";
import { ListNotAppliedError } from "./errors";
import { fewOf } from "./list-names";
import type { Failure } from "./list-resource";

export function notApplied(kind: ListKind, failures: readonly Failure[], of: number): EmailSecurityError {
  const rest =
    failures.length < of
      ? "Everything else is as declared, and the stack's state holds what the service said is there."
      : "The stack's state holds what the service said is there.";
  return new ListNotAppliedError(
    `${failures.length} of ${of} ${kind.noun[1]} could not be brought to what is declared; the reasons are below. ${rest} Fix what the reasons name, then run again: a run does only what is left.`,
  );
}

/** Up to this many similar failures are reported one by one; more are grouped. */
const TOLD_APART = 5;

/**
 * Returns the reasons of all failures. Similar ones are grouped, such as those of an outage, and so are items that were not
 * attempted.
 */
export function reasonsOf(unsorted: readonly Failure[]): string[] {
  const byName = unsorted.toSorted(
    (one, other) => one.danger - other.danger || (one.name < other.name ? -1 : 1),
  );
  // Items that were not attempted come last.
  const failures = byName.toSorted((one, other) => Number(isNotTried(one)) - Number(isNotTried(other)));
  const alike = Map.groupBy(failures, kindOf);
  return [...alike.values()].flatMap((group) => {
    const [first] = group;
    const isTried = first !== undefined && !isNotTried(first);
    if (first === undefined || (isTried && group.length <= TOLD_APART)) {
      return group.map(({ name, error }) => `${printable(name)}: ${withCode(error)}`);
    }
    const names = fewOf(group.map(({ name }) => name));
    return [`${group.length} ${isTried ? "alike" : "more"} (${names}): ${withCode(first.error)}`];
  });
}

/** Returns a group key, equal for failures that differ only in counts, ids and the request. */
function kindOf(failure: Failure): string {
  if (isNotTried(failure)) return "";
  return withCode(failure.error).replace(/\b(?:GET|POST|PATCH|DELETE) \S+|\d+/g, "");
}

function isNotTried({ error }: Failure): boolean {
  return error instanceof NotTriedError;
}

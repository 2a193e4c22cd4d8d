import { type EmailSecurityError, formatErrorWithCode } from "../../model/email-security-error";
import type { ListKind } from "../../model/list-arguments";
import { sanitizeLine } from "../../model/text";
import { NotAttemptedError } from "./best-effort-runner";
import { ListNotAppliedError } from "./errors";
import { formatItemNames } from "./list-names";
import type { ItemFailure } from "./list-resource";

export function buildListNotAppliedError(
  kind: ListKind,
  sorted: readonly ItemFailure[],
  total: number,
): EmailSecurityError {
  const outcomeText =
    sorted.length < total
      ? "Everything else is applied, and the stack's state contains what the service reported."
      : "The stack's state contains what the service reported.";
  return new ListNotAppliedError(
    `${sorted.length} of ${total} ${kind.noun[1]} could not be applied; the reasons are below. ${outcomeText} Fix the reported causes, then run again: a run does only the rest.`,
  );
}

const MAX_SEPARATE_REASONS = 5;

/**
 * Returns the reasons of all failures. Similar ones are grouped, such as those of an outage, and so are items that were not
 * attempted.
 */
export function formatFailureReasons(unorderedFailures: readonly ItemFailure[]): string[] {
  const byName = unorderedFailures.toSorted((a, b) => a.dangerRank - b.dangerRank || (a.name < b.name ? -1 : 1));
  // Items that were not attempted come last.
  const sorted = byName.toSorted((a, b) => Number(isNotAttempted(a)) - Number(isNotAttempted(b)));
  const groups = Map.groupBy(sorted, getFailureGroup);
  return [...groups.values()].flatMap((group) => {
    const [first] = group;
    const isAttempted = first !== undefined && !isNotAttempted(first);
    if (first === undefined || (isAttempted && group.length <= MAX_SEPARATE_REASONS)) {
      return group.map(({ name, error }) => `${sanitizeLine(name)}: ${formatErrorWithCode(error)}`);
    }
    const names = formatItemNames(group.map(({ name }) => name));
    return [`${group.length} ${isAttempted ? "alike" : "more"} (${names}): ${formatErrorWithCode(first.error)}`];
  });
}

/** Returns a key that similar failures share: they differ only in counts, ids and requests. */
function getFailureGroup(failure: ItemFailure): string {
  if (isNotAttempted(failure)) return "";
  return formatErrorWithCode(failure.error).replace(/\b(?:GET|POST|PATCH|DELETE) \S+|\d+/g, "");
}

function isNotAttempted({ error }: ItemFailure): boolean {
  return error instanceof NotAttemptedError;
}

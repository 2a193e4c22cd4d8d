import type { AllowDenyEntryRow } from "../../client";
import { isOverlappingScope } from "../../settings/coverage";
import { printable, quote } from "../../settings/text";
import { type EntryPlace, holdKeyOf, isOfScope, keyOf } from "./entry-state";
import { AlreadyExistsError, describeEntry } from "./errors";
import type { Context } from "./lifecycle";

/**
 * The allow that conflicts with a deny of the same value, where this program neither declares nor manages it: of the same scope, or of one
 * that overlaps. The reference (section "Allow/deny list") doesn't say which of the two decides.
 *
 * @param leaves as of `ensureEntry`.
 */
export async function conflictingAllow(
  entry: EntryPlace,
  { tenant, isDeclared, isManaged, isHeldElsewhere }: Context,
  leaves: (row: AllowDenyEntryRow) => boolean = () => false,
): Promise<AllowDenyEntryRow | undefined> {
  if (entry.list !== "deny") return undefined;
  const rows = await tenant.entriesOfValue(entry);
  return rows.find(
    (row) =>
      row.list === "allow" &&
      isOverlappingScope(row.verdict_scope ?? entry.verdictScope, entry.verdictScope) &&
      !isDeclared(keyOf(row, entry)) &&
      isManaged?.(keyOf(row, entry)) !== true &&
      !isHeldElsewhere(holdKeyOf(row)) &&
      !leaves(row),
  );
}

/**
 * Keeps a deny from being reported as done beside an allow.
 *
 * @param leaves as of `ensureEntry`.
 * @throws {AlreadyExistsError} that names the allow.
 */
export async function assertNoConflict(
  entry: EntryPlace,
  context: Context,
  leaves?: (row: AllowDenyEntryRow) => boolean,
): Promise<void> {
  const allow = await conflictingAllow(entry, context, leaves);
  if (allow !== undefined) throw conflictOf(entry, allow);
}

/** The error that names the allow. */
export function conflictOf(entry: EntryPlace, allow: AllowDenyEntryRow): AlreadyExistsError {
  return new AlreadyExistsError(
    `${printable(entry.value)} can't be denied in the scope ${quote(entry.verdictScope)}: the tenant allows it${isOfScope(allow, entry) ? " too" : " in another"}, and the service's reference doesn't say which of the two decides. There is ${describeEntry(allow)}. Nothing was changed. Remove that allow in the console, or declare no deny. If this stack declared the allow until now, run again with a refresh.`,
  );
}

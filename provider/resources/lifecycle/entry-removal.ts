import type { AllowDenyEntryRow } from "../../client";
import type { AllowDenyEntryInputs } from "../../settings/arguments";
import { LISTS } from "../../settings/assumptions";
import { naturalKey } from "../../settings/entry-value";
import { printable } from "../../settings/text";
import { type Deletion, isAbout, type Tenant } from "../../tenant";
import { type EntryPlace, holdKeyOf, keyOf } from "./entry-state";
import { AlreadyExistsError, describeEntry, NotAppliedError } from "./errors";
import type { Context } from "./lifecycle";

/**
 * Removes the rows of a declared entry's value and scope from the other list. A service may hold one value in several rows, and
 * a move affects only one. Rows that another resource declares or manages stay.
 *
 * @param entry the entry, with its previous scope if the move changed it, so rows of that scope go too. It includes the row
 * that the state names, which the lists may not show yet.
 * @param isMeant whether a row may be removed: the entry was moved from there, or the user asked to adopt.
 * @param leaves see `ensureEntry`.
 * @throws {AlreadyExistsError} if a row may not be removed; then none is.
 */
export async function clearOtherList(
  entry: EntryPlace & { readonly formerScope?: string; readonly named?: AllowDenyEntryRow | undefined },
  { tenant, isDeclared, isHeldElsewhere, say }: Context,
  isMeant: (row: AllowDenyEntryRow) => boolean,
  leaves: (row: AllowDenyEntryRow) => boolean = () => false,
): Promise<void> {
  const listed = await tenant.entriesOfValue(entry);
  const { named } = entry;
  const isListed = named === undefined || listed.some(({ id }) => id === named.id);
  const rows = isListed ? listed : [...listed, named];
  const isLeft = (row: AllowDenyEntryRow): boolean =>
    row.list !== entry.list && !isHeldElsewhere(holdKeyOf(row)) && !leaves(row);
  const isCleared = (row: AllowDenyEntryRow): boolean =>
    [entry.verdictScope, entry.formerScope].includes(row.verdict_scope ?? entry.verdictScope);
  sayLeftRows(entry, rows, { isDeclared, say, isLeft: (row) => isLeft(row) && !isCleared(row) });
  const others = rows.filter(
    (row) =>
      LISTS.some((list) => list === row.list) &&
      isCleared(row) &&
      !isDeclared(keyOf(row, entry)) &&
      isLeft(row),
  );
  const [first] = others;
  if (first === undefined) return;
  const unmeant = others.find((row) => !isMeant(row));
  if (unmeant !== undefined) {
    throw new AlreadyExistsError(
      `${printable(entry.value)} is on the ${entry.list} list, and on the other list too: there is ${describeEntry(unmeant)}, which contradicts what is declared. Nothing was changed. Say \`adopt: true\` to have it removed, or remove it in the console.`,
    );
  }
  const removed = await removeRows(others, entry, tenant);
  if (removed.length === 0) return;
  say(
    `Removed ${removed.length === 1 ? "a duplicate" : `${removed.length} duplicates`} of ${printable(entry.value)} from the ${first.list} list: ${removed.map(describeEntry).join(" | ")}`,
  );
}

/** Reports the rows of a value that stay on the tenant's lists without a resource of the program. */
export function sayLeftRows(
  entry: Pick<AllowDenyEntryInputs, "value" | "entryType" | "verdictScope">,
  rows: readonly AllowDenyEntryRow[],
  {
    isDeclared,
    isLeft,
    say,
  }: Pick<Context, "isDeclared" | "say"> & { readonly isLeft: (row: AllowDenyEntryRow) => boolean },
): void {
  const left = rows.filter((row) => isLeft(row) && !isDeclared(keyOf(row, entry)));
  if (left.length === 0) return;
  say(
    `${printable(entry.value)} is also at the tenant as ${left.map(describeEntry).join(" | ")}, which this program doesn't declare. It stays; remove it in the console if it isn't meant.`,
  );
}

/**
 * Removes the given rows of one value, except those that have changed meanwhile.
 *
 * @returns the rows that existed.
 */
export async function removeRows(
  rows: readonly AllowDenyEntryRow[],
  entry: EntryPlace,
  tenant: Tenant,
): Promise<readonly AllowDenyEntryRow[]> {
  const removed: AllowDenyEntryRow[] = [];
  for (const row of rows) {
    const isStill = (now: AllowDenyEntryRow): boolean =>
      now.list === row.list && isAbout(now, naturalKey(entry.entryType, entry.value));
    if ((await removeRow(row, entry, isStill, tenant)) === "deleted") removed.push(row);
  }
  return removed;
}

/**
 * Removes one row by its id, whether or not the lists show it.
 *
 * @param isStill see {@link Tenant.deleteEntry}.
 * @throws {NotAppliedError} if the lists still show it.
 */
export async function removeRow(
  { id }: Pick<AllowDenyEntryRow, "id">,
  entry: EntryPlace,
  isStill: (now: AllowDenyEntryRow) => boolean,
  tenant: Tenant,
): Promise<Deletion> {
  const outcome = await tenant.deleteEntry(id, isStill);
  if (outcome === "deleted" || outcome === "changed" || tenant.hasDeleted(id)) return outcome;
  // A list without it may lag, and so may one that shows it.
  if ((await tenant.findEntrySurely({ ...entry, id }))?.id !== id) return "gone";
  const still = await findStillListed(id, entry, tenant);
  if (still === undefined) return "gone";
  throw new NotAppliedError(
    outcome === "gone"
      ? `The service answers 404 to the deletion of ${describeEntry(still)}, and its list still shows it. It stays in the stack's state. Run again; if it stays, look at it in the console.`
      : `The service was asked to delete ${describeEntry(still)}, and still has it. Run again; if it stays, look at it in the console.`,
  );
}

/** Returns the row of an id that the service says is gone, if its possibly lagging lists still show it. */
export async function findStillListed(
  id: string,
  entry: EntryPlace,
  tenant: Tenant,
): Promise<AllowDenyEntryRow | undefined> {
  const still = await tenant.readUntil(
    () => tenant.findEntryAnew({ ...entry, id }),
    (found) => found?.id !== id,
  );
  return still?.id === id ? still : undefined;
}

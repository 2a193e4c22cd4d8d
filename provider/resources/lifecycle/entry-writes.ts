import { type AllowDenyEntryRow, ConflictError, EmailSecurityError, type EntryChange } from "../../client";
import type { AllowDenyEntryInputs } from "../../settings/arguments";
import { DEFAULT_VERDICT_SCOPE, KNOWN_VERDICT_SCOPES, LISTS } from "../../settings/assumptions";
import { sameComment } from "../../settings/comparable";
import { isOverlappingScope } from "../../settings/coverage";
import { changeBody, createBody, ENTRY_FIELDS, unsentValues, valuesOfRow } from "../../settings/entry-fields";
import { canonicalValue, naturalKey } from "../../settings/entry-value";
import { entryKey, keyOfEntry } from "../../settings/keyed-list";
import { describeDetails } from "../../settings/standing-text";
import { canonicalComment, excerpt, printable, quote } from "../../settings/text";
import { type CreatedEntry, type Deletion, isAbout, type Tenant } from "../../tenant";
import { AlreadyExistsError, commentAdvice, describeEntry, NotAppliedError, WrongListError } from "./errors";
import { holdTakenOver } from "./held-to-plan";
import { type Context, type DeclaredThing, isDefined, PartialFailure } from "./lifecycle";
import { sayTwins } from "./twins";

/*
 * The writes by which an entry comes to be as declared: observe, ensure, compare. One entry and a whole list go
 * through the same, so that they can't disagree.
 */

/** What the state holds of an entry: every argument as it stands, and what the service added. */
export interface AllowDenyEntryState extends Omit<AllowDenyEntryInputs, "adopt"> {
  /** An allow that conflicts with this deny, as the last refresh found it. A run fails while it is there. */
  readonly conflict?: string;
  /** The service's id where it is not the resource's own, which can't change in an update. */
  readonly entryId?: string;
  readonly createdAt?: string;
  readonly createdBy?: string;
}

/**
 * Makes the service hold the entry as declared: observes, adds or takes over, and compares every answer with what was
 * asked.
 *
 * @param leaves whether a row of the value on the other list is left alone, as one that a list ignores. Default: none is.
 * @throws {AlreadyExistsError} when the service holds it otherwise, or an allow that conflicts with it, and that may not be changed.
 */
export async function ensureEntry(
  inputs: AllowDenyEntryInputs,
  context: Context,
  leaves?: (row: AllowDenyEntryRow) => boolean,
): Promise<AllowDenyEntryRow> {
  const row = await context.tenant.inTurn(inputs, async () => {
    const row = await ensured(inputs, context, leaves);
    const isMeant = inputs.adopt || context.isManaged?.(entryKey(inputs)) === true;
    await clearOtherList(inputs, context, isMeant, leaves);
    return row;
  });
  context.hold([heldAs({ ...row, entryType: row.entry_type })]);
  return row;
}

/**
 * The entry as the service holds it. Where the state of a resource names it, as before a rename, one reading that misses it doesn't show
 * that it isn't there.
 */
export async function findManagedEntry(
  entry: Placed,
  { tenant, isManaged }: Context,
): Promise<AllowDenyEntryRow | undefined> {
  const found = await tenant.findEntry(entry);
  if (found !== undefined || isManaged === undefined) return found;
  const isNamed = LISTS.some((list) => isManaged(entryKey({ ...entry, list })));
  return isNamed ? await tenant.findEntrySurely(entry) : undefined;
}

/**
 * Removes the rows of a declared entry's value and scope that are left on the other list: a service may hold one value in several rows, of
 * which only one was moved. What another resource declares or manages stays.
 *
 * @param entry with the scope from which it was moved, where that was another one: rows of that one go too; and with the row that the
 * state names, which the lists may not show yet.
 * @param isMeant whether they may be removed: the entry was moved from there, or the user said to adopt.
 * @param leaves as of {@link ensureEntry}.
 * @throws {AlreadyExistsError} when there are some and they may not be removed.
 */
export async function clearOtherList(
  entry: Placed & { readonly formerScope?: string; readonly named?: AllowDenyEntryRow | undefined },
  { tenant, isDeclared, isHeldElsewhere, say }: Context,
  isMeant: boolean,
  leaves: (row: AllowDenyEntryRow) => boolean = () => false,
): Promise<void> {
  const listed = await tenant.entriesOfValue(entry);
  const { named } = entry;
  const isListed = named === undefined || listed.some(({ id }) => id === named.id);
  const rows = isListed ? listed : [...listed, named];
  const isLeft = (row: AllowDenyEntryRow): boolean =>
    row.list !== entry.list &&
    !isHeldElsewhere(heldAs({ ...row, entryType: row.entry_type })) &&
    !leaves(row);
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
  if (!isMeant) {
    throw new AlreadyExistsError(
      `${printable(entry.value)} is on the ${entry.list} list, and on the other list too: there is ${describeEntry(first)}, which contradicts what is declared. Nothing was changed. Say \`adopt: true\` to have it removed, or remove it in the console.`,
    );
  }
  const removed = await removeRows(others, entry, tenant);
  if (removed.length === 0) return;
  say(
    `Removed ${removed.length === 1 ? "a duplicate" : `${removed.length} duplicates`} of ${printable(entry.value)} from the ${first.list} list: ${removed.map(describeEntry).join(" | ")}`,
  );
}

type Placed = Pick<AllowDenyEntryInputs, "list" | "value" | "entryType" | "verdictScope">;

/**
 * The allow that conflicts with a deny of the same value, where this program neither declares nor manages it: of the same scope, or of one
 * that overlaps. The reference (section "Allow/deny list") doesn't say which of the two decides.
 *
 * @param leaves as of {@link ensureEntry}.
 */
export async function conflictingAllow(
  entry: Placed,
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
      !isHeldElsewhere(heldAs({ ...row, entryType: row.entry_type })) &&
      !leaves(row),
  );
}

/** Whether a row is of an entry's scope. A service that doesn't tell the scope holds one entry of a value. */
export function isOfScope(
  { verdict_scope: scope }: Pick<AllowDenyEntryRow, "verdict_scope">,
  { verdictScope }: Pick<Placed, "verdictScope">,
): boolean {
  return (scope ?? verdictScope) === verdictScope;
}

/**
 * Keeps a deny from being reported as done beside an allow.
 *
 * @param leaves as of {@link ensureEntry}.
 * @throws {AlreadyExistsError} that names the allow.
 */
export async function assertNoConflict(
  entry: Placed,
  context: Context,
  leaves?: (row: AllowDenyEntryRow) => boolean,
): Promise<void> {
  const allow = await conflictingAllow(entry, context, leaves);
  if (allow !== undefined) throw conflictOf(entry, allow);
}

function conflictOf(entry: Placed, allow: AllowDenyEntryRow): AlreadyExistsError {
  return new AlreadyExistsError(
    `${printable(entry.value)} can't be denied in the scope ${quote(entry.verdictScope)}: the tenant allows it${isOfScope(allow, entry) ? " too" : " in another"}, and the service's reference doesn't say which of the two decides. There is ${describeEntry(allow)}. Nothing was changed. Remove that allow in the console, or declare no deny. If this stack declared the allow until now, run again with a refresh.`,
  );
}

/** Names the rows of a value that stay on the tenant's lists and no resource of the program declares. */
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
 * Removes the given rows of one value, each unless it has become something else meanwhile.
 *
 * @returns those that were there.
 */
export async function removeRows(
  rows: readonly AllowDenyEntryRow[],
  entry: Placed,
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
 * @param isStill as of {@link Tenant.deleteEntry}.
 * @throws {NotAppliedError} when the service still has it.
 */
export async function removeRow(
  { id }: Pick<AllowDenyEntryRow, "id">,
  entry: Placed,
  isStill: (now: AllowDenyEntryRow) => boolean,
  tenant: Tenant,
): Promise<Deletion> {
  const outcome = await tenant.deleteEntry(id, isStill);
  if (outcome !== "refused") return outcome;
  const still = await tenant.readUntil(
    () => tenant.findEntryAnew({ ...entry, id }),
    (found) => found?.id !== id,
  );
  if (still?.id !== id) return "gone";
  throw new NotAppliedError(
    `The service was asked to delete ${describeEntry(still)}, and still has it. Run again; if it stays, look at it in the console.`,
  );
}

/** What tells an entry from those of other tenants: an id alone does not, since two may number theirs alike. */
export function heldAs(entry: {
  readonly id: string;
  readonly entryType: string;
  readonly value: string;
}): string {
  return `${printable(entry.id)} ${naturalKey(entry.entryType, entry.value)}`;
}

async function ensured(
  inputs: AllowDenyEntryInputs,
  context: Context,
  leaves?: (row: AllowDenyEntryRow) => boolean,
): Promise<AllowDenyEntryRow> {
  const { tenant } = context;
  const found = await tenant.findEntry(inputs);
  // An allow of the same scope is the entry itself, which is on the wrong list.
  const conflict = await conflictingAllow(
    inputs,
    context,
    (row) => isOfScope(row, inputs) || leaves?.(row) === true,
  );
  // One that adopts takes over the allow, whether or not the service would hold both.
  if (conflict !== undefined && inputs.adopt && found === undefined) {
    const row = await adopt(conflict, inputs, context);
    const formerScope = conflict.verdict_scope ?? inputs.verdictScope;
    await clearOtherList({ ...inputs, formerScope }, context, true, leaves);
    return row;
  }
  if (conflict !== undefined) throw conflictOf(inputs, conflict);
  if (found !== undefined) return await adopt(await asDeclaredOf(found, inputs, context), inputs, context);
  let created: CreatedEntry;
  try {
    created = await tenant.createEntry(
      createBody(ENTRY_FIELDS, { ...inputs }) as unknown as Parameters<Tenant["createEntry"]>[0],
    );
  } catch (error) {
    const found = error instanceof ConflictError ? await colliding(inputs, context) : undefined;
    if (found === undefined) throw error;
    return await adopt(found, inputs, context);
  }
  // A service that answers success with an entry that stood there before has created nothing that could be undone.
  if (!created.isNew) return await adopt(created.row, inputs, context);
  return await settle(created.row, inputs, tenant);
}

/** Of several entries that are one, by the form in which values are compared, the one that is as declared. */
async function asDeclaredOf(
  found: AllowDenyEntryRow,
  inputs: AllowDenyEntryInputs,
  context: Context,
): Promise<AllowDenyEntryRow> {
  const twins = duplicatesOf(found, await context.tenant.entriesOfValue(inputs));
  if (twins.length < 2) return found;
  const chosen = twins.find((row) => Object.keys(differenceOf(row, inputs)).length === 0) ?? found;
  sayTwins([[chosen, twins]], describeEntry, context);
  return chosen;
}

/** The rows that are the same entry as one, which is among them: of the same value, list and scope. */
export function duplicatesOf(
  row: AllowDenyEntryRow,
  rows: readonly AllowDenyEntryRow[],
): AllowDenyEntryRow[] {
  const scopeOf = ({ verdict_scope = DEFAULT_VERDICT_SCOPE }: AllowDenyEntryRow): string => verdict_scope;
  return rows.filter((one) => one.list === row.list && scopeOf(one) === scopeOf(row));
}

/**
 * An entry of the same value under another scope, which the program does not declare. Whether both may stand is the
 * service's to say; it is looked at only when the service says that it is in the way.
 */
async function inTheWay(
  inputs: AllowDenyEntryInputs,
  context: Context,
): Promise<AllowDenyEntryRow | undefined> {
  const rows = await context.tenant.entriesOfValue(inputs);
  // One that is declared for the other list is on its way there, and has its owner.
  return rows.find((row) => !LISTS.some((list) => context.isDeclared(keyOf({ ...row, list }, inputs))));
}

/** What the service holds when it says that something collides. Its list may not show that yet. */
async function colliding(
  inputs: AllowDenyEntryInputs,
  context: Context,
): Promise<AllowDenyEntryRow | undefined> {
  const { tenant } = context;
  try {
    return await tenant.readUntil(
      async () => (await tenant.findEntryAnew(inputs)) ?? (await inTheWay(inputs, context)),
      isDefined,
    );
  } catch {
    // The conflict is the failure to tell.
    return undefined;
  }
}

/** Takes an entry that exists for the declared one: when it is the same, or when the user said so. */
async function adopt(
  existing: AllowDenyEntryRow,
  inputs: AllowDenyEntryInputs,
  context: Context,
): Promise<AllowDenyEntryRow> {
  if (naturalKey(existing.entry_type, existing.value) !== naturalKey(inputs.entryType, inputs.value)) {
    throw new NotAppliedError(
      `The service was asked to create ${quote(inputs.value)} and answered with ${describeEntry(existing)}, which stood there before. Nothing was changed.`,
    );
  }
  const differing = Object.keys(differenceOf(existing, inputs));
  if (differing.length === 0) return existing;
  const isManaged = context.isManaged?.(keyOf(existing, inputs)) === true;
  if (inputs.adopt || isManaged) {
    holdTakenOver(existing, inputs, context);
    const done = isManaged ? "Changed in place, not replaced:" : "Took over";
    context.say(`${done} ${describeEntry(existing)}; its ${differing.join(" and ")} is now as declared.`);
    return await takeOver(existing, inputs, context);
  }
  throw new AlreadyExistsError(
    `${printable(inputs.value)} can't be created on the ${inputs.list} list: there is an entry already, with another ${differing.join(" and ")}.\n` +
      `  there     ${describeEntry(existing)}\n` +
      `  declared  ${describeDeclared(inputs)}\n` +
      "Nothing was changed. Say `adopt: true` to take it over and change it to what is declared, or declare it as it stands, or remove it in the console.",
  );
}

/** Changes an entry that exists to what is declared, unless the program declares that entry too. */
export async function takeOver(
  existing: AllowDenyEntryRow,
  inputs: AllowDenyEntryInputs,
  context: Context,
): Promise<AllowDenyEntryRow> {
  const change = differenceOf(existing, inputs);
  if (Object.keys(change).length === 0) return existing;
  if (keyOf(existing, inputs) !== entryKey(inputs) && context.isDeclared(keyOf(existing, inputs))) {
    throw new AlreadyExistsError(
      `The entry ${quote(inputs.value)} can't be taken over for the ${inputs.list} list: the program declares ${describeEntry(existing)} too. Nothing was changed. Keep one of the two declarations.`,
    );
  }
  return await patch(context.tenant, existing.id, change, inputs);
}

/** Compares the answer of a create with what was asked: undoes what is wrong for good, mends what can be mended. */
async function settle(
  created: AllowDenyEntryRow,
  inputs: AllowDenyEntryInputs,
  tenant: Tenant,
): Promise<AllowDenyEntryRow> {
  const asked = `${quote(inputs.value)} on the ${inputs.list} list`;
  if (created.list !== inputs.list) {
    throw await undo(
      created,
      inputs,
      tenant,
      (outcome) =>
        new WrongListError(
          `The service was asked to put ${asked} and answered with ${describeEntry(created)}. ${outcome}`,
        ),
    );
  }
  if (
    canonicalValue(created.value) !== canonicalValue(inputs.value) ||
    created.entry_type !== inputs.entryType
  ) {
    throw await undo(
      created,
      inputs,
      tenant,
      (outcome) =>
        new NotAppliedError(
          `The service was asked to put ${asked} as ${inputs.entryType} and answered with ${describeEntry(created)} of type ${quote(created.entry_type)}. ${outcome}`,
        ),
    );
  }
  const change = differenceOf(created, inputs);
  if (Object.keys(change).length === 0) return created;
  try {
    return await patch(tenant, created.id, change, inputs);
  } catch (error) {
    if (!(error instanceof EmailSecurityError)) throw error;
    throw partialOf(created, inputs, error);
  }
}

/** The failure to bring what was created to what is declared. */
function partialOf(
  created: AllowDenyEntryRow,
  inputs: AllowDenyEntryInputs,
  error: EmailSecurityError,
): PartialFailure<AllowDenyEntryState> {
  const id = resourceId(created);
  return new PartialFailure(id, stateOf(id, created, inputs), error);
}

/** Removes at once what the service made wrong. What can't be removed goes into state, so that it is not forgotten. */
async function undo(
  created: AllowDenyEntryRow,
  inputs: AllowDenyEntryInputs,
  tenant: Tenant,
  failure: (outcome: string) => EmailSecurityError,
): Promise<Error> {
  // Another writer may have made it in the same moment; what does not look like ours is not ours to remove.
  if (canonicalComment(created.comment) !== "" && !sameComment(created.comment, inputs.comment)) {
    return failure(
      "It does not look like what was sent, so it was left alone. Look at it in the console, then run again.",
    );
  }
  try {
    await tenant.deleteEntry(created.id);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    const outcome = `It could NOT be removed (${reason}). Remove it in the console, or run again: it is in the stack's state.`;
    return partialOf(created, inputs, failure(outcome));
  }
  return failure("That entry was removed again at once; nothing is left behind.");
}

/** Changes an entry in place and compares the answer with all that is declared; what differs is mended once. */
export async function patch(
  tenant: Tenant,
  id: string,
  change: EntryChange,
  inputs: AllowDenyEntryInputs,
): Promise<AllowDenyEntryRow> {
  let row = await send(tenant, id, change, inputs);
  const more = differenceOf(row, inputs);
  // Fields that were not sent and differ were changed by somebody else since the last reading.
  const unseen = Object.keys(more).length > 0 && !Object.keys(more).some((field) => field in change);
  if (unseen) row = await send(tenant, id, more, inputs);
  const missed = Object.keys(differenceOf(row, inputs));
  if (missed.length > 0) {
    const advice = missed.every((field) => field === "comment")
      ? commentAdvice(inputs.comment, row.comment)
      : "Look at it in the console, then run again with a refresh.";
    throw new NotAppliedError(
      `The service answered success to the change of ${Object.keys(change).join(", ")} of ${quote(inputs.value)}, but ${missed.join(", ")} is not as asked: there is ${describeEntry(row)}. ${advice}`,
    );
  }
  return row;
}

async function send(
  tenant: Tenant,
  id: string,
  change: EntryChange,
  inputs: AllowDenyEntryInputs,
): Promise<AllowDenyEntryRow> {
  let row: AllowDenyEntryRow;
  try {
    row = await tenant.updateEntry(id, change);
  } catch (error) {
    if (error instanceof ConflictError) throw await collision(error, id, inputs, tenant);
    throw error;
  }
  if (row.id === id && isAbout(row, naturalKey(inputs.entryType, inputs.value))) return row;
  throw new NotAppliedError(
    `The service was asked to change ${quote(inputs.value)} (id ${excerpt(id)}) and answered with ${describeEntry(row)}: whether it was changed is not known. Look at both in the console, and run again, with a refresh.`,
  );
}

async function collision(
  conflict: ConflictError,
  id: string,
  inputs: AllowDenyEntryInputs,
  tenant: Tenant,
): Promise<Error> {
  const rows = await tenant.entriesOfValueAnew(inputs).catch(() => []);
  const other = rows.find((row) => row.id !== id);
  if (other === undefined) return conflict;
  return new AlreadyExistsError(
    `The entry ${quote(inputs.value)} can't become what is declared: it collides with ${describeEntry(other)}. Nothing was changed. Remove one of the two in the console, then run again with a refresh.`,
    { cause: conflict },
  );
}

/** The mutable fields in which what the service holds, or the state says, differs from what is declared. */
export function differenceOf(held: object, inputs: AllowDenyEntryInputs): EntryChange {
  return changeBody(ENTRY_FIELDS, { ...held }, { ...inputs }) as EntryChange;
}

/** The id of an entry's resource: the service's own, which Pulumi prints as it is, in a form that can be printed. */
export function resourceId(row: AllowDenyEntryRow): string {
  return printable(row.id);
}

/**
 * The state of an entry; its value, and a comment in another form, as written rather than as echoed. What only the
 * service says is there to be shown.
 */
export function stateOf(
  id: string,
  row: AllowDenyEntryRow,
  written: Omit<AllowDenyEntryInputs, "verdictScope" | "adopt"> & { readonly verdictScope?: string },
): AllowDenyEntryState {
  // What was accepted on one list is not accepted on the other.
  const own = row.list === written.list ? { ...written } : {};
  return {
    ...(valuesOfRow(ENTRY_FIELDS, row, { verdictScope: DEFAULT_VERDICT_SCOPE, ...written }) as Pick<
      AllowDenyEntryState,
      "list" | "value" | "entryType" | "verdictScope"
    >),
    ...(row.id === id ? {} : { entryId: row.id }),
    ...(row.created_at === undefined ? {} : { createdAt: printable(row.created_at) }),
    ...(row.created_by === undefined ? {} : { createdBy: printable(row.created_by) }),
    ...unsentValues(ENTRY_FIELDS, own),
  };
}

/** The key of a row; a scope that the service does not tell is taken to be the given one. */
export function keyOf(row: AllowDenyEntryRow, untold: { readonly verdictScope: string }): string {
  return entryKey({
    list: row.list,
    entryType: row.entry_type,
    value: row.value,
    verdictScope: row.verdict_scope ?? untold.verdictScope,
  });
}

function describeDeclared(inputs: AllowDenyEntryInputs): string {
  return `${printable(inputs.value)} on the ${inputs.list} list (scope ${quote(inputs.verdictScope)}, ${describeDetails(inputs)})`;
}

/** A declared entry, as the program's other declarations are compared with it. */
export function declaredEntry(inputs: Omit<AllowDenyEntryInputs, "adopt">, property: string): DeclaredThing {
  const { list } = inputs;
  const value = canonicalValue(inputs.value);
  return {
    key: entryKey(inputs),
    subject: keyOfEntry(inputs),
    // One value may stand on a list once per scope, but never on both lists.
    kin: () =>
      KNOWN_VERDICT_SCOPES.filter((scope) => scope !== inputs.verdictScope).map((verdictScope) =>
        keyOfEntry({ ...inputs, verdictScope }),
      ),
    property,
    name: `${list} ${value}`,
    claim: `${list} ${value} with ${describeDetails(inputs)}`,
    target: { value, list },
  };
}

import type { AllowDenyEntryRow } from "../../client";
import { LISTS, type List } from "../../settings/assumptions";
import { sameListText } from "../../settings/comparable";
import { isOverlappingScope } from "../../settings/coverage";
import { dangerRank } from "../../settings/danger";
import {
  asUnmanaged,
  isUnmanaged,
  type KeyedList,
  type ListedEntry,
  readEntry,
  textOfEntry,
} from "../../settings/keyed-list";
import { type AllowDenyListInputs, ENTRIES } from "../../settings/list-arguments";
import { NO_OWN_DOMAINS } from "../../settings/own-domains";
import { keyPath } from "../../settings/property-path";
import { readConfirmed } from "../../tenant";
import { AttemptAll } from "./attempt-all";
import { declarableEntries } from "./declarable";
import { EntryMatch, keyedRows } from "./entry-match";
import { declaredEntry, holdKeyOf } from "./entry-state";
import { describeEntry } from "./errors";
import { type Context, PartialFailure } from "./lifecycle";
import { entriesOf, type KeyedEntry, naturalKeyOf, textOfRow } from "./list-entries";
import { ChangedError, EntryWork } from "./list-entry-writes";
import { listLifecycle } from "./list-lifecycle";
import type { Failure, ListPlan, LookedUp, Observed, ObserveOptions } from "./list-resource";
import { IMPORTED_RISK } from "./look-up";
import { sayEntryTwins } from "./twins";

/** A whole allow/deny list in one resource (reference, section "Allow/deny list"). */
export const allowDenyList = listLifecycle<AllowDenyListInputs>({
  kind: ENTRIES,
  list: "entries",
  id: "allow-deny-list",

  thing(key, text) {
    const entry = typeof text === "string" ? readEntry(key, text) : undefined;
    return entry === undefined ? undefined : declaredEntry(entry, keyPath("entries", key));
  },

  keyOfSubject: (subject) => subject,

  keyOfDeclared: (key) => key.slice(key.indexOf(" ") + 1),

  holds: ({ list }) => list !== undefined,

  // The state of a list holds what is declared, without the service's ids.
  ids: () => [],

  warnOfRemoval: () => [],

  conflicts: (known, otherTexts) => findOppositeConflicts(known, "deny", otherTexts),

  namedConflicts: (known, otherTexts) => findOppositeConflicts(known, "allow", otherTexts),

  observe,

  importIds: "allow-deny-list, or allow or deny for what is on one of the two",

  lookUp(importId, context) {
    const lists = importId === "allow-deny-list" ? LISTS : LISTS.filter((list) => list === importId);
    return lists.length === 0 ? undefined : lookUp(lists, context);
  },

  async apply(plan, inputs, context) {
    const attemptAll = new AttemptAll<KeyedEntry>();
    const entries = entriesOf(plan.declared);
    const removed = entriesOf(plan.removed);
    const work = new EntryWork(plan, removed, inputs, context);
    // A deny is created before its allow is removed, and a replacement before the entry that it replaces.
    for (const list of ["deny", "allow"] as const) {
      const declaredEntries = await work.inOrder(entries.filter(([, entry]) => entry.list === list));
      await attemptAll.all(declaredEntries, async ([key, entry]) => await work.ensure(key, entry));
    }
    const failed = attemptAll.failed.map(({ item: [, entry] }) => entry);
    for (const list of ["allow", "deny"] as const) {
      const removedEntries = removed.filter(([, entry]) => entry.list === list);
      await attemptAll.all(removedEntries, async ([key, entry]) => await work.remove(key, entry, failed));
    }
    return attemptAll.failed.map(({ item: [key], error }) => buildListFailure(key, plan, error));
  },
});

function buildListFailure(key: string, { declared, known }: ListPlan, error: unknown): Failure {
  const previousText = known[key];
  const name = ENTRIES.describe(key, declared[key] ?? previousText ?? "");
  const actual = getActualText(error, previousText);
  const dangerLevel = dangerRank({ from: getListOfText(key, declared[key]), to: getListOfText(key, actual) });
  return { key, name, error, there: actual, danger: dangerLevel };
}

function getListOfText(key: string, text: string | undefined): string | undefined {
  return text === undefined ? undefined : readEntry(key, text)?.list;
}

/** What the state says of an entry that could not be brought to what is declared. */
function getActualText(error: unknown, previousText: string | undefined): string | undefined {
  if (error instanceof PartialFailure) return textOfEntry(error.state as ListedEntry);
  if (error instanceof ChangedError) {
    const text = textOfEntry(error.row);
    return previousText !== undefined && isUnmanaged(previousText) ? asUnmanaged(text) : text;
  }
  return previousText;
}

async function observe(
  known: KeyedList,
  context: Context,
  { sure, expected = known }: ObserveOptions,
): Promise<Observed> {
  const { tenant } = context;
  const isExpectedKey = (key: string) => Object.hasOwn(expected, key);
  const match = await readConfirmed(
    tenant,
    "entries",
    async () => new EntryMatch(known, keyedRows(await tenant.allEntries())),
    (result) => sure && isStaleMatch(result, expected),
  );
  if (sure) {
    await Promise.all(
      match.missing.map(async (key) => {
        const entry = readEntry(key, known[key] ?? "");
        const row =
          entry === undefined ? undefined : await tenant.findEntrySurely(entry, { isExpected: isExpectedKey(key) });
        if (row !== undefined) match.take(key, row);
      }),
    );
  }
  if (sure) {
    const duplicates = [...match.found.values()].map((row) => [row, match.alike(row)] as const);
    sayEntryTwins(duplicates, context);
  }
  const foundTexts = [...match.found].map(([key, row]) => [key, encodeFoundRow(key, known[key] ?? "", row)] as const);
  const otherTexts = [...match.others()].map(([key, row]) => [key, textOfEntry(row)] as const);
  return { known: Object.fromEntries(foundTexts), others: Object.fromEntries(otherTexts) };
}

/**
 * Whether something isn't as the state has it: the list may lag behind the last run, which may have removed what the state doesn't have.
 * What nobody declared, no run wrote.
 */
function isStaleMatch({ missing, found }: EntryMatch, expected: KeyedList): boolean {
  if (missing.some((key) => Object.hasOwn(expected, key))) return true;
  return [...found].some(([key, row]) => {
    const text = Object.hasOwn(expected, key) ? expected[key] : undefined;
    if (text === undefined) return true;
    return !isUnmanaged(text) && encodeFoundRow(key, text, row) !== text;
  });
}

/**
 * Returns the undeclared keys that conflict with a known entry of one list: the same value on the other list, with an
 * overlapping scope.
 */
function findOppositeConflicts(known: KeyedList, list: List, otherTexts: KeyedList): readonly string[] {
  const opposite = entriesOf(otherTexts).filter(([, entry]) => entry.list !== list);
  if (opposite.length === 0) return [];
  const ownByValue = Map.groupBy(
    entriesOf(known).filter(([, entry]) => entry.list === list),
    ([, entry]) => naturalKeyOf(entry),
  );
  return opposite.flatMap(([key, entry]) => {
    const sameValueEntries = ownByValue.get(naturalKeyOf(entry)) ?? [];
    const isConflict = sameValueEntries.some(([, ownEntry]) =>
      isOverlappingScope(ownEntry.verdictScope, entry.verdictScope),
    );
    return isConflict ? [key] : [];
  });
}

async function lookUp(lists: readonly List[], { tenant, ownDomains, hold }: Context): Promise<LookedUp> {
  const rows = await tenant.allEntries(lists);
  hold(rows.map(holdKeyOf));
  const ownDomainsOrNone = ownDomains?.() ?? NO_OWN_DOMAINS;
  const declarableRows = declarableEntries(rows, { own: ownDomainsOrNone, acceptRisk: IMPORTED_RISK });
  return {
    content: Object.fromEntries(declarableRows.flatMap((one) => (one.ok ? [[one.key, one.text]] : []))),
    left: declarableRows.flatMap((one) =>
      one.ok
        ? one.twins.map(
            (duplicate) => `${describeEntry(duplicate)}: is declared already by another of the same value and scope`,
          )
        : [`${describeEntry(one.row)}: ${one.reason}`],
    ),
  };
}

/** The text of a key that is known, as its row has it now. */
function encodeFoundRow(key: string, previousText: string, row: AllowDenyEntryRow): string {
  const entry = readEntry(key, previousText);
  const encoded = entry === undefined ? textOfEntry(row) : textOfRow(row, entry);
  const foundText = isUnmanaged(previousText) ? asUnmanaged(encoded) : encoded;
  // As it was written, where the service changes no more than white space.
  return sameListText(foundText, previousText) ? previousText : foundText;
}

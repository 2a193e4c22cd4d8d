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
import { sayTwins } from "./twins";

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

  conflicts: (known, others) => conflicts(known, "deny", others),

  namedConflicts: (known, others) => conflicts(known, "allow", others),

  observe,

  importIds: "allow-deny-list, or allow or deny for what is on one of the two",

  lookUp(given, context) {
    const lists = given === "allow-deny-list" ? LISTS : LISTS.filter((list) => list === given);
    return lists.length === 0 ? undefined : lookUp(lists, context);
  },

  async apply(plan, inputs, context) {
    const attempts = new AttemptAll<KeyedEntry>();
    const entries = entriesOf(plan.declared);
    const removed = entriesOf(plan.removed);
    const work = new EntryWork(plan, removed, inputs, context);
    // A deny is created before its allow is removed, and a replacement before the entry that it replaces.
    for (const list of ["deny", "allow"] as const) {
      const wanted = await work.inOrder(entries.filter(([, entry]) => entry.list === list));
      await attempts.all(wanted, async ([key, entry]) => await work.ensure(key, entry));
    }
    const failed = attempts.failed.map(({ item: [, entry] }) => entry);
    for (const list of ["allow", "deny"] as const) {
      const unwanted = removed.filter(([, entry]) => entry.list === list);
      await attempts.all(unwanted, async ([key, entry]) => await work.remove(key, entry, failed));
    }
    return attempts.failed.map(({ item: [key], error }) => failureOf(key, plan, error));
  },
});

function failureOf(key: string, { declared, known }: ListPlan, error: unknown): Failure {
  const before = known[key];
  const name = ENTRIES.describe(key, declared[key] ?? before ?? "");
  const there = thereAfter(error, before);
  const danger = dangerRank({ from: listIn(key, declared[key]), to: listIn(key, there) });
  return { key, name, error, there, danger };
}

function listIn(key: string, text: string | undefined): string | undefined {
  return text === undefined ? undefined : readEntry(key, text)?.list;
}

/** Returns the state of an entry that could not be brought to the desired state. */
function thereAfter(error: unknown, before: string | undefined): string | undefined {
  if (error instanceof PartialFailure) return textOfEntry(error.state as ListedEntry);
  if (error instanceof ChangedError) {
    const text = textOfEntry(error.row);
    return before !== undefined && isUnmanaged(before) ? asUnmanaged(text) : text;
  }
  return before;
}

async function observe(
  known: KeyedList,
  context: Context,
  { sure, expected = known }: ObserveOptions,
): Promise<Observed> {
  const { tenant } = context;
  const isExpected = (key: string) => Object.hasOwn(expected, key);
  let match = new EntryMatch(known, keyedRows(await tenant.allEntries()));
  if (sure) {
    while (isUnsettled(match, expected) && (await tenant.readLater("entries")))
      match = new EntryMatch(known, keyedRows(await tenant.allEntries()));
    await Promise.all(
      match.missing.map(async (key) => {
        const entry = readEntry(key, known[key] ?? "");
        const row =
          entry === undefined
            ? undefined
            : await tenant.findEntrySurely(entry, { isExpected: isExpected(key) });
        if (row !== undefined) match.take(key, row);
      }),
    );
  }
  if (sure) {
    const twins = [...match.found.values()].map((row) => [row, match.alike(row)] as const);
    sayTwins(twins, describeEntry, context);
  }
  const found = [...match.found].map(([key, row]) => [key, textOfFound(key, known[key] ?? "", row)] as const);
  const others = [...match.others()].map(([key, row]) => [key, textOfEntry(row)] as const);
  return { known: Object.fromEntries(found), others: Object.fromEntries(others) };
}

/**
 * Whether something differs from the state, so the list may lag behind the last run. Undeclared entries were not written by a
 * run.
 */
function isUnsettled({ missing, found }: EntryMatch, expected: KeyedList): boolean {
  if (missing.some((key) => Object.hasOwn(expected, key))) return true;
  return [...found].some(([key, row]) => {
    const text = expected[key];
    return text !== undefined && !isUnmanaged(text) && textOfFound(key, text, row) !== text;
  });
}

/**
 * Returns the undeclared keys that conflict with a known entry of one list: the same value on the other list, with an
 * overlapping scope.
 */
function conflicts(known: KeyedList, list: List, others: KeyedList): readonly string[] {
  const opposite = entriesOf(others).filter(([, entry]) => entry.list !== list);
  if (opposite.length === 0) return [];
  const own = Map.groupBy(
    entriesOf(known).filter(([, entry]) => entry.list === list),
    ([, entry]) => naturalKeyOf(entry),
  );
  return opposite.flatMap(([key, entry]) => {
    const beside = own.get(naturalKeyOf(entry)) ?? [];
    const isConflict = beside.some(([, one]) => isOverlappingScope(one.verdictScope, entry.verdictScope));
    return isConflict ? [key] : [];
  });
}

async function lookUp(lists: readonly List[], { tenant, ownDomains, hold }: Context): Promise<LookedUp> {
  const rows = await tenant.allEntries(lists);
  hold(rows.map(holdKeyOf));
  const own = ownDomains?.() ?? NO_OWN_DOMAINS;
  const all = declarableEntries(rows, { own, acceptRisk: IMPORTED_RISK });
  return {
    content: Object.fromEntries(all.flatMap((one) => (one.ok ? [[one.key, one.text]] : []))),
    left: all.flatMap((one) =>
      one.ok
        ? one.twins.map(
            (twin) => `${describeEntry(twin)}: is declared already by another of the same value and scope`,
          )
        : [`${describeEntry(one.row)}: ${one.reason}`],
    ),
  };
}

/** Returns the text of a known key, from its current row. */
function textOfFound(key: string, before: string, row: AllowDenyEntryRow): string {
  const entry = readEntry(key, before);
  const text = entry === undefined ? textOfEntry(row) : textOfRow(row, entry);
  const found = isUnmanaged(before) ? asUnmanaged(text) : text;
  // Keeps the declared spelling if the service changes only white space.
  return sameListText(found, before) ? before : found;
}

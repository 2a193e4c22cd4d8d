import type { AllowDenyEntryRow } from "../../client";
import { ENTRY_LISTS, type List } from "../../model/assumptions";
import { isSameListText } from "../../model/compare-arguments";
import { isContradiction } from "../../model/contradiction";
import { getDangerRank } from "../../model/danger";
import {
  decodeEntry,
  type EncodedList,
  encodeEntry,
  isUnmanaged,
  type ListedEntry,
  markUnmanaged,
} from "../../model/encoded-list";
import { type AllowDenyListInputs, ENTRY_LIST_KIND } from "../../model/list-arguments";
import { NO_OWN_DOMAINS } from "../../model/own-domains";
import { formatKeyPath } from "../../model/property-path";
import { readConfirmed } from "../../tenant";
import { BulkRunner } from "./best-effort-runner";
import { logChangedScopes, matchChangedScopes } from "./changed-scopes";
import { buildDeclarableEntries } from "./declarable";
import { decodeEntries, encodeRow, type KeyedEntry } from "./decode-entries";
import { logEntryDuplicates } from "./duplicate-rows";
import { buildKeyedRows, EntryMatch } from "./entry-match";
import { buildEntryDeclaration, getManagedRowId } from "./entry-state";
import { describeExistingEntry, EntryChangedError } from "./errors";
import { type LifecycleContext, PartialFailureError } from "./lifecycle";
import { ListEntryWriter } from "./list-entry-writer";
import { createListLifecycle } from "./list-lifecycle";
import type { ImportedList, ItemFailure, ListObservation, ListPlan, ObserveOptions } from "./list-resource";
import { IMPORT_RISK_REASON } from "./look-up-entry";

export const allowDenyListLifecycle = createListLifecycle<AllowDenyListInputs>({
  kind: ENTRY_LIST_KIND,
  list: "entries",
  id: "allow-deny-list",

  buildItem(key, text) {
    const entry = typeof text === "string" ? decodeEntry(key, text) : undefined;
    return entry === undefined ? undefined : buildEntryDeclaration(entry, formatKeyPath("entries", key));
  },

  getKeyBySubject: (subject) => subject,

  getKeyByDeclaration: (key) => key.slice(key.indexOf(" ") + 1),

  canContain: ({ list }) => list !== undefined,

  // The state of a list has the declarations, without the service's ids.
  getManagedIds: () => [],

  buildRemovalWarnings: () => [],

  findConflicts: (knownContent, otherTexts) => findOppositeConflicts(knownContent, "deny", otherTexts),

  findToleratedConflicts: (knownContent, otherTexts) => findOppositeConflicts(knownContent, "allow", otherTexts),

  observe: observeEntries,

  importIds: "allow-deny-list, or allow or deny for the entries of one list",

  lookUp(importId, context) {
    const lists = importId === "allow-deny-list" ? ENTRY_LISTS : ENTRY_LISTS.filter((list) => list === importId);
    return lists.length === 0 ? undefined : lookUpEntries(lists, context);
  },

  async apply(plan, inputs, context) {
    const attemptAll = new BulkRunner<KeyedEntry>();
    const entries = decodeEntries(plan.declaredContent);
    const removed = decodeEntries(plan.removals);
    const work = new ListEntryWriter(plan, removed, inputs, context);
    // A deny is created before its allow is removed, and a replacement before the entry that it replaces.
    for (const list of ["deny", "allow"] as const) {
      const declaredEntries = await work.sortForWriting(entries.filter(([, entry]) => entry.list === list));
      await attemptAll.run(declaredEntries, async ([key, entry]) => await work.ensure(key, entry));
    }
    const failed = attemptAll.failures.map(({ item: [, entry] }) => entry);
    for (const list of ["allow", "deny"] as const) {
      const removedEntries = removed.filter(([, entry]) => entry.list === list);
      await attemptAll.run(removedEntries, async ([key, entry]) => await work.remove(key, entry, failed));
    }
    return attemptAll.failures.map(({ item: [key], error }) => buildListFailure(key, plan, error));
  },
});

function buildListFailure(key: string, { declaredContent, knownContent }: ListPlan, error: unknown): ItemFailure {
  const previousText = knownContent[key];
  const name = ENTRY_LIST_KIND.describe(key, declaredContent[key] ?? previousText ?? "");
  const actual = getActualText(error, previousText);
  const dangerLevel = getDangerRank({
    from: getListOfText(key, declaredContent[key]),
    to: getListOfText(key, actual),
  });
  return { key, name, error, actualText: actual, dangerRank: dangerLevel };
}

function getListOfText(key: string, text: string | undefined): string | undefined {
  return text === undefined ? undefined : decodeEntry(key, text)?.list;
}

/** Returns the actual state, encoded, of an entry that could not be changed to its declaration. */
function getActualText(error: unknown, previousText: string | undefined): string | undefined {
  if (error instanceof PartialFailureError) return encodeEntry(error.state as ListedEntry);
  if (error instanceof EntryChangedError) {
    const text = encodeEntry(error.row);
    return previousText !== undefined && isUnmanaged(previousText) ? markUnmanaged(text) : text;
  }
  return previousText;
}

async function observeEntries(
  knownContent: EncodedList,
  context: LifecycleContext,
  { shouldConfirm, expected = knownContent }: ObserveOptions,
): Promise<ListObservation> {
  const { tenant, isManagedElsewhere } = context;
  const isForeign = (row: AllowDenyEntryRow) => isManagedElsewhere(getManagedRowId(row));
  const isExpectedKey = (key: string) => Object.hasOwn(expected, key);
  const match = await readConfirmed(
    tenant,
    "entries",
    async () => new EntryMatch(knownContent, buildKeyedRows(await tenant.readAllEntries())),
    (result) => shouldConfirm && isStaleMatch(result, expected),
  );
  if (shouldConfirm) {
    const matchedIds = new Set([...match.matches.values()].map(({ id }) => id));
    await Promise.all(
      match.missingKeys.map(async (key) => {
        const entry = decodeEntry(key, knownContent[key] ?? "");
        const row =
          entry === undefined ? undefined : await tenant.findEntryConfirmed(entry, { isExpected: isExpectedKey(key) });
        // A row that already matches another key isn't a second entry.
        if (row === undefined || matchedIds.has(row.id)) return;
        matchedIds.add(row.id);
        match.assign(key, row);
      }),
    );
  }
  // Only the state's own entries have had a row.
  const isOfState = shouldConfirm && expected === knownContent;
  const scopes = isOfState ? matchChangedScopes(match, knownContent, isForeign) : { changes: [], ambiguous: [] };
  logChangedScopes(scopes, context);
  const textsByChangedKey = new Map(scopes.changes.map(({ key, text }) => [key, text]));
  if (shouldConfirm) {
    const duplicates = [...match.matches.values()].map((row) => {
      const allRows = match.getDuplicates(row);
      return [
        row,
        allRows.length < 2 ? allRows : allRows.filter((candidate) => candidate === row || !isForeign(candidate)),
      ] as const;
    });
    logEntryDuplicates(duplicates, context);
  }
  const foundTexts = [...match.matches].map(
    ([key, row]) => [key, textsByChangedKey.get(key) ?? encodeFoundRow(key, knownContent[key] ?? "", row)] as const,
  );
  // Another Provider of the program manages these, so they are neither undeclared nor conflicts.
  const otherRows = [...match.getUnmatched()].filter(([, row]) => !isForeign(row));
  const otherTexts = otherRows.map(([key, row]) => [key, encodeEntry(row)] as const);
  return { knownContent: Object.fromEntries(foundTexts), others: Object.fromEntries(otherTexts) };
}

/**
 * Returns whether the rows differ from the state. The list may then lag behind the last run, which may also have
 * removed entries that the state doesn't have. The texts of unmanaged entries aren't compared, because no run wrote
 * them.
 */
function isStaleMatch({ missingKeys, matches }: EntryMatch, expected: EncodedList): boolean {
  if (missingKeys.some((key) => Object.hasOwn(expected, key))) return true;
  return [...matches].some(([key, row]) => {
    const text = Object.hasOwn(expected, key) ? expected[key] : undefined;
    if (text === undefined) return true;
    return !isUnmanaged(text) && encodeFoundRow(key, text, row) !== text;
  });
}

function findOppositeConflicts(knownContent: EncodedList, list: List, otherTexts: EncodedList): readonly string[] {
  const opposite = decodeEntries(otherTexts).filter(([, entry]) => entry.list !== list);
  if (opposite.length === 0) return [];
  const ownByValue = Map.groupBy(
    decodeEntries(knownContent).filter(([, entry]) => entry.list === list),
    ([, { value }]) => value,
  );
  return opposite.flatMap(([key, entry]) => {
    const sameValueEntries = ownByValue.get(entry.value) ?? [];
    return sameValueEntries.some(([, ownEntry]) => isContradiction(ownEntry, entry)) ? [key] : [];
  });
}

async function lookUpEntries(
  lists: readonly List[],
  { tenant, getOwnDomains, shareManagedIds }: LifecycleContext,
): Promise<ImportedList> {
  const rows = await tenant.readAllEntries(lists);
  shareManagedIds(rows.map(getManagedRowId));
  const ownDomainsOrNone = getOwnDomains?.() ?? NO_OWN_DOMAINS;
  const declarableRows = buildDeclarableEntries(rows, {
    ownDomains: ownDomainsOrNone,
    acceptRisk: IMPORT_RISK_REASON,
  });
  return {
    content: Object.fromEntries(declarableRows.flatMap((row) => (row.ok ? [[row.key, row.text]] : []))),
    skipped: declarableRows.flatMap((row) =>
      row.ok
        ? row.duplicates.map(
            (duplicate) =>
              `${describeExistingEntry(duplicate)}: another entry with the same value and scope is already declared`,
          )
        : [`${describeExistingEntry(row.row)}: ${row.reason}`],
    ),
  };
}

function encodeFoundRow(key: string, previousText: string, row: AllowDenyEntryRow): string {
  const entry = decodeEntry(key, previousText);
  const encoded = entry === undefined ? encodeEntry(row) : encodeRow(row, entry);
  const foundText = isUnmanaged(previousText) ? markUnmanaged(encoded) : encoded;
  // If the service changed only white space, the text stays as written.
  return isSameListText(foundText, previousText) ? previousText : foundText;
}

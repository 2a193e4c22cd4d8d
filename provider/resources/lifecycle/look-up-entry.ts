import type { AllowDenyEntryRow } from "../../client";
import { ENTRY_LISTS } from "../../model/assumptions";
import { quote, sanitizeLine } from "../../model/text";
import type { TenantCache } from "../../tenant";
import { type EntryName, findEntriesByName, formatUniqueEntryName, parseEntryName } from "./entry-name";
import { getResourceId } from "./entry-state";
import { describeExistingEntry, NotImportableError } from "./errors";

export const IMPORT_RISK_REASON = "It existed at the service before the import, and has to be reviewed.";

/**
 * Finds the entry for an id or a name. Undefined if there is none. The user expects the entry to exist, so a list that
 * doesn't show it may be stale and is refetched.
 *
 * @throws {NotImportableError} if several entries match, or if no entry has this id and it can't be parsed as a name.
 */
export async function lookUpEntry(id: string, tenant: TenantCache): Promise<AllowDenyEntryRow | undefined> {
  const name = parseEntryName(id);
  do {
    const row = await findByIdOrName(id, name, tenant);
    if (row !== undefined) return row;
  } while (await tenant.refetchIfLagging("entries"));
  if (!name.value.ok) throw buildUnreadableError(id, name.value.reason);
  return undefined;
}

/**
 * Finds the entry in the current lists. An id may be any text, so a match by id wins over a match by name. This costs no
 * extra request.
 */
async function findByIdOrName(
  id: string,
  name: EntryName,
  tenant: TenantCache,
): Promise<AllowDenyEntryRow | undefined> {
  const { list, value, verdictScope } = name;
  const query = { id, value: value.ok ? value.value : undefined };
  const rows = await tenant.findEntriesByIdOrValue(query, list === undefined ? ENTRY_LISTS : [list]);
  const [first] = rows;
  if (first?.id === id) return first;
  const [match, ...others] = findEntriesByName(name, rows);
  if (match === undefined) return await findEntryById(id, tenant);
  if (others.length > 0) throw buildAmbiguousError(id, [match, ...others], rows);
  return verdictScope === undefined ? match : { ...match, verdict_scope: verdictScope };
}

/** Finds an entry by an id that looks like the name of another entry, or that was copied from escaped output. */
async function findEntryById(id: string, tenant: TenantCache): Promise<AllowDenyEntryRow | undefined> {
  const [row] = await tenant.findEntriesByIdOrValue({ id }, ENTRY_LISTS);
  if (row !== undefined || !id.includes("\\u{")) return row;
  return (await tenant.readAllEntries()).find((candidate) => getResourceId(candidate) === id);
}

function buildUnreadableError(id: string, reason: string): NotImportableError {
  return new NotImportableError(
    `${quote(id)} doesn't identify an entry: none has that id, and as a value, ${reason.replace(/^is /, "it is ")}. Use the id from the service, or the value with its list as a prefix and its scope as a suffix: deny:evil.example, allow:mail.example (graymail). Nothing was imported.`,
  );
}

/** The maximum number of matches in the message. A longer list doesn't help. */
const MAX_SHOWN = 10;

function buildAmbiguousError(
  id: string,
  matches: readonly AllowDenyEntryRow[],
  allRows: readonly AllowDenyEntryRow[],
): NotImportableError {
  const lines = matches
    .slice(0, MAX_SHOWN)
    .map((row) => `  ${sanitizeLine(formatUniqueEntryName(row, allRows))}   ${describeExistingEntry(row)}`);
  const moreLines = matches.length > MAX_SHOWN ? [`  and ${matches.length - MAX_SHOWN} more`] : [];
  return new NotImportableError(
    [
      `${quote(id)} matches ${matches.length} entries, but an import needs exactly one. Nothing was imported. Use the id at the start of the intended line:`,
      ...lines,
      ...moreLines,
    ].join("\n"),
  );
}

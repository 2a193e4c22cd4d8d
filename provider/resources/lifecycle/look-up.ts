import type { AllowDenyEntryRow } from "../../client";
import { LISTS } from "../../settings/assumptions";
import { printable, quote } from "../../settings/text";
import type { Tenant } from "../../tenant";
import { type EntryName, entriesMeant, nameOfEntry, readEntryName } from "./entry-name";
import { resourceId } from "./entry-state";
import { describeEntry, NotImportableError } from "./errors";

/** Why a risky entry that stood at the service is declared all the same. */
export const IMPORTED_RISK = "It stood at the service before the import, and is to be reviewed.";

/**
 * The entry that an id or a name means; undefined where there is none. A person says that it is there, so the lists are read again where
 * they don't show it: they may lag.
 *
 * @throws {NotImportableError} when it means several, or is no id and can't be read.
 */
export async function lookUpEntry(id: string, tenant: Tenant): Promise<AllowDenyEntryRow | undefined> {
  const name = readEntryName(id);
  do {
    const row = await findNamed(id, name, tenant);
    if (row !== undefined) return row;
  } while (await tenant.readLater("entries"));
  if (!name.value.ok) throw unreadable(id, name.value.reason);
  return undefined;
}

/**
 * The same, as the lists show it now. An entry's id may be any text, so it is tried as that first; it takes no request more than the name
 * does.
 */
async function findNamed(
  id: string,
  name: EntryName,
  tenant: Tenant,
): Promise<AllowDenyEntryRow | undefined> {
  const { list, value, verdictScope } = name;
  const query = { id, value: value.ok ? value.value : undefined };
  const rows = await tenant.entriesNamed(query, list === undefined ? LISTS : [list]);
  const [first] = rows;
  if (first?.id === id) return first;
  const [meant, ...others] = entriesMeant(name, rows);
  if (meant === undefined) return await entryOfId(id, tenant);
  if (others.length > 0) throw ambiguous(id, [meant, ...others], rows);
  return verdictScope === undefined ? meant : { ...meant, verdict_scope: verdictScope };
}

/** The entry of an id that looks like a name of another one, or that came as it is printed. */
async function entryOfId(id: string, tenant: Tenant): Promise<AllowDenyEntryRow | undefined> {
  const [row] = await tenant.entriesNamed({ id }, LISTS);
  if (row !== undefined || !id.includes("\\u{")) return row;
  return (await tenant.allEntries()).find((one) => resourceId(one) === id);
}

function unreadable(id: string, reason: string): NotImportableError {
  return new NotImportableError(
    `${quote(id)} names no entry: none has that id, and read as a value, ${reason.replace(/^is /, "it is ")}. Write the id that the service gave, or the value with its list before it and its scope behind: deny:evil.example, allow:mail.example (graymail). Nothing was imported.`,
  );
}

/** So many are told; more are of no help. */
const TOLD = 10;

function ambiguous(
  id: string,
  meant: readonly AllowDenyEntryRow[],
  all: readonly AllowDenyEntryRow[],
): NotImportableError {
  const told = meant
    .slice(0, TOLD)
    .map((row) => `  ${printable(nameOfEntry(row, all))}   ${describeEntry(row)}`);
  const more = meant.length > TOLD ? [`  and ${meant.length - TOLD} more`] : [];
  return new NotImportableError(
    [
      `${quote(id)} names ${meant.length} entries, and an import is of one. Nothing was imported. Write what stands first on the line of the one that is meant:`,
      ...told,
      ...more,
    ].join("\n"),
  );
}

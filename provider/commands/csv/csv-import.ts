import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { canonicalizeValue } from "../../model/entry-value";
import { omitUndefined } from "../../model/omit-undefined";
import { writeSettings } from "../../settings-files/atomic-write";
import { CsvError, type CsvMistake } from "../../settings-files/csv-error";
import { type CsvOptions, type CsvTable, readCsv } from "../../settings-files/csv-reader";
import { type CsvRow, getRowKey } from "../../settings-files/csv-row";
import { formatLineLocation, SettingsFileError } from "../../settings-files/finding";
import { inspectSettings, type SettingsReadOptions } from "../../settings-files/read-settings";
import { createFileReader } from "../../settings-files/read-yaml-file";
import { editSettings } from "../../settings-files/settings-editor";
import type { DeclaredEntry, DeclaredVip, Settings } from "../../settings-files/settings-model";
import { createCachingYamlReader } from "../../settings-files/yaml-source";
import { type CsvDifference, compareCsvRow } from "./csv-difference";

export interface CsvImport {
  readonly added: readonly CsvRow[];
  /** The rows that are already declared in the same way. */
  readonly unchanged: readonly CsvRow[];
  /** The differences from existing declarations, which stay unchanged. */
  readonly differences: readonly CsvDifference[];
  readonly ignoredColumns: readonly string[];
}

export interface CsvImportOptions extends CsvOptions, Pick<SettingsReadOptions, "today"> {
  readonly dryRun?: boolean;
}

/**
 * Adds the rows of a table to a settings file, which is created if missing. Existing declarations, also in included files, stay unchanged;
 * differing rows are reported. Either all rows are added or none, and the resulting file is valid.
 *
 * @throws {CsvError} (`ERR_CSV`) with all mistakes by row and column; nothing was written.
 * @throws {SettingsFileError} (`ERR_SETTINGS_FILE`) if the settings file is invalid.
 * @throws {EmailSecurityError} (`ERR_SETTINGS_EDIT`, `ERR_SETTINGS_WRITE`) if it can't be edited or written.
 */
export function importCsv(bytes: Uint8Array, file: string, options: CsvImportOptions = {}): CsvImport {
  const { today, dryRun = false, ...csv } = options;
  const table = readCsv(bytes, csv);
  const readYaml = createCachingYamlReader();
  const readOptions = { readYaml, ...omitUndefined({ today }) };
  const before = existsSync(file) ? readSettingsText(file, readOptions) : { text: "version: 1\n", settings: undefined };
  const { added, unchanged, differences } = classifyRows(table, before.settings);
  const text = editSettings(
    before.text,
    added.map(({ section, element, reviewed }) => ({
      action: "add",
      section,
      element,
      ...omitUndefined({ reviewed }),
    })),
    (text) => readYaml(text, file),
  );
  assertImportUsable(file, text, added, readOptions);
  if (!dryRun && added.length > 0) writeSettings(file, text);
  return { added, unchanged, differences, ignoredColumns: table.ignoredColumns };
}

function readSettingsText(file: string, readOptions: SettingsReadOptions): { text: string; settings: Settings } {
  const { settings, findings } = inspectSettings(file, readOptions);
  if (settings === undefined) throw new SettingsFileError(file, findings);
  return { text: createFileReader(file)(file), settings };
}

/** Splits the rows into new and existing ones. A value on the other list is a mistake, because the table doesn't ask to move it. */
function classifyRows({ rows, columns }: CsvTable, settings: Settings | undefined): Omit<CsvImport, "ignoredColumns"> {
  const declared = [...(settings?.entries ?? []), ...(settings?.vips ?? []), ...(settings?.expired ?? [])];
  const bySubject = new Map(declared.map((declaration) => [getDeclaredRowKey(declaration), declaration]));
  const tableKeys = new Set(rows.map(getRowKey));
  const entriesInOtherScope = new Map(
    declared.flatMap((declaration) =>
      declaration.kind === "entry" && !tableKeys.has(getDeclaredRowKey(declaration))
        ? [[`${declaration.list} ${declaration.value}`, declaration] as const]
        : [],
    ),
  );
  /** Finds the declaration of a row. A row with a changed scope matches the entry in another scope, unless another row does. */
  const findDeclaration = (row: CsvRow): DeclaredEntry | DeclaredVip | undefined => {
    const existing = bySubject.get(getRowKey(row));
    if (existing !== undefined || row.section === "vips" || !columns.has("scope")) return existing;
    return entriesInOtherScope.get(`${row.section} ${canonicalizeValue(row.element["value"] ?? "")}`);
  };
  const [added, unchanged]: [CsvRow[], CsvRow[]] = [[], []];
  const differences: CsvDifference[] = [];
  const mistakes: CsvMistake[] = [];
  for (const row of rows) {
    const existing = findDeclaration(row);
    if (existing === undefined) added.push(row);
    else if (existing.kind === "vip" || existing.list === row.section) {
      const rowDifferences = compareCsvRow(row, existing, columns);
      differences.push(...rowDifferences);
      if (rowDifferences.length === 0) unchanged.push(row);
    } else {
      const message = `is on the ${existing.list} list at ${formatLineLocation(existing.location)}; remove it there first`;
      mistakes.push({ row: row.row, message });
    }
  }
  if (mistakes.length > 0) throw new CsvError(mistakes);
  return { added, unchanged, differences };
}

function getDeclaredRowKey(declaration: DeclaredEntry | DeclaredVip): string {
  return declaration.kind === "vip"
    ? getRowKey({ section: "vips", element: { email: declaration.email } })
    : getRowKey({
        section: declaration.list,
        element: { value: declaration.value, scope: declaration.verdictScope },
      });
}

/** Asserts that the resulting file is valid, for example without risky entries; reports errors by row. */
function assertImportUsable(
  file: string,
  text: string,
  added: readonly CsvRow[],
  readOptions: SettingsReadOptions,
): void {
  const path = resolve(file);
  const readFromDisk = createFileReader(file);
  const readFile = (requestedPath: string): string =>
    resolve(requestedPath) === path ? text : readFromDisk(requestedPath);
  const { draft, findings } = inspectSettings(file, { ...readOptions, readFile });
  const errors = findings.filter(({ level }) => level === "error");
  if (errors.length === 0) return;
  const rowsByKey = new Map(added.map((row) => [getRowKey(row), row]));
  const declared = new Map(
    [...(draft?.entries ?? []), ...(draft?.vips ?? [])].map((declaration) => [
      `${declaration.kind} ${declaration.key}`,
      declaration,
    ]),
  );
  throw new CsvError(
    errors.map(({ message, subject }): CsvMistake => {
      const declaration = subject === undefined ? undefined : declared.get(`${subject.kind} ${subject.key}`);
      const row = declaration === undefined ? undefined : rowsByKey.get(getDeclaredRowKey(declaration));
      return row === undefined ? { message } : { row: row.row, message };
    }),
  );
}

import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { canonicalValue } from "../settings/entry-value";
import { withoutUndefined } from "../settings/without-undefined";
import { type CsvOptions, type CsvTable, readCsv } from "./csv";
import { type CsvDifference, differencesOf } from "./csv-difference";
import { CsvError, type CsvMistake } from "./csv-error";
import { type CsvRow, subjectOfRow } from "./csv-row";
import { editSettings } from "./edit";
import { lineText, SettingsFileError } from "./finding";
import { inspectSettings, type ReadOptions } from "./read-settings";
import { readerFrom } from "./read-source";
import type { DeclaredEntry, DeclaredVip, Settings } from "./settings";
import { writeSettings } from "./write-settings";
import { readingOnce } from "./yaml-source";

export interface CsvImport {
  /** The rows added to the file. */
  readonly added: readonly CsvRow[];
  /** The rows that are already declared in the same way. */
  readonly present: readonly CsvRow[];
  /** The differences from existing declarations, which stay unchanged. */
  readonly different: readonly CsvDifference[];
  /** The titles of ignored columns. */
  readonly ignored: readonly string[];
}

export interface ImportOptions extends CsvOptions, Pick<ReadOptions, "today"> {
  /** Whether to write nothing. */
  readonly dryRun?: boolean;
}

/**
 * Adds the rows of a table to a settings file, which is created if missing. Existing declarations, also in included files, stay unchanged;
 * differing rows are reported. Either all rows are added or none, and the resulting file is valid.
 *
 * @param bytes the table, see {@link readCsv}.
 * @param file the settings file.
 * @throws {CsvError} (`ERR_CSV`) with all mistakes by row and column; nothing was written.
 * @throws {SettingsFileError} (`ERR_SETTINGS_FILE`) if the settings file is invalid.
 * @throws {EmailSecurityError} (`ERR_SETTINGS_EDIT`, `ERR_SETTINGS_WRITE`) if it can't be edited or written.
 */
export function importCsv(bytes: Uint8Array, file: string, options: ImportOptions = {}): CsvImport {
  const { today, dryRun = false, ...csv } = options;
  const table = readCsv(bytes, csv);
  const readYaml = readingOnce();
  const readOptions = { readYaml, ...withoutUndefined({ today }) };
  const before = existsSync(file) ? readSettingsText(file, readOptions) : { text: "version: 1\n", settings: undefined };
  const { added, present, different } = classifyRows(table, before.settings);
  const text = editSettings(
    before.text,
    added.map(({ section, element, reviewed }) => ({
      do: "add",
      section,
      element,
      ...withoutUndefined({ reviewed }),
    })),
    (text) => readYaml(text, file),
  );
  assertUsable(file, text, added, readOptions);
  if (!dryRun && added.length > 0) writeSettings(file, text);
  return { added, present, different, ignored: table.ignored };
}

function readSettingsText(file: string, readOptions: ReadOptions): { text: string; settings: Settings } {
  const { settings, findings } = inspectSettings(file, readOptions);
  if (settings === undefined) throw new SettingsFileError(file, findings);
  return { text: readerFrom(file)(file), settings };
}

/** Splits the rows into new and existing ones. A value on the other list is a mistake, because the table doesn't ask to move it. */
function classifyRows({ rows, columns }: CsvTable, settings: Settings | undefined): Omit<CsvImport, "ignored"> {
  const declared = [...(settings?.entries ?? []), ...(settings?.vips ?? []), ...(settings?.expired ?? [])];
  const bySubject = new Map(declared.map((declaration) => [getDeclaredRowKey(declaration), declaration]));
  const tableKeys = new Set(rows.map(subjectOfRow));
  const entriesInOtherScope = new Map(
    declared.flatMap((declaration) =>
      declaration.kind === "entry" && !tableKeys.has(getDeclaredRowKey(declaration))
        ? [[`${declaration.list} ${declaration.value}`, declaration] as const]
        : [],
    ),
  );
  /** Finds the declaration of a row. A row with a changed scope matches the entry in another scope, unless another row does. */
  const findDeclaration = (row: CsvRow): DeclaredEntry | DeclaredVip | undefined => {
    const existing = bySubject.get(subjectOfRow(row));
    if (existing !== undefined || row.section === "vips" || !columns.has("scope")) return existing;
    return entriesInOtherScope.get(`${row.section} ${canonicalValue(row.element["value"] ?? "")}`);
  };
  const [added, present]: [CsvRow[], CsvRow[]] = [[], []];
  const differences: CsvDifference[] = [];
  const mistakes: CsvMistake[] = [];
  for (const row of rows) {
    const existing = findDeclaration(row);
    if (existing === undefined) added.push(row);
    else if (existing.kind === "vip" || existing.list === row.section) {
      const rowDifferences = differencesOf(row, existing, columns);
      differences.push(...rowDifferences);
      if (rowDifferences.length === 0) present.push(row);
    } else {
      const message = `is on the ${existing.list} list at ${lineText(existing.place)}; take it away there first`;
      mistakes.push({ row: row.row, message });
    }
  }
  if (mistakes.length > 0) throw new CsvError(mistakes);
  return { added, present, different: differences };
}

function getDeclaredRowKey(declaration: DeclaredEntry | DeclaredVip): string {
  return declaration.kind === "vip"
    ? subjectOfRow({ section: "vips", element: { email: declaration.email } })
    : subjectOfRow({
        section: declaration.list,
        element: { value: declaration.value, scope: declaration.verdictScope },
      });
}

/** Asserts that the resulting file is valid, for example without risky entries; reports errors by row. */
function assertUsable(file: string, text: string, added: readonly CsvRow[], readOptions: ReadOptions): void {
  const path = resolve(file);
  const readFromDisk = readerFrom(file);
  const readFile = (requestedPath: string): string =>
    resolve(requestedPath) === path ? text : readFromDisk(requestedPath);
  const { draft, findings } = inspectSettings(file, { ...readOptions, readFile });
  const errors = findings.filter(({ level }) => level === "error");
  if (errors.length === 0) return;
  const rowsByKey = new Map(added.map((row) => [subjectOfRow(row), row]));
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

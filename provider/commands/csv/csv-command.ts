import { readFileSync } from "node:fs";
import { Command, InvalidArgumentError, Option } from "commander";
import { EXIT, type ExitCode, verb } from "../../cli/command-line";
import { fitted } from "../../cli/fitted";
import { type OutputOptions, readOutputs, withOutputs } from "../../cli/output/outputs";
import { writeOutputs } from "../../cli/output/write-outputs";
import { standardInput } from "../../cli/standard-input";
import { withHelp } from "../../cli/verb-help";
import { lockFiles } from "../../cli/write-options";
import type { CsvDifference } from "../../files/csv-difference";
import type { Section } from "../../files/edit";
import { harmless, printable, quote } from "../../settings/text";

/** Builds `email-security csv`, which converts between settings files and spreadsheet tables. */
export function csvCommand(): Command {
  return withHelp(
    new Command("csv")
      .description("Import a CSV table into a settings file, or export one")
      .addCommand(createCsvImportCommand())
      .addCommand(createCsvExportCommand()),
    {
      examples: [
        {
          does: "take a spreadsheet's rows in",
          line: "csv import blocked.csv --to settings.yaml --list deny",
        },
        {
          does: "write a table that spreadsheets open",
          line: "csv export settings.yaml --output settings.csv",
        },
      ],
      exits: {},
    },
  );
}

function createCsvImportCommand(): Command {
  return withHelp(
    new Command("import")
      .configureOutput({ outputError: (text, write) => write(harmless(text)) })
      .description("Add all rows of a table to a settings file, or none if one has a mistake")
      .argument("<table>", "CSV table, or - for standard input")
      .requiredOption("--to <file>", "Write to this settings file, which is created if missing")
      .addOption(new Option("--list <list>", "Set the list of rows that name none").choices(["allow", "deny", "vips"]))
      .option("--delimiter <character>", "Set the separator of cells, or tab (default: detected)", delimiter)
      .option("--dry-run", "Show what would be added, and write nothing")
      .action(verb(importTable)),
    {
      examples: [
        {
          does: "see what would be added",
          line: "csv import blocked.csv --to settings.yaml --list deny --dry-run",
        },
        {
          does: "from another program, with tabs",
          line: "csv import - --to settings/deny.yaml --delimiter tab",
        },
      ],
      exits: {
        0: "the rows are in the file",
        1: "an error; nothing is written",
        2: "a row says something else of what is declared already, which stays",
      },
    },
  );
}

interface CsvImportOptions {
  readonly to: string;
  readonly list?: Section;
  readonly delimiter?: string;
  readonly dryRun?: true;
}

async function importTable(table: string, { to, ...options }: CsvImportOptions): Promise<ExitCode> {
  const { importCsv } = await import("../../files/import-csv.js");
  const bytes = table === "-" ? standardInput(MAX_BYTES) : readFileSync(table);
  using locks = options.dryRun ? undefined : await lockFiles([to]);
  const { added, present, different, ignored } = importCsv(bytes, to, options);
  locks?.release();
  const lines = [`${options.dryRun ? "Would add" : "Added"} ${formatRowCount(added.length)} to ${printable(to)}.`];
  if (present.length > 0) lines.push(`Declared already, as the table has them: ${formatRowCount(present.length)}.`);
  if (ignored.length > 0) lines.push(`Columns left out: ${ignored.map(printable).join(", ")}.`);
  console.log(fitted(lines.join("\n")));
  if (different.length === 0) return EXIT.clean;
  console.error(formatDifferences(different, to).join("\n"));
  return EXIT.changes;
}

const MAX_SHOWN_DIFFERENCES = 100;
/** The maximum size of a table on standard input. A spreadsheet of 50,000 rows is smaller. */
const MAX_BYTES = 64 * 1024 * 1024;

function formatDifferences(different: readonly CsvDifference[], file: string): string[] {
  const rowCount = new Set(different.map(({ row }) => row)).size;
  const formatCell = (text: string): string => (text === "" ? "nothing" : quote(text, 500));
  const hiddenCount = different.length - MAX_SHOWN_DIFFERENCES;
  return [
    `Declared already with something else, and left as ${rowCount === 1 ? "it is" : "they are"}: ${formatRowCount(rowCount)}. An import only adds; change ${printable(file)} where the table is right.`,
    ...different
      .slice(0, MAX_SHOWN_DIFFERENCES)
      .map(
        ({ row, column, written, place, declared, given }) =>
          `  row ${row}, column ${quote(column)}: of ${quote(written)} the file says ${formatCell(declared)} (${printable(place.file)}:${place.line}), and the row ${formatCell(given)}`,
      ),
    ...(hiddenCount > 0 ? [`  … and ${hiddenCount} more`] : []),
  ];
}

function createCsvExportCommand(): Command {
  return withHelp(
    withOutputs(new Command("export"), FORMATS)
      .description("Export what settings files declare as a CSV table")
      .argument("[file]", "Settings file", "settings.yaml")
      .option("--delimiter <character>", "Set the separator of cells, or tab", delimiter, ",")
      .action(verb(exportTable)),
    {
      examples: [
        { does: "to standard output", line: "csv export settings/acme.yaml" },
        {
          does: "for a spreadsheet that wants semicolons",
          line: "csv export settings.yaml --output settings.csv --delimiter ';'",
        },
      ],
      exits: {
        0: "the table is written",
        1: "an error",
      },
    },
  );
}

const FORMATS = ["csv"] as const;

interface CsvExportOptions extends OutputOptions<"csv"> {
  readonly delimiter: string;
}

async function exportTable(file: string, options: CsvExportOptions): Promise<ExitCode> {
  const outputs = readOutputs(options, FORMATS);
  const { readSettings } = await import("../../files/read-settings.js");
  const { writeCsv } = await import("../../files/csv-writer.js");
  const settings = readSettings(file);
  await writeOutputs(outputs, { csv: () => writeCsv(settings, options.delimiter) });
  return EXIT.clean;
}

function delimiter(text: string): string {
  if (/^(?:tab|\\t|\t)$/i.test(text)) return "\t";
  if (/^[,;|:]$/.test(text)) return text;
  throw new InvalidArgumentError('Give one of , ; | : or "tab".');
}

function formatRowCount(count: number): string {
  return count === 1 ? "1 row" : `${count} rows`;
}

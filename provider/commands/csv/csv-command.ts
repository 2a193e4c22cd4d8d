import { readFileSync } from "node:fs";
import { Command, InvalidArgumentError, Option } from "commander";
import { addHelp } from "../../cli/command-help";
import { EXIT, type ExitCode } from "../../cli/exit-codes";
import { addOutputOptions, type OutputOptions, parseOutputs } from "../../cli/output/output-options";
import { writeOutputs } from "../../cli/output/write-outputs";
import { readStdin } from "../../cli/standard-input";
import { wrapAction } from "../../cli/wrap-action";
import { wrapForTerminal } from "../../cli/wrap-for-terminal";
import { lockFiles } from "../../cli/write-file-changes";
import { omitUndefined } from "../../model/omit-undefined";
import { quote, sanitizeLine, sanitizeMultiline } from "../../model/text";
import type { SectionName } from "../../settings-files/settings-editor";
import { LIST_NAMES, type ListName } from "../change/change-options";
import type { CsvDifference } from "./csv-difference";

export function createCsvCommand(): Command {
  return addHelp(
    new Command("csv")
      .description("Import a CSV table into a settings file, or export one")
      .addCommand(createCsvImportCommand())
      .addCommand(createCsvExportCommand()),
    {
      examples: [
        {
          purpose: "Import the rows of a spreadsheet",
          line: "csv import blocked.csv --to settings.yaml --list deny",
        },
        {
          purpose: "Write a table that spreadsheets can open",
          line: "csv export settings.yaml --output settings.csv",
        },
      ],
      exits: {},
    },
  );
}

function createCsvImportCommand(): Command {
  return addHelp(
    new Command("import")
      .configureOutput({ outputError: (text, write) => write(sanitizeMultiline(text)) })
      .description("Add all rows of a table to a settings file, or none if a row has an error")
      .argument("<table>", "CSV table, or - for standard input")
      .requiredOption("--to <file>", "Write to this settings file, which is created if missing")
      .addOption(new Option("--list <list>", "Set the list for rows that don't specify one").choices(LIST_NAMES))
      .option("--delimiter <character>", "Set the separator of cells, or tab (default: detected)", parseDelimiter)
      .option("--dry-run", "Show what would be added without writing it")
      .action(wrapAction(importTable)),
    {
      examples: [
        {
          purpose: "Show what would be added",
          line: "csv import blocked.csv --to settings.yaml --list deny --dry-run",
        },
        {
          purpose: "Import the tab-separated output of another program",
          line: "csv import - --to settings/deny.yaml --delimiter tab",
        },
      ],
      exits: {
        0: "The rows are in the file",
        1: "An error occurred; nothing is written",
        2: "A row differs from an existing declaration, which stays unchanged",
      },
    },
  );
}

interface CsvImportCommandOptions {
  readonly to: string;
  readonly list?: ListName;
  readonly delimiter?: string;
  readonly dryRun?: true;
}

async function importTable(table: string, { to, list, ...options }: CsvImportCommandOptions): Promise<ExitCode> {
  const { importCsv } = await import("./csv-import.js");
  const section: SectionName | undefined = list === "vip" ? "vips" : list;
  const bytes = table === "-" ? readStdin(MAX_BYTES) : readFileSync(table);
  using locks = options.dryRun ? undefined : await lockFiles([to]);
  const { added, unchanged, differences, ignoredColumns } = importCsv(bytes, to, {
    ...options,
    ...omitUndefined({ list: section }),
  });
  locks?.release();
  const lines = [`${options.dryRun ? "Would add" : "Added"} ${formatRowCount(added.length)} to ${sanitizeLine(to)}.`];
  if (unchanged.length > 0) lines.push(`Already declared as in the table: ${formatRowCount(unchanged.length)}.`);
  if (ignoredColumns.length > 0) lines.push(`Ignored columns: ${ignoredColumns.map(sanitizeLine).join(", ")}.`);
  console.log(wrapForTerminal(lines.join("\n")));
  if (differences.length === 0) return EXIT.clean;
  console.error(formatDifferences(differences, to).join("\n"));
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
    `Skipped, because the file declares the value differently: ${formatRowCount(rowCount)}. An import only adds; if the table is right, edit ${sanitizeLine(file)}.`,
    ...different
      .slice(0, MAX_SHOWN_DIFFERENCES)
      .map(
        ({ row, column, subject, location, fileValue, cellValue }) =>
          `  row ${row}, column ${quote(column)}: for ${quote(subject)}, the file has ${formatCell(fileValue)} (${sanitizeLine(location.file)}:${location.line}), and the row has ${formatCell(cellValue)}`,
      ),
    ...(hiddenCount > 0 ? [`  … and ${hiddenCount} more`] : []),
  ];
}

function createCsvExportCommand(): Command {
  return addHelp(
    addOutputOptions(new Command("export"), FORMATS)
      .description("Export the declarations of settings files as a CSV table")
      .argument("[file]", "Settings file", "settings.yaml")
      .option("--delimiter <character>", "Set the separator of cells, or tab", parseDelimiter, ",")
      .action(wrapAction(exportTable)),
    {
      examples: [
        { purpose: "Write to standard output", line: "csv export settings/acme.yaml" },
        {
          purpose: "Write a table for a spreadsheet that expects semicolons",
          line: "csv export settings.yaml --output settings.csv --delimiter ';'",
        },
      ],
      exits: {
        0: "The table is written",
        1: "An error occurred",
      },
    },
  );
}

const FORMATS = ["csv"] as const;

interface CsvExportOptions extends OutputOptions<"csv"> {
  readonly delimiter: string;
}

async function exportTable(file: string, options: CsvExportOptions): Promise<ExitCode> {
  const outputs = parseOutputs(options, FORMATS);
  const { readSettings } = await import("../../settings-files/read-settings.js");
  const { formatCsv } = await import("../../settings-files/csv-writer.js");
  const settings = readSettings(file);
  await writeOutputs(outputs, { csv: () => formatCsv(settings, options.delimiter) });
  return EXIT.clean;
}

function parseDelimiter(text: string): string {
  if (/^(?:tab|\\t|\t)$/i.test(text)) return "\t";
  if (/^[,;|:]$/.test(text)) return text;
  throw new InvalidArgumentError('Use one of , ; | : or "tab".');
}

function formatRowCount(count: number): string {
  return count === 1 ? "1 row" : `${count} rows`;
}

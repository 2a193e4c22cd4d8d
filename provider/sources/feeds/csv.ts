import Papa from "papaparse";
import { formatNameSuggestion } from "../../model/nearest-name";
import { refang } from "../../model/refang";
import { quote } from "../../model/text";
import { SourceError, type SourceItem } from "../source-content";

const NAME_COLUMNS = ["name", "displayname", "fullname"];

/**
 * Parses a table with one value per row.
 *
 * @param column the title of the column with the values. Default: the first column, with or without a title.
 * @throws {SourceError} if the table is damaged or has no such column.
 */
export function parseCsvFeed(text: string, name: string, column?: string): SourceItem[] {
  const { data, errors } = Papa.parse<string[]>(text.replace(/^\uFEFF/, ""), {
    comments: "#",
    skipEmptyLines: "greedy",
  });
  const quoteError = errors.find(({ type }) => type === "Quotes");
  if (quoteError !== undefined) {
    throw new SourceError(
      `The source ${name} can't be read. Its table has an unmatched quote in row ${(quoteError.row ?? 0) + 1}, so it may be truncated.`,
    );
  }
  const [header = [], ...rows] = data;
  const titles = header.map(normalizeTitle);
  const index = column === undefined ? 0 : titles.indexOf(normalizeTitle(column));
  if (index < 0) {
    throw new SourceError(
      `The source ${name} can't be read. Its table has no column ${quote(column)}; ${formatNameSuggestion(column ?? "", header)}`,
    );
  }
  const nameIndex = titles.findIndex((title, position) => position !== index && NAME_COLUMNS.includes(title));
  const hasTitles = column !== undefined || !refang(header[0] ?? "").ok;
  return (hasTitles ? rows : data).flatMap((cells): SourceItem[] => {
    const value = cells[index]?.trim() ?? "";
    const personName = nameIndex < 0 ? "" : (cells[nameIndex]?.trim() ?? "");
    return value === "" ? [] : [{ value, ...(personName === "" ? {} : { name: personName }) }];
  });
}

function normalizeTitle(title: string): string {
  return title.toLowerCase().replace(/[\s_-]/g, "");
}

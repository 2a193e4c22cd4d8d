import { DEFAULT_VERDICT_SCOPE } from "../model/assumptions";
import { canonicalizeMailbox, canonicalizeValue } from "../model/entry-value";
import { quote } from "../model/text";
import { parseDayCell } from "./csv-cells";
import { type CsvColumn, REVIEW_COLUMNS } from "./csv-columns";
import type { CsvMistake } from "./csv-error";
import { unescapeFormula } from "./csv-formula";
import { ELEMENT_FIELD_NAMES, type ElementValue, isEntryOnlyField, parseFieldCell } from "./element-fields";
import type { SectionName, SettingsElement } from "./settings-editor";
import type { ElementReview } from "./settings-schema";

export interface CsvRow {
  /** The row number as in a spreadsheet: from 1, including the header. */
  readonly row: number;
  readonly section: SectionName;
  readonly element: SettingsElement;
  /** The decision to keep it. */
  readonly reviewed?: ElementReview;
}

/** Parses one row; returns its mistakes if it is invalid. */
export function parseCsvRow(
  row: number,
  cells: readonly string[],
  columns: readonly CsvColumn[],
  defaultSection: SectionName | undefined,
): CsvRow | CsvMistake[] {
  const cellsByField = new Map<string, { text: string; title: string }>();
  const mistakes: CsvMistake[] = [];
  for (const { field, title, index } of columns) {
    const text = unescapeFormula((cells[index] ?? "").trim()).trim();
    if (text === "") continue;
    const previous = cellsByField.get(field);
    if (previous === undefined) cellsByField.set(field, { text, title });
    else {
      const message = `is ${quote(text)}, but ${quote(previous.title)} is ${quote(previous.text)}; a row can have only one value`;
      mistakes.push({ row, column: title, message });
    }
  }
  const section = parseRowSection(row, cellsByField, defaultSection, mistakes);
  const value = cellsByField.get("value");
  if (value === undefined) mistakes.push({ row, message: "has no value, although other cells are filled in" });
  if (section === undefined || value === undefined || mistakes.length > 0) return mistakes;

  const element: Record<string, ElementValue> = { [section === "vips" ? "email" : "value"]: value.text };
  for (const field of ELEMENT_FIELD_NAMES) {
    const cell = cellsByField.get(field);
    if (cell === undefined) continue;
    if (section === "vips" && isEntryOnlyField(field)) {
      if (field === "type") continue;
      mistakes.push({ row, column: cell.title, message: `is ${quote(cell.text)}, but VIPs don't have this field` });
      continue;
    }
    const fieldValue = parseFieldCell(field, cell.text);
    if (fieldValue !== undefined) element[field] = fieldValue;
  }
  if (mistakes.length > 0) return mistakes;
  const reviewed = Object.entries(REVIEW_COLUMNS).flatMap(([key, field]) => {
    const text = cellsByField.get(field)?.text;
    return text === undefined ? [] : [[key, key === "on" ? parseDayCell(text) : text] as const];
  });
  if (reviewed.length === 0) return { row, section, element };
  // The settings schema reports missing keys of the review.
  return { row, section, element, reviewed: Object.fromEntries(reviewed) as unknown as ElementReview };
}

/** Determines the section of a row: from any column that names it, otherwise from the option. */
function parseRowSection(
  row: number,
  cellsByField: Map<string, { text: string; title: string }>,
  defaultSection: SectionName | undefined,
  mistakes: CsvMistake[],
): SectionName | undefined {
  const sections = new Set<SectionName>();
  const listCell = cellsByField.get("list");
  if (listCell !== undefined) {
    const section = parseSectionName(listCell.text);
    if (section === undefined) {
      mistakes.push({
        row,
        column: listCell.title,
        message: `is ${quote(listCell.text)}; write allow, deny or vip`,
      });
      return undefined;
    }
    sections.add(section);
  }
  // Some tables name the list in the type column.
  const typeCell = cellsByField.get("type");
  const typeSection = typeCell === undefined ? undefined : parseSectionName(typeCell.text);
  if (typeSection !== undefined) {
    cellsByField.delete("type");
    sections.add(typeSection);
  }
  const vipCell = cellsByField.get("vip");
  if (vipCell !== undefined) {
    if (YES_PATTERN.test(vipCell.text)) sections.add("vips");
    else if (!NO_PATTERN.test(vipCell.text)) {
      mistakes.push({ row, column: vipCell.title, message: `is ${quote(vipCell.text)}; write yes or no` });
      return undefined;
    }
  }
  if (sections.size > 1) {
    mistakes.push({ row, message: `is declared for ${[...sections].join(" and for ")}; keep one` });
    return undefined;
  }
  const [section = defaultSection] = sections;
  if (section === undefined) {
    mistakes.push({
      row,
      message: "has no list; write allow, deny or vip, or set --list",
    });
  }
  return section;
}

const YES_PATTERN = /^(?:yes|y|true|x|1|vip|✓|✔)$/i;
const NO_PATTERN = /^(?:no|n|false|0|-)$/i;

function parseSectionName(text: string): SectionName | undefined {
  const normalized = text.toLowerCase().replace(/[^a-z]/g, "");
  if (/^(?:allow(?:ed|list)?|whitelist(?:ed)?|permit(?:ted)?)$/.test(normalized)) return "allow";
  if (/^(?:den(?:y|ied)|denylist|block(?:ed|list)?|blacklist(?:ed)?)$/.test(normalized)) return "deny";
  return /^vips?$/.test(normalized) ? "vips" : undefined;
}

export function getRowKey({ section, element }: Pick<CsvRow, "section" | "element">): string {
  if (section === "vips") return `vip ${canonicalizeMailbox(element["email"] ?? "")}`;
  return `entry ${canonicalizeValue(element["value"] ?? "")} ${element["scope"] ?? DEFAULT_VERDICT_SCOPE}`;
}

/** Returns the value or mailbox of a row, as written. */
export function getRowValue({ element }: Pick<CsvRow, "element">): string {
  return element["value"] ?? element["email"] ?? "";
}

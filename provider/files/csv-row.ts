import { DEFAULT_VERDICT_SCOPE } from "../settings/assumptions";
import { canonicalMailbox, canonicalValue } from "../settings/entry-value";
import { quote } from "../settings/text";
import { dayInCell } from "./csv-cells";
import { type Column, REVIEW } from "./csv-columns";
import type { CsvMistake } from "./csv-error";
import { asWritten } from "./csv-formula";
import type { Element, Section } from "./edit";
import { ELEMENT_FIELD_NAMES, type ElementValue, isOfEntries, valueInCell } from "./element-fields";
import type { Reviewed } from "./settings-schema";

export interface CsvRow {
  /** The row number as in a spreadsheet: from 1, including the header. */
  readonly row: number;
  readonly section: Section;
  readonly element: Element;
  /** The decision to keep it. */
  readonly reviewed?: Reviewed;
}

/** Parses one row; returns its mistakes if it is invalid. */
export function rowOf(
  row: number,
  cells: readonly string[],
  columns: readonly Column[],
  list: Section | undefined,
): CsvRow | CsvMistake[] {
  const given = new Map<string, { text: string; title: string }>();
  const mistakes: CsvMistake[] = [];
  for (const { field, title, index } of columns) {
    const text = asWritten((cells[index] ?? "").trim()).trim();
    if (text === "") continue;
    const other = given.get(field);
    if (other === undefined) given.set(field, { text, title });
    else {
      const message = `is ${quote(text)}, and ${quote(other.title)} is ${quote(other.text)}; a row holds one value`;
      mistakes.push({ row, column: title, message });
    }
  }
  const section = sectionOf(row, given, list, mistakes);
  const value = given.get("value");
  if (value === undefined) mistakes.push({ row, message: "has no value, and yet something beside it" });
  if (section === undefined || value === undefined || mistakes.length > 0) return mistakes;

  const element: Record<string, ElementValue> = { [section === "vips" ? "email" : "value"]: value.text };
  for (const field of ELEMENT_FIELD_NAMES) {
    const cell = given.get(field);
    if (cell === undefined) continue;
    if (section === "vips" && isOfEntries(field)) {
      if (field === "type") continue;
      mistakes.push({ row, column: cell.title, message: `is ${quote(cell.text)}, and a VIP has none` });
      continue;
    }
    const said = valueInCell(field, cell.text);
    if (said !== undefined) element[field] = said;
  }
  if (mistakes.length > 0) return mistakes;
  const reviewed = Object.entries(REVIEW).flatMap(([key, field]) => {
    const text = given.get(field)?.text;
    return text === undefined ? [] : [[key, key === "on" ? dayInCell(text) : text] as const];
  });
  if (reviewed.length === 0) return { row, section, element };
  // The settings schema reports missing keys of the review.
  return { row, section, element, reviewed: Object.fromEntries(reviewed) as unknown as Reviewed };
}

/** Determines the section of a row: from any column that names it, otherwise from the option. */
function sectionOf(
  row: number,
  given: Map<string, { text: string; title: string }>,
  list: Section | undefined,
  mistakes: CsvMistake[],
): Section | undefined {
  const said = new Set<Section>();
  const own = given.get("list");
  if (own !== undefined) {
    const section = sectionNamed(own.text);
    if (section === undefined) {
      mistakes.push({ row, column: own.title, message: `is ${quote(own.text)}; write allow, deny or vip` });
      return undefined;
    }
    said.add(section);
  }
  // Some tables name the list in the type column.
  const type = given.get("type");
  const byType = type === undefined ? undefined : sectionNamed(type.text);
  if (byType !== undefined) {
    given.delete("type");
    said.add(byType);
  }
  const vip = given.get("vip");
  if (vip !== undefined) {
    if (YES.test(vip.text)) said.add("vips");
    else if (!NO.test(vip.text)) {
      mistakes.push({ row, column: vip.title, message: `is ${quote(vip.text)}; write yes or no` });
      return undefined;
    }
  }
  if (said.size > 1) {
    mistakes.push({ row, message: `is said to be for ${[...said].join(" and for ")}; keep one` });
    return undefined;
  }
  const [section = list] = said;
  if (section === undefined) {
    mistakes.push({
      row,
      message: "does not say which list it is for; write allow, deny or vip, or give --list",
    });
  }
  return section;
}

const YES = /^(?:yes|y|true|x|1|vip|✓|✔)$/i;
const NO = /^(?:no|n|false|0|-)$/i;

function sectionNamed(text: string): Section | undefined {
  const word = text.toLowerCase().replace(/[^a-z]/g, "");
  if (/^(?:allow(?:ed|list)?|whitelist(?:ed)?|permit(?:ted)?)$/.test(word)) return "allow";
  if (/^(?:den(?:y|ied)|denylist|block(?:ed|list)?|blacklist(?:ed)?)$/.test(word)) return "deny";
  return /^vips?$/.test(word) ? "vips" : undefined;
}

/** Returns the key by which duplicate rows are found. */
export function subjectOfRow({ section, element }: Pick<CsvRow, "section" | "element">): string {
  if (section === "vips") return `vip ${canonicalMailbox(element["email"] ?? "")}`;
  return `entry ${canonicalValue(element["value"] ?? "")} ${element["scope"] ?? DEFAULT_VERDICT_SCOPE}`;
}

/** Returns the value or mailbox of a row, as written. */
export function valueOfRow({ element }: Pick<CsvRow, "element">): string {
  return element["value"] ?? element["email"] ?? "";
}

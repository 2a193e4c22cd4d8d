import { isDeepStrictEqual } from "node:util";
import { DEFAULT_VERDICT_SCOPE } from "../model/assumptions";
import type { ElementStyle } from "./edit-element";
import { EditError } from "./edit-error";
import { buildElementFields, type Edit, type SectionName } from "./editable-section";
import { type ElementIdentity, getValueKey, isMapping, normalizeSubject } from "./element-identity";
import { formatFinding } from "./finding";
import { POLICY_SUBJECTS } from "./settings-schema";
import type { YamlSource } from "./yaml-source";

/**
 * Parses the result and compares it with the expected outcome of the edits.
 *
 * @throws {EditError} if they differ.
 */
export function assertEditsApplied(
  before: YamlSource,
  edits: readonly Edit[],
  text: string,
  read: (text: string) => YamlSource,
): void {
  const after = read(text);
  const mistake = after.findings.find(({ level }) => level === "error");
  if (mistake !== undefined) {
    throw new EditError(`it is written in a form that can't be edited in place (${formatFinding(mistake)})`);
  }
  const expected = toRecord(before.value);
  const actual = toRecord(after.value);
  for (const section of POLICY_SUBJECTS) {
    const sectionEdits = edits.filter((edit) => edit.section === section);
    if (sectionEdits.length === 0 && !(Array.isArray(expected[section]) && Array.isArray(actual[section]))) continue;
    const [old, current] = [toList(expected[section]), toList(actual[section])];
    // Comparing only the changed range is faster. If it fails, compare the whole list.
    if (
      !matchesEdits(...trimCommonEnds(old, current), section, sectionEdits) &&
      !matchesEdits(old, current, section, sectionEdits)
    )
      throwUneditable();
    delete expected[section];
    delete actual[section];
  }
  if (!isDeepStrictEqual(actual, expected)) throwUneditable();
}

function throwUneditable(): never {
  throw new EditError("it is written in a form that can't be edited in place; edit it by hand");
}

/** Returns whether applying the edits to the old list yields the new one, in any order. */
function matchesEdits(
  old: readonly unknown[],
  current: readonly unknown[],
  section: SectionName,
  edits: readonly Edit[],
): boolean {
  const style = { valueKey: getValueKey(section) } as ElementStyle;
  const elements = Map.groupBy(parseElements(old, style), ({ subject }) => subject);
  for (const edit of edits) if (!applyEdit(elements, edit, style)) return false;
  const expected = [...elements.values()].flat();
  const actual = parseElements(current, style);
  return isDeepStrictEqual(serializeSorted(actual.map(getElementData)), serializeSorted(expected.map(getElementData)));
}

/** Returns both lists without their common start and end. */
function trimCommonEnds(
  old: readonly unknown[],
  current: readonly unknown[],
): [old: readonly unknown[], now: readonly unknown[]] {
  const minLength = Math.min(old.length, current.length);
  let [prefixLength, suffixLength] = [0, 0];
  while (prefixLength < minLength && isEqualValue(old[prefixLength], current[prefixLength])) prefixLength += 1;
  while (
    suffixLength < minLength - prefixLength &&
    isEqualValue(old.at(-1 - suffixLength), current.at(-1 - suffixLength))
  )
    suffixLength += 1;
  return [
    old.slice(prefixLength, old.length - suffixLength),
    current.slice(prefixLength, current.length - suffixLength),
  ];
}

function isEqualValue(a: unknown, b: unknown): boolean {
  return a === b || (typeof a === "object" && isDeepStrictEqual(a, b));
}

function getElementData({ data }: ParsedElement): Record<string, unknown> {
  return data;
}

function toList(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

interface ParsedElement extends ElementIdentity {
  readonly data: Record<string, unknown>;
}

function toRecord(value: unknown): Record<string, unknown> {
  return typeof value === "object" && value !== null ? { ...value } : {};
}

function parseElements(list: readonly unknown[], style: ElementStyle): ParsedElement[] {
  return list.map((item: unknown) => {
    return buildPlainElement(isMapping(item) ? item : { [style.valueKey]: item }, style);
  });
}

function buildPlainElement(data: Record<string, unknown>, style: ElementStyle): ParsedElement {
  const { [style.valueKey]: subject, scope } = data;
  return {
    subject: normalizeSubject(String(subject ?? ""), style),
    scope: String(scope ?? DEFAULT_VERDICT_SCOPE),
    data,
  };
}

/** Applies an edit to elements grouped by subject. Returns false if the element is missing. */
function applyEdit(elements: Map<string, ParsedElement[]>, edit: Edit, style: ElementStyle): boolean {
  if (edit.action === "add") {
    const newElement = buildPlainElement(buildElementFields(edit), style);
    const candidates = elements.get(newElement.subject);
    if (candidates === undefined) elements.set(newElement.subject, [newElement]);
    else candidates.push(newElement);
    return true;
  }
  const candidates = elements.get(normalizeSubject(edit.value, style)) ?? [];
  const index = candidates.findIndex(({ scope }) => edit.scope === undefined || scope === edit.scope);
  const element = candidates[index];
  if (element === undefined) return false;
  if (edit.action === "remove") {
    candidates.splice(index, 1);
    return true;
  }
  const { [edit.key]: _before, ...rest } = element.data;
  candidates[index] = buildPlainElement(
    edit.newValue === undefined ? rest : { ...rest, [edit.key]: edit.newValue },
    style,
  );
  return true;
}

function serializeSorted(elements: readonly Record<string, unknown>[]): string[] {
  return elements.map((data) => JSON.stringify(Object.entries(data).sort(([a], [b]) => (a < b ? -1 : 1)))).sort();
}

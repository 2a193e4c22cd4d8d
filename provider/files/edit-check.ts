import { isDeepStrictEqual } from "node:util";
import { DEFAULT_VERDICT_SCOPE } from "../settings/assumptions";
import type { ElementStyle } from "./edit-element";
import { EditError } from "./edit-error";
import { canonical, type Identity, isMapping, subjectKeyOf } from "./edit-identity";
import { type Edit, elementOf, type Section } from "./edit-section";
import { findingText } from "./finding";
import { POLICY_SUBJECTS } from "./settings-schema";
import type { YamlSource } from "./yaml-source";

/**
 * Parses the result and compares it with the expected outcome of the edits.
 *
 * @throws {EditError} if they differ.
 */
export function checkEdited(
  before: YamlSource,
  edits: readonly Edit[],
  text: string,
  read: (text: string) => YamlSource,
): void {
  const after = read(text);
  const mistake = after.findings.find(({ level }) => level === "error");
  if (mistake !== undefined) {
    throw new EditError(
      `it is written in a way that can't be changed piece by piece (${findingText(mistake)})`,
    );
  }
  const wanted = contentOf(before.value);
  const got = contentOf(after.value);
  for (const section of POLICY_SUBJECTS) {
    const some = edits.filter((edit) => edit.section === section);
    if (some.length === 0 && !(Array.isArray(wanted[section]) && Array.isArray(got[section]))) continue;
    const [old, now] = [listOf(wanted[section]), listOf(got[section])];
    // Comparing only the changed range is faster. If it fails, compare the whole list.
    if (!isEdited(...different(old, now), section, some) && !isEdited(old, now, section, some)) refuse();
    delete wanted[section];
    delete got[section];
  }
  if (!isDeepStrictEqual(got, wanted)) refuse();
}

function refuse(): never {
  throw new EditError("it is written in a way that can't be changed piece by piece; change it by hand");
}

/** Returns whether applying the edits to the old list yields the new one, in any order. */
function isEdited(
  old: readonly unknown[],
  now: readonly unknown[],
  section: Section,
  edits: readonly Edit[],
): boolean {
  const style = { subjectKey: subjectKeyOf(section) } as ElementStyle;
  const elements = Map.groupBy(elementsOf(old, style), ({ subject }) => subject);
  for (const edit of edits) if (!applyTo(elements, edit, style)) return false;
  const wanted = [...elements.values()].flat();
  const got = elementsOf(now, style);
  return isDeepStrictEqual(inAnyOrder(got.map(dataOf)), inAnyOrder(wanted.map(dataOf)));
}

/** Returns both lists without their common start and end. */
function different(
  old: readonly unknown[],
  now: readonly unknown[],
): [old: readonly unknown[], now: readonly unknown[]] {
  const most = Math.min(old.length, now.length);
  let [first, last] = [0, 0];
  while (first < most && isSame(old[first], now[first])) first += 1;
  while (last < most - first && isSame(old.at(-1 - last), now.at(-1 - last))) last += 1;
  return [old.slice(first, old.length - last), now.slice(first, now.length - last)];
}

function isSame(one: unknown, other: unknown): boolean {
  return one === other || (typeof one === "object" && isDeepStrictEqual(one, other));
}

function dataOf({ data }: PlainElement): Record<string, unknown> {
  return data;
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

interface PlainElement extends Identity {
  readonly data: Record<string, unknown>;
}

function contentOf(value: unknown): Record<string, unknown> {
  return typeof value === "object" && value !== null ? { ...value } : {};
}

function elementsOf(list: readonly unknown[], style: ElementStyle): PlainElement[] {
  return list.map((one: unknown) => {
    return plainElement(isMapping(one) ? one : { [style.subjectKey]: one }, style);
  });
}

function plainElement(data: Record<string, unknown>, style: ElementStyle): PlainElement {
  const { [style.subjectKey]: subject, scope } = data;
  return {
    subject: canonical(String(subject ?? ""), style),
    scope: String(scope ?? DEFAULT_VERDICT_SCOPE),
    data,
  };
}

/** Applies an edit to elements grouped by subject. Returns false if the element is missing. */
function applyTo(elements: Map<string, PlainElement[]>, edit: Edit, style: ElementStyle): boolean {
  if (edit.do === "add") {
    const added = plainElement(elementOf(edit), style);
    const same = elements.get(added.subject);
    if (same === undefined) elements.set(added.subject, [added]);
    else same.push(added);
    return true;
  }
  const same = elements.get(canonical(edit.value, style)) ?? [];
  const at = same.findIndex(({ scope }) => edit.scope === undefined || scope === edit.scope);
  const element = same[at];
  if (element === undefined) return false;
  if (edit.do === "remove") {
    same.splice(at, 1);
    return true;
  }
  const { [edit.key]: _before, ...rest } = element.data;
  same[at] = plainElement(edit.to === undefined ? rest : { ...rest, [edit.key]: edit.to }, style);
  return true;
}

function inAnyOrder(elements: readonly Record<string, unknown>[]): string[] {
  return elements
    .map((data) => JSON.stringify(Object.entries(data).sort(([one], [other]) => (one < other ? -1 : 1))))
    .sort();
}

import { isDeepStrictEqual } from "node:util";
import { DEFAULT_VERDICT_SCOPE } from "../settings/assumptions";
import type { ElementStyle } from "./edit-element";
import { EditError } from "./edit-error";
import { canonical, type Identity, indexOf, subjectKeyOf } from "./edit-identity";
import { type Edit, elementOf } from "./edit-section";
import { findingText } from "./finding";
import { readYaml, type YamlSource } from "./yaml-source";

/**
 * Reads the result, and compares it with what the edits ask for.
 *
 * @throws {EditError} when it says anything else.
 */
export function checkEdited(before: YamlSource, edits: readonly Edit[], text: string): void {
  const after = readYaml(text, "the file");
  const mistake = after.findings.find(({ level }) => level === "error");
  if (mistake !== undefined) {
    throw new EditError(
      `it is written in a way that can't be changed piece by piece (${findingText(mistake)})`,
    );
  }
  const wanted = contentOf(before.value);
  const sections = new Set(edits.map(({ section }) => section));
  for (const section of sections) {
    const style = { subjectKey: subjectKeyOf(section) } as ElementStyle;
    const elements = elementsOf(wanted[section], style);
    for (const edit of edits) if (edit.section === section) applyTo(elements, edit, style);
    wanted[section] = inAnyOrder(elements.map(({ data }) => data));
  }
  const got = contentOf(after.value);
  for (const section of sections) {
    const style = { subjectKey: subjectKeyOf(section) } as ElementStyle;
    got[section] = inAnyOrder(elementsOf(got[section], style).map(({ data }) => data));
  }
  if (!isDeepStrictEqual(got, wanted)) {
    throw new EditError("it is written in a way that can't be changed piece by piece; change it by hand");
  }
}

interface PlainElement extends Identity {
  readonly data: Record<string, unknown>;
}

function contentOf(value: unknown): Record<string, unknown> {
  return typeof value === "object" && value !== null ? { ...value } : {};
}

function elementsOf(value: unknown, style: ElementStyle): PlainElement[] {
  return (Array.isArray(value) ? value : []).map((one: unknown) => {
    const isData = typeof one === "object" && one !== null && !Array.isArray(one);
    return plainElement(isData ? { ...one } : { [style.subjectKey]: one }, style);
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

function applyTo(elements: PlainElement[], edit: Edit, style: ElementStyle): void {
  if (edit.do === "add") {
    elements.push(plainElement(elementOf(edit), style));
    return;
  }
  const at = indexOf(elements, edit.value, edit.scope, style, edit.section);
  const element = elements[at];
  if (element === undefined) return;
  if (edit.do === "remove") {
    elements.splice(at, 1);
    return;
  }
  const { [edit.key]: _before, ...rest } = element.data;
  elements[at] = plainElement(edit.to === undefined ? rest : { ...rest, [edit.key]: edit.to }, style);
}

function inAnyOrder(elements: readonly Record<string, unknown>[]): string[] {
  return elements
    .map((data) => JSON.stringify(Object.entries(data).sort(([one], [other]) => (one < other ? -1 : 1))))
    .sort();
}

import { isMap, isScalar, type Node } from "yaml";
import { DEFAULT_VERDICT_SCOPE } from "../settings/assumptions";
import { canonicalMailbox, canonicalValue } from "../settings/entry-value";
import { quote } from "../settings/text";
import type { ElementStyle, Said } from "./edit-element";
import { EditError } from "./edit-error";
import type { Section } from "./edit-section";
import { sortKey } from "./sort-key";

/** What an element declares, as edits name it. */
export interface Identity {
  readonly subject: string;
  readonly scope: string;
}

/** What an element that is written declares. */
export function identityOf(node: Node, style: ElementStyle): Identity {
  const text = (value: unknown): string | undefined =>
    isScalar(value) && value.value !== null ? String(value.value) : undefined;
  const [subject, scope] = isMap(node)
    ? [text(node.get(style.subjectKey, true)), text(node.get("scope", true))]
    : [text(node), undefined];
  return { subject: canonical(subject ?? "", style), scope: scope ?? DEFAULT_VERDICT_SCOPE };
}

/** An element whose way of writing can be looked at. */
interface Styled {
  readonly isShort: boolean;
  readonly style: ElementStyle;
}

/** Where an element goes that is to be written, and how it is. */
interface NewPlace {
  readonly identity: Identity;
  readonly at: number;
  readonly style: ElementStyle;
}

/**
 * Finds the place of a new element among those of its section.
 *
 * @param order as {@link orderOf} tells it.
 * @param has whether something is among the elements, where that is known already.
 * @throws {EditError} when the section has it already.
 */
export function placeOfNew(
  element: Readonly<Record<string, Said>>,
  elements: readonly (Identity & Styled)[],
  order: SortedBy | undefined,
  base: ElementStyle,
  section: Section,
  has: (identity: Identity) => boolean = (identity) => elements.some((one) => isSameIdentity(one, identity)),
): NewPlace {
  const identity = identityOfElement(element, base);
  if (has(identity)) throw new EditError(`${quote(identity.subject)} is in its ${section} already`);
  const at = placeFor(identity.subject, elements, order);
  return { identity, at, style: neighbourStyle(element, elements, at, base) };
}

/** What an element declares that is to be written. */
function identityOfElement(element: Readonly<Record<string, Said>>, style: ElementStyle): Identity {
  const { [style.subjectKey]: subject, scope = DEFAULT_VERDICT_SCOPE } = element;
  if (subject === undefined) throw new EditError(`what is to be added has no ${style.subjectKey}`);
  return { subject: canonical(String(subject), style), scope: String(scope) };
}

/** The same of one that was read. */
export function identityOfData(data: unknown, style: ElementStyle): Identity {
  const text = (value: unknown): string | undefined =>
    value == null || typeof value === "object" ? undefined : String(value);
  const [subject, scope] = isMapping(data)
    ? [text(data[style.subjectKey]), text(data["scope"])]
    : [text(data)];
  return { subject: canonical(subject ?? "", style), scope: scope ?? DEFAULT_VERDICT_SCOPE };
}

/** Whether an element is keys and values, and no text alone. */
export function isMapping(data: unknown): data is Readonly<Record<string, unknown>> {
  return typeof data === "object" && data !== null && !Array.isArray(data);
}

/** A value or mailbox in canonical form. */
export function canonical(value: string, { subjectKey }: ElementStyle): string {
  return subjectKey === "email" ? canonicalMailbox(value) : canonicalValue(value);
}

/** Under which key a section names what it declares. */
export function subjectKeyOf(section: Section): "value" | "email" {
  return section === "vips" ? "email" : "value";
}

function isSameIdentity(one: Identity, other: Identity): boolean {
  return one.subject === other.subject && one.scope === other.scope;
}

/** By what elements are looked up: no value has white space in it. */
export function textOfIdentity({ subject, scope }: Identity): string {
  return `${subject} ${scope}`;
}

/**
 * Where an element is among those of its section.
 *
 * @throws {EditError} when it is not there, or more than once.
 */
export function indexOf(
  elements: readonly Identity[],
  value: string,
  scope: string | undefined,
  style: ElementStyle,
  section: Section,
): number {
  const subject = canonical(value, style);
  const isMeant = (one: Identity): boolean =>
    one.subject === subject && (scope === undefined || one.scope === scope);
  const at = elements.findIndex(isMeant);
  if (at < 0) throw new EditError(`${quote(value)} is not in its ${section}`);
  if (elements.findIndex((one, index) => index > at && isMeant(one)) >= 0) {
    throw new EditError(
      `${quote(value)} is in its ${section} more than once, and it was not said which is meant`,
    );
  }
  return at;
}

/** The key by which a section is sorted. */
export type SortedBy = (subject: string) => string;

/** What a section is sorted by, if it is. */
export function orderOf(elements: readonly Identity[]): SortedBy | undefined {
  if (elements.length < 2) return undefined;
  return [sortKey, (subject: string) => subject].find((keyOf) => {
    let before = "";
    return elements.every(({ subject }) => {
      const key = keyOf(subject);
      const isBehind = before <= key;
      before = key;
      return isBehind;
    });
  });
}

/** Where a new element goes: to its place where the section is sorted, else to the end. */
function placeFor(subject: string, elements: readonly Identity[], keyOf: SortedBy | undefined): number {
  if (keyOf === undefined) return elements.length;
  const key = keyOf(subject);
  let [low, high] = [0, elements.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (keyOf(elements[middle]?.subject ?? "") <= key) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** A new element is written as the one above it, or below; one that says more, as the nearest that does. */
function neighbourStyle(
  element: Readonly<Record<string, Said>>,
  elements: readonly Styled[],
  at: number,
  base: ElementStyle,
): ElementStyle {
  const neighbour = (elements[at - 1] ?? elements[at])?.style ?? base;
  if (Object.keys(element).length === 1) {
    return { ...neighbour, isShort: elements.length === 0 || elements.some(({ isShort }) => isShort) };
  }
  if (!neighbour.isShort) return neighbour;
  const above = elements.findLast(({ isShort }, index) => index < at && !isShort);
  const long = above ?? elements.find(({ isShort }, index) => index >= at && !isShort);
  return long === undefined ? neighbour : { ...long.style, column: neighbour.column };
}

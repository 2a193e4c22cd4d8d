import { isSeq, type Node } from "yaml";
import { DEFAULT_VERDICT_SCOPE } from "../model/assumptions";
import {
  detectElementStyle,
  type ElementStyle,
  type FieldValue,
  findCommaAfter,
  findLineEnd,
  formatFlowElement,
  removeFlowItem,
  setElementKey,
} from "./edit-element";
import { EditError } from "./edit-error";
import { findCommentsStart, getLineStart, parseForEdit } from "./edit-text";
import type { EditableSection, SectionName } from "./editable-section";
import { getElementIdentity, isMapping } from "./element-identity";
import { ElementList, type ListElement } from "./element-list";
import type { KeyLayout } from "./yaml-layout";
import type { YamlSource } from "./yaml-source";
import { formatYamlComment } from "./yaml-text";

interface FlowLocation extends Pick<EditableSection, "name" | "start" | "end"> {
  /** The text from `start` to the bracket. */
  readonly lead: string;
  readonly canHaveNotes: boolean;
}

/** An element in a flow sequence. Its style is parsed lazily. */
class FlowElement implements ListElement {
  readonly subject: string;
  scope: string;
  /** The text between the previous element, or the bracket, and this one: comma, white space and comments. */
  gap: string;
  readonly #base: ElementStyle;
  #text: string;
  #isShort: boolean | undefined;
  #style: ElementStyle | undefined;

  constructor(
    { subject, scope }: Pick<ListElement, "subject" | "scope">,
    gap: string,
    text: string,
    base: ElementStyle,
    isShort?: boolean,
  ) {
    this.subject = subject;
    this.scope = scope;
    this.gap = gap;
    this.#text = text;
    this.#isShort = isShort;
    this.#base = base;
  }

  get text(): string {
    return this.#text;
  }

  get isShort(): boolean {
    this.#isShort ??= this.style.isShort;
    return this.#isShort;
  }

  get style(): ElementStyle {
    this.#style ??= detectElementStyle(parseFlowNode(this.#text), wrapInBrackets(this.#text), this.#base);
    return this.#style;
  }

  set(key: string, newValue: FieldValue | undefined): void {
    const text = setElementKey(wrapInBrackets(this.#text), parseFlowNode(this.#text), key, newValue, this.#base);
    this.#text = text.slice(1, -1);
    this.#isShort = undefined;
    this.#style = undefined;
    if (key === "scope") this.scope = newValue === undefined ? DEFAULT_VERDICT_SCOPE : String(newValue);
  }
}

function wrapInBrackets(text: string): string {
  return `[${text}]`;
}

/** Parses the element of a text in {@link wrapInBrackets}. */
function parseFlowNode(text: string): Node {
  const sequence: unknown = parseForEdit(wrapInBrackets(text)).document.contents;
  const [node] = isSeq(sequence) ? sequence.items : [];
  if (node === undefined) throw new EditError("an element is written in a form that can't be edited");
  return node as Node;
}

export function parseFlowSection(
  location: FlowLocation,
  { text, value }: YamlSource,
  { value: span, items }: KeyLayout,
  base: ElementStyle,
): EditableSection {
  const data = (value as Readonly<Record<SectionName, readonly unknown[]>>)[location.name];
  const style = { ...base, isFlow: true };
  let offset = span.start + 1;
  const elements = items.map(({ start, end }, index) => {
    const elementData = data[index];
    const gap = text.slice(offset, start);
    offset = end;
    return new FlowElement(
      getElementIdentity(elementData, style),
      gap,
      text.slice(start, end),
      style,
      !isMapping(elementData),
    );
  });
  return new FlowSection(location, elements, text.slice(offset, span.end), style);
}

export class FlowSection implements EditableSection {
  readonly name: SectionName;
  readonly start: number;
  readonly end: number;
  readonly #location: FlowLocation;
  readonly #elements: ElementList<FlowElement>;
  readonly #style: ElementStyle;
  #notes = "";
  /** The text after the last element, including the bracket. */
  #trailingText: string;

  constructor(location: FlowLocation, elements: readonly FlowElement[], trailingText: string, style: ElementStyle) {
    this.name = location.name;
    this.start = location.start;
    this.end = location.end;
    this.#location = location;
    this.#style = { ...style, isFlow: true };
    this.#elements = new ElementList(location.name, this.#style, elements);
    this.#trailingText = trailingText;
  }

  add(element: Readonly<Record<string, FieldValue>>, yamlComment: string | undefined): void {
    const elements = this.#elements;
    const { identity, previous, next, style } = elements.findPosition(element, elements.getSortOrder());
    const text = formatFlowElement(element, { ...style, isFlow: true });
    const gap = this.#insertGap(yamlComment, previous, next);
    elements.insert(new FlowElement(identity, gap, text, this.#style), previous);
  }

  remove(value: string, scope: string | undefined): void {
    const elements = this.#elements;
    const element = elements.find(value, scope);
    const [previous, next] = [elements.previous(element), elements.next(element)];
    // Only the gaps next to an element matter, so a letter stands for its neighbours.
    const before = (previous === undefined ? "[" : "x") + element.gap;
    const end = before.length + element.text.length;
    const context = before + element.text + this.#getTextAfter(next);
    const remaining = removeFlowItem(context, before.length, end, previous === undefined ? undefined : 1);
    elements.remove(element);
    this.#setTextAfter(next, remaining.slice(1));
  }

  set(value: string, scope: string | undefined, key: string, newValue: FieldValue | undefined): void {
    this.#elements.find(value, scope).set(key, newValue);
  }

  render(): string {
    const elements = Array.from(this.#elements, ({ gap, text }) => gap + text).join("");
    return `${this.#notes}${this.#location.lead}[${elements}${this.#trailingText}`;
  }

  /** Returns the text after an element, up to the next one (represented by a letter) or including the bracket. */
  #getTextAfter(next: FlowElement | undefined): string {
    return next === undefined ? this.#trailingText : `${next.gap}x`;
  }

  #setTextAfter(next: FlowElement | undefined, text: string): void {
    if (next === undefined) this.#trailingText = text;
    else next.gap = text.slice(0, -1);
  }

  /** Notes go above the section if they can't have a line inside it. */
  #addNote(yamlComment: string | undefined): void {
    if (yamlComment !== undefined && this.#location.canHaveNotes) {
      this.#notes += formatYamlComment(yamlComment, 0, this.#style.lineEnd);
    }
  }

  /** Returns the text before a new element, and updates the text after it. */
  #insertGap(
    yamlComment: string | undefined,
    previous: FlowElement | undefined,
    next: FlowElement | undefined,
  ): string {
    const neighbour = previous ?? next;
    if (neighbour === undefined) {
      this.#addNote(yamlComment);
      return "";
    }
    const { lineEnd } = this.#style;
    const { gap } = neighbour;
    const indentation = gap.slice(getLineStart(gap, gap.length));
    const hasOwnLine = gap.includes("\n") && indentation.trim() === "";
    const comment = yamlComment === undefined ? "" : formatYamlComment(yamlComment, indentation.length, lineEnd);
    if (previous === undefined) {
      if (hasOwnLine) {
        const line = getLineStart(gap, gap.length);
        const at = findCommentsStart(gap, line, indentation.length, gap.indexOf("\n") + 1);
        neighbour.gap = `,${lineEnd}${gap.slice(at)}`;
        return gap.slice(0, at) + comment + indentation;
      }
      this.#addNote(yamlComment);
      neighbour.gap = ", ";
      return gap;
    }
    const textAfter = this.#getTextAfter(next);
    const comma = findCommaAfter(textAfter, 0);
    const lineEndOffset = findLineEnd(textAfter, 0);
    const startOffset = comma !== undefined && comma < lineEndOffset ? comma + 1 : 0;
    const isLastOfLine = /^\s*(?:#.*)?\r?\n$/.test(textAfter.slice(startOffset, lineEndOffset));
    if (hasOwnLine && isLastOfLine && (comma === undefined || comma < lineEndOffset)) {
      const [before, after] = comma === undefined ? [",", ""] : ["", ","];
      this.#setTextAfter(next, after + lineEnd + textAfter.slice(lineEndOffset));
      return before + textAfter.slice(0, lineEndOffset) + comment + indentation;
    }
    this.#addNote(yamlComment);
    return ", ";
  }
}

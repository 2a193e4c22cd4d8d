import { isSeq, type Node } from "yaml";
import { DEFAULT_VERDICT_SCOPE } from "../model/assumptions";
import { quote } from "../model/text";
import {
  detectElementStyle,
  type ElementStyle,
  type FieldValue,
  findLineEnd,
  formatBlockElement,
  getColumn,
  setElementKey,
} from "./edit-element";
import { EditError } from "./edit-error";
import { findCommentsEnd, findCommentsStart, getLineStart, parseForEdit } from "./edit-text";
import type { EditableSection, SectionName } from "./editable-section";
import { getElementIdentity, isMapping } from "./element-identity";
import { ElementList, type ListElement, type SortKey } from "./element-list";
import type { KeyLayout } from "./yaml-layout";
import type { YamlSource } from "./yaml-source";

/** An element of a block sequence, with its lines. */
interface BlockElement extends ListElement {
  scope: string;
  /** The text before it that doesn't belong to it: blank lines and separate comments. */
  textBefore: string;
  /** Its lines, with the comments above and inside. */
  text: string;
  /** The comment lines directly below that are indented more. They may be about the next element, so they outlive this one. */
  readonly commentsBelow: string;
}

/** An existing element. Its style is parsed lazily, when a new element copies it. */
class ExistingElement implements BlockElement {
  readonly subject: string;
  scope: string;
  textBefore: string;
  text: string;
  readonly commentsBelow: string;
  readonly isShort: boolean;
  readonly #base: ElementStyle;
  #style: ElementStyle | undefined;

  constructor(
    data: unknown,
    { textBefore, text, commentsBelow }: Pick<BlockElement, "textBefore" | "text" | "commentsBelow">,
    base: ElementStyle,
  ) {
    const { subject, scope } = getElementIdentity(data, base);
    this.subject = subject;
    this.scope = scope;
    this.textBefore = textBefore;
    this.text = text;
    this.commentsBelow = commentsBelow;
    this.isShort = !isMapping(data);
    this.#base = base;
  }

  get style(): ElementStyle {
    this.#style ??= detectElementStyle(parseElement(this.text), this.text, this.#base);
    return this.#style;
  }
}

function parseElement(text: string): Node {
  const sequence: unknown = parseForEdit(text).document.contents;
  const [node] = isSeq(sequence) ? sequence.items : [];
  if (node !== undefined) return node as Node;
  const [lineStart = ""] = text.trim().split("\n");
  throw new EditError(`${quote(lineStart)} is written in a form that can't be edited`);
}

export function parseBlockSection(
  name: SectionName,
  { text, value }: YamlSource,
  { key, column, items }: KeyLayout,
  base: ElementStyle,
): EditableSection {
  const data = (value as Readonly<Record<SectionName, readonly unknown[]>>)[name];
  const style = { ...base, column };
  const dash = new RegExp(`^ {${column}}-(?=\\s|$)`);
  const colonOffset = text.indexOf(":", key.end) + 1;
  const start = getLineStart(text, key.start);
  const headerEnd = findLineEnd(text, colonOffset);
  let offset = headerEnd;
  const elements = items.map((item, index): BlockElement => {
    let lineStart = getLineStart(text, item.start);
    while (lineStart >= offset && !dash.test(text.slice(lineStart, lineStart + column + 2)))
      lineStart = getLineStart(text, lineStart - 1);
    if (lineStart < offset)
      throw new EditError(`its ${name} section is written in a form that can't be edited line by line`);
    const startOffset = findCommentsStart(text, lineStart, column, offset);
    const { end } = item;
    const nodeEnd = text[end - 1] === "\n" ? end : findLineEnd(text, end);
    // Only a comment in the column of an element's keys is certainly inside the element.
    const isBlockMapping = isMapping(data[index]) && text[item.start] !== "{";
    const elementEnd = isBlockMapping ? findCommentsEnd(text, nodeEnd, getColumn(text, item.start) - 1) : nodeEnd;
    const endOffset = findCommentsEnd(text, elementEnd, column);
    const element = new ExistingElement(
      data[index],
      {
        textBefore: text.slice(offset, startOffset),
        text: text.slice(startOffset, elementEnd),
        commentsBelow: text.slice(elementEnd, endOffset),
      },
      style,
    );
    offset = endOffset;
    return element;
  });
  const location = {
    name,
    start,
    end: offset,
    head: text.slice(start, headerEnd),
    colonOffset: colonOffset - start,
    original: text.slice(start, offset),
  };
  return new BlockSection(location, elements, style);
}

interface BlockLocation extends Pick<EditableSection, "name" | "start" | "end"> {
  /** The line with the section key, and the offset after the colon. */
  readonly head: string;
  readonly colonOffset: number;
  readonly original: string;
}

export class BlockSection implements EditableSection {
  readonly name: SectionName;
  readonly start: number;
  readonly end: number;
  readonly #location: BlockLocation;
  readonly #elements: ElementList<BlockElement>;
  readonly #style: ElementStyle;
  /** The text after the last element that doesn't belong to it. */
  #trailingText = "";
  #isModified = false;
  #sortKey: SortKey | undefined | "unknown" = "unknown";

  constructor(location: BlockLocation, elements: readonly BlockElement[], style: ElementStyle) {
    this.name = location.name;
    this.start = location.start;
    this.end = location.end;
    this.#location = location;
    this.#elements = new ElementList(location.name, style, elements);
    this.#style = style;
  }

  add(element: Readonly<Record<string, FieldValue>>, yamlComment: string | undefined): void {
    const elements = this.#elements;
    if (this.#sortKey === "unknown") this.#sortKey = elements.getSortOrder();
    const { identity, previous, next, style } = elements.findPosition(element, this.#sortKey);
    let textBefore = "";
    if (previous === undefined && next !== undefined) {
      textBefore = next.textBefore;
      next.textBefore = "";
    } else if (
      previous !== undefined &&
      isBlank(previous.textBefore) &&
      (next === undefined || isBlank(next.textBefore)) &&
      elements.previous(previous) !== undefined
    ) {
      textBefore = style.lineEnd;
    }
    const text = formatBlockElement(element, yamlComment, style);
    const isShort = Object.keys(element).length === 1;
    elements.insert(
      { ...identity, textBefore: textBefore, text, commentsBelow: "", isShort, style: { ...style, isShort } },
      previous,
    );
    this.#isModified = true;
  }

  remove(value: string, scope: string | undefined): void {
    const element = this.#elements.find(value, scope);
    const next = this.#elements.next(element);
    this.#elements.remove(element);
    const remaining = element.textBefore + element.commentsBelow;
    if (next === undefined) this.#trailingText = remaining + this.#trailingText;
    else next.textBefore = remaining + next.textBefore;
    this.#isModified = true;
  }

  set(value: string, scope: string | undefined, key: string, newValue: FieldValue | undefined): void {
    const element = this.#elements.find(value, scope);
    element.text = setElementKey(element.text, parseElement(element.text), key, newValue, this.#style);
    if (key === "scope") element.scope = newValue === undefined ? DEFAULT_VERDICT_SCOPE : String(newValue);
    this.#isModified = true;
  }

  render(): string {
    const { head, colonOffset, original } = this.#location;
    if (!this.#isModified) return original;
    if (this.#elements.size === 0)
      return `${head.slice(0, colonOffset)} []${head.slice(colonOffset)}${this.#trailingText}`;
    return (
      head +
      Array.from(this.#elements, ({ textBefore, text, commentsBelow }) => textBefore + text + commentsBelow).join("") +
      this.#trailingText
    );
  }
}

function isBlank(textBefore: string | undefined): boolean {
  return textBefore === "\n" || textBefore === "\r\n";
}

import { isSeq, type Node } from "yaml";
import { DEFAULT_VERDICT_SCOPE } from "../settings/assumptions";
import {
  commaAfter,
  type ElementStyle,
  flowElement,
  lineEndAfter,
  type Said,
  setInElement,
  styleOf,
  withoutFlowItem,
} from "./edit-element";
import { EditError } from "./edit-error";
import { identityOfData, isMapping } from "./edit-identity";
import type { Section, SectionText } from "./edit-section";
import { aboveComments, lineStartOf, readForEdit } from "./edit-text";
import { ElementList, type ListElement } from "./element-list";
import type { LaidOut } from "./yaml-layout";
import type { YamlSource } from "./yaml-source";
import { yamlComment } from "./yaml-text";

interface FlowPlace extends Pick<SectionText, "name" | "start" | "end"> {
  /** The text from `start` to the bracket. */
  readonly lead: string;
  readonly mayHaveNotes: boolean;
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
    this.#style ??= styleOf(nodeIn(this.#text), bracketed(this.#text), this.#base);
    return this.#style;
  }

  set(key: string, to: Said | undefined): void {
    const text = setInElement(bracketed(this.#text), nodeIn(this.#text), key, to, this.#base);
    this.#text = text.slice(1, -1);
    this.#isShort = undefined;
    this.#style = undefined;
    if (key === "scope") this.scope = to === undefined ? DEFAULT_VERDICT_SCOPE : String(to);
  }
}

function bracketed(text: string): string {
  return `[${text}]`;
}

/** Parses the element of a text in {@link bracketed}. */
function nodeIn(text: string): Node {
  const sequence: unknown = readForEdit(bracketed(text)).document.contents;
  const [node] = isSeq(sequence) ? sequence.items : [];
  if (node === undefined) throw new EditError("an element is written in a way that can't be changed");
  return node as Node;
}

/** Parses a section in flow style. */
export function flowSection(
  place: FlowPlace,
  { text, value }: YamlSource,
  { value: span, items }: LaidOut,
  base: ElementStyle,
): SectionText {
  const data = (value as Readonly<Record<Section, readonly unknown[]>>)[place.name];
  const style = { ...base, isFlow: true };
  let at = span.start + 1;
  const elements = items.map(({ start, end }, index) => {
    const one = data[index];
    const gap = text.slice(at, start);
    at = end;
    return new FlowElement(identityOfData(one, style), gap, text.slice(start, end), style, !isMapping(one));
  });
  return new FlowSection(place, elements, text.slice(at, span.end), style);
}

export class FlowSection implements SectionText {
  readonly name: Section;
  readonly start: number;
  readonly end: number;
  readonly #place: FlowPlace;
  readonly #elements: ElementList<FlowElement>;
  readonly #style: ElementStyle;
  #notes = "";
  /** The text after the last element, including the bracket. */
  #rest: string;

  constructor(place: FlowPlace, elements: readonly FlowElement[], rest: string, style: ElementStyle) {
    this.name = place.name;
    this.start = place.start;
    this.end = place.end;
    this.#place = place;
    this.#style = { ...style, isFlow: true };
    this.#elements = new ElementList(place.name, this.#style, elements);
    this.#rest = rest;
  }

  add(element: Readonly<Record<string, Said>>, note: string | undefined): void {
    const elements = this.#elements;
    const { identity, previous, next, style } = elements.positionOf(element, elements.order());
    const text = flowElement(element, { ...style, isFlow: true });
    const gap = this.#gapFor(note, previous, next);
    elements.insert(new FlowElement(identity, gap, text, this.#style), previous);
  }

  remove(value: string, scope: string | undefined): void {
    const elements = this.#elements;
    const one = elements.find(value, scope);
    const [previous, next] = [elements.previous(one), elements.next(one)];
    // Only the gaps next to an element matter, so a letter stands for its neighbours.
    const before = (previous === undefined ? "[" : "x") + one.gap;
    const end = before.length + one.text.length;
    const around = before + one.text + this.#behind(next);
    const left = withoutFlowItem(around, before.length, end, previous === undefined ? undefined : 1);
    elements.remove(one);
    this.#setBehind(next, left.slice(1));
  }

  set(value: string, scope: string | undefined, key: string, to: Said | undefined): void {
    const one = this.#elements.find(value, scope);
    one.set(key, to);
    this.#elements.restyled(one);
  }

  text(): string {
    const elements = Array.from(this.#elements, ({ gap, text }) => gap + text).join("");
    return `${this.#notes}${this.#place.lead}[${elements}${this.#rest}`;
  }

  /** Returns the text after an element, up to the next one (represented by a letter) or including the bracket. */
  #behind(next: FlowElement | undefined): string {
    return next === undefined ? this.#rest : `${next.gap}x`;
  }

  #setBehind(next: FlowElement | undefined, text: string): void {
    if (next === undefined) this.#rest = text;
    else next.gap = text.slice(0, -1);
  }

  /** Notes go above the section if they can't have a line inside it. */
  #note(note: string | undefined): void {
    if (note !== undefined && this.#place.mayHaveNotes) {
      this.#notes += yamlComment(note, 0, this.#style.lineEnd);
    }
  }

  /** Returns the text before a new element, and updates the text after it. */
  #gapFor(
    note: string | undefined,
    previous: FlowElement | undefined,
    next: FlowElement | undefined,
  ): string {
    const neighbour = previous ?? next;
    if (neighbour === undefined) {
      this.#note(note);
      return "";
    }
    const { lineEnd } = this.#style;
    const { gap } = neighbour;
    const pad = gap.slice(lineStartOf(gap, gap.length));
    const hasOwnLine = gap.includes("\n") && pad.trim() === "";
    const above = note === undefined ? "" : yamlComment(note, pad.length, lineEnd);
    if (previous === undefined) {
      if (hasOwnLine) {
        const line = lineStartOf(gap, gap.length);
        const at = aboveComments(gap, line, pad.length, gap.indexOf("\n") + 1);
        neighbour.gap = `,${lineEnd}${gap.slice(at)}`;
        return gap.slice(0, at) + above + pad;
      }
      this.#note(note);
      neighbour.gap = ", ";
      return gap;
    }
    const behind = this.#behind(next);
    const comma = commaAfter(behind, 0);
    const lineUntil = lineEndAfter(behind, 0);
    const from = comma !== undefined && comma < lineUntil ? comma + 1 : 0;
    const isLastOfLine = /^\s*(?:#.*)?\r?\n$/.test(behind.slice(from, lineUntil));
    if (hasOwnLine && isLastOfLine && (comma === undefined || comma < lineUntil)) {
      const [before, after] = comma === undefined ? [",", ""] : ["", ","];
      this.#setBehind(next, after + lineEnd + behind.slice(lineUntil));
      return before + behind.slice(0, lineUntil) + above + pad;
    }
    this.#note(note);
    return ", ";
  }
}

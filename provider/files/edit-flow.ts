import { isMap, isSeq, type Node } from "yaml";
import {
  commaAfter,
  type ElementStyle,
  endOf,
  flowElement,
  lineEndAfter,
  rangeOf,
  type Said,
  setInElement,
  splice,
  styleOf,
  withoutFlowItem,
} from "./edit-element";
import { EditError } from "./edit-error";
import { identityOf, indexOf, orderOf, placeOfNew } from "./edit-identity";
import type { Section, SectionText } from "./edit-section";
import { aboveComments, lineStartOf, readForEdit } from "./edit-text";
import { yamlComment } from "./yaml-text";

/** A section whose elements stand between brackets. */
export class FlowSection implements SectionText {
  readonly name: Section;
  readonly start: number;
  readonly end: number;
  readonly #lead: string;
  readonly #mayHaveNotes: boolean;
  readonly #style: ElementStyle;
  #notes = "";
  #text: string;

  /**
   * @param lead what stands before the bracket, from `start` on.
   * @param text from bracket to bracket.
   */
  constructor(
    name: Section,
    start: number,
    end: number,
    lead: string,
    text: string,
    mayHaveNotes: boolean,
    style: ElementStyle,
  ) {
    this.name = name;
    this.start = start;
    this.end = end;
    this.#lead = lead;
    this.#text = text;
    this.#mayHaveNotes = mayHaveNotes;
    this.#style = { ...style, isFlow: true };
  }

  add(element: Readonly<Record<string, Said>>, note: string | undefined): void {
    const items = this.#items();
    const known = items.map((node) => ({
      ...identityOf(node, this.#style),
      isShort: !isMap(node),
      style: styleOf(node, this.#text, this.#style),
    }));
    const { at, style } = placeOfNew(element, known, orderOf(known), this.#style, this.name);
    const text = flowElement(element, { ...style, isFlow: true });
    const neighbour = items[at - 1] ?? items[at];
    if (neighbour === undefined) {
      this.#note(note);
      this.#text = `[${text}${this.#text.slice(1)}`;
    } else {
      this.#insert(text, note, items[at - 1], neighbour);
    }
  }

  remove(value: string, scope: string | undefined): void {
    const items = this.#items();
    const identities = items.map((node) => identityOf(node, this.#style));
    const at = indexOf(identities, value, scope, this.#style, this.name);
    const node = items[at];
    if (node === undefined) return;
    const previous = items[at - 1];
    this.#text = withoutFlowItem(this.#text, rangeOf(node)[0], endOf(node), previous && endOf(previous));
  }

  set(value: string, scope: string | undefined, key: string, to: Said | undefined): void {
    const items = this.#items();
    const identities = items.map((node) => identityOf(node, this.#style));
    const node = items[indexOf(identities, value, scope, this.#style, this.name)];
    if (node !== undefined) this.#text = setInElement(this.#text, node, key, to, this.#style);
  }

  text(): string {
    return this.#notes + this.#lead + this.#text;
  }

  #items(): Node[] {
    const sequence: unknown = readForEdit(this.#text).document.contents;
    if (!isSeq(sequence)) throw new EditError(`its ${this.name} is written in a way that can't be changed`);
    return sequence.items as Node[];
  }

  /** Above the section, where a line of its own has no place in it. */
  #note(note: string | undefined): void {
    if (note !== undefined && this.#mayHaveNotes) this.#notes += yamlComment(note, 0, this.#style.lineEnd);
  }

  #insert(item: string, note: string | undefined, previous: Node | undefined, neighbour: Node): void {
    const text = this.#text;
    const { lineEnd } = this.#style;
    const start = rangeOf(neighbour)[0];
    const lineStart = lineStartOf(text, start);
    const pad = text.slice(lineStart, start);
    const hasOwnLine = lineStart > 0 && pad.trim() === "";
    const above = note === undefined ? "" : yamlComment(note, pad.length, lineEnd);
    if (previous === undefined) {
      if (hasOwnLine) {
        const at = aboveComments(text, lineStart, pad.length, text.indexOf("\n") + 1);
        this.#text = splice(text, at, at, `${above}${pad}${item},${lineEnd}`);
      } else {
        this.#note(note);
        this.#text = splice(text, start, start, `${item}, `);
      }
      return;
    }
    const end = endOf(previous);
    const comma = commaAfter(text, end);
    const lineUntil = lineEndAfter(text, end);
    const behind = comma !== undefined && comma < lineUntil ? comma + 1 : end;
    const isLastOfLine = /^\s*(?:#.*)?\r?\n$/.test(text.slice(behind, lineUntil));
    if (hasOwnLine && isLastOfLine && (comma === undefined || comma < lineUntil)) {
      const line = `${above}${pad}${item}${comma === undefined ? "" : ","}${lineEnd}`;
      const longer = splice(text, lineUntil, lineUntil, line);
      this.#text = comma === undefined ? splice(longer, end, end, ",") : longer;
    } else {
      this.#note(note);
      this.#text = splice(text, end, end, `, ${item}`);
    }
  }
}

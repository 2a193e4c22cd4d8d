import { isDeepStrictEqual } from "node:util";
import { isMap, isScalar, isSeq, type Node, type Pair, type YAMLMap, type YAMLSeq } from "yaml";
import { DEFAULT_VERDICT_SCOPE } from "../settings/assumptions";
import { EmailSecurityError } from "../settings/email-security-error";
import { canonicalMailbox, canonicalValue } from "../settings/entry-value";
import { quote } from "../settings/text";
import {
  blockElement,
  columnOf,
  commaAfter,
  type ElementStyle,
  endOf,
  type FIELDS,
  flowElement,
  keyName,
  lineEndAfter,
  rangeOf,
  setInElement,
  splice,
  styleOf,
  withoutFlowItem,
} from "./edit-element";
import { findingText } from "./finding";
import { sortKey } from "./sort-key";
import { readYaml, type YamlSource } from "./yaml-source";
import { yamlComment } from "./yaml-text";

/** The sections of a settings file that declare something. */
export type Section = "vips" | "allow" | "deny";

/** What an element of a section says: `value`, or `email` of a VIP, and what else is said of it. */
export type Element = Readonly<Record<string, string>>;

/** One change of a settings file. An element is named by its value, as somebody wrote it or in canonical form. */
export type Edit =
  | {
      readonly do: "add";
      readonly section: Section;
      readonly element: Element;
      /** A comment of YAML above it. Not written where there is no place for one, as within JSON. */
      readonly note?: string;
    }
  | {
      readonly do: "remove";
      readonly section: Section;
      readonly value: string;
      /** The verdict scope, where the section has the value in several. */
      readonly scope?: string;
    }
  | {
      readonly do: "set";
      readonly section: Section;
      readonly value: string;
      readonly scope?: string;
      readonly key: (typeof FIELDS)[number];
      /** Undefined takes the key away. */
      readonly to: string | undefined;
    };

/** Where a section that is missing is put, among those that are there. */
const SECTIONS: readonly Section[] = ["vips", "allow", "deny"];

/**
 * Changes the text of one settings file and leaves all else in it as it is, byte for byte: comments, blank lines, order,
 * quotes, indentation, line ends. What is new is written as its neighbours are, at its place where the section is
 * sorted, else at the end of it; a section that is missing is added. An element goes with the comment lines directly
 * above it and with those in it. The result is read again: it says exactly what the edits ask for.
 *
 * @param text the file as it is; what it includes is not looked at.
 * @throws {EmailSecurityError} (`ERR_SETTINGS_EDIT`) when the file can't be read, when an edit names what is not there
 * (or adds what is), or when it is written in a way that can't be changed piece by piece.
 */
export function editSettings(text: string, edits: readonly Edit[]): string {
  if (edits.length === 0) return text;
  const mark = text.startsWith("\uFEFF") ? "\uFEFF" : "";
  const body = text.slice(mark.length);
  const lineEnd = body.includes("\r\n") ? "\r\n" : "\n";
  // Within, every line has an end, so that another one can follow it.
  const isOpen = body !== "" && !body.endsWith("\n");
  const before = read(isOpen ? body + lineEnd : body);
  const file = new EditedFile(before, lineEnd);
  for (const edit of edits) file.apply(edit);
  const edited = isOpen ? file.text().replace(/\r?\n$/, "") : file.text();
  check(isOpen ? read(body) : before, edits, edited);
  return mark + edited;
}

function read(text: string): YamlSource {
  const source = readYaml(text, "the file");
  const mistake = source.findings.find(({ level }) => level === "error");
  if (mistake !== undefined) throw new EditError(`it can't be read: ${findingText(mistake)}`);
  return source;
}

class EditError extends EmailSecurityError {
  constructor(reason: string) {
    super("ERR_SETTINGS_EDIT", `The settings file can't be edited, and nothing was written: ${reason}.`);
  }
}

/** A settings file in pieces: sections that can be edited, and the text between them. */
class EditedFile {
  readonly #pieces: (string | SectionText)[] = [];
  readonly #style: ElementStyle;
  readonly #isFlow: boolean;

  constructor({ text, document }: YamlSource, lineEnd: string) {
    const root: unknown = document.contents;
    const map = isMap(root) ? root : undefined;
    if (map === undefined && root !== null && !(isScalar(root) && root.value === null)) {
      throw new EditError("it is no mapping of keys and values");
    }
    this.#isFlow = map?.flow === true;
    this.#style = baseStyle(text, map, lineEnd);
    let at = 0;
    for (const pair of map?.items ?? []) {
      const name = SECTIONS.find((one) => one === keyName(pair.key));
      if (name === undefined) continue;
      const section = sectionOf(name, text, pair as Pair, this.#isFlow, this.#styleOf(name));
      this.#pieces.push(text.slice(at, section.start), section);
      at = section.end;
    }
    this.#pieces.push(text.slice(at));
  }

  apply(edit: Edit): void {
    const section = this.#section(edit.section);
    if (edit.do === "add") {
      (section ?? this.#newSection(edit.section)).add(edit.element, edit.note);
      return;
    }
    if (section === undefined) throw new EditError(`${quote(edit.value)} is not in its ${edit.section}`);
    if (edit.do === "remove") section.remove(edit.value, edit.scope);
    else section.set(edit.value, edit.scope, edit.key, edit.to);
  }

  text(): string {
    return this.#pieces.map((piece) => (typeof piece === "string" ? piece : piece.text())).join("");
  }

  #styleOf(name: Section): ElementStyle {
    return { ...this.#style, subjectKey: subjectKeyOf(name) };
  }

  #section(name: Section): SectionText | undefined {
    for (const piece of this.#pieces) if (typeof piece !== "string" && piece.name === name) return piece;
    return undefined;
  }

  /** Behind the sections that come before it, else before those that come after, else at the end. */
  #newSection(name: Section): SectionText {
    const text = this.text();
    const root: unknown = read(text).document.contents;
    const pairs = isMap(root) ? (root.items as Pair[]) : [];
    const { lineEnd, isJson } = this.#style;
    if (this.#isFlow) {
      const last = pairs.at(-1);
      const at = last === undefined ? rangeOf(root as Node)[0] + 1 : endOf((last.value ?? last.key) as Node);
      const lead = last === undefined ? "" : `,${leadOf(text, rangeOf(last.key as Node)[0], lineEnd)}`;
      const key = isJson ? JSON.stringify(name) : name;
      return this.#insert(new FlowSection(name, at, at, `${lead}${key}: `, "[]", false, this.#styleOf(name)));
    }
    const place = SECTIONS.indexOf(name);
    const placeOf = ({ key }: Pair): number => (SECTIONS as readonly string[]).indexOf(keyName(key));
    const previous = pairs.findLast((pair) => placeOf(pair) >= 0 && placeOf(pair) < place);
    const next = previous === undefined ? pairs.find((pair) => placeOf(pair) > place) : undefined;
    const behind = previous ?? pairs.at(-1);
    const at =
      next !== undefined
        ? aboveComments(text, lineStartOf(text, rangeOf(next.key as Node)[0]), 0, 0)
        : behind === undefined
          ? text.length
          : behindPair(text, behind);
    const isFirst = text.slice(0, at).trim() === "";
    const head = `${name}:${lineEnd}`;
    const section = new BlockSection(
      { name, start: at, end: at, head, colon: name.length + 1, original: "" },
      [],
      this.#styleOf(name),
    );
    const isLast = next === undefined;
    return this.#insert(section, isLast && !isFirst ? lineEnd : "", isLast ? "" : lineEnd);
  }

  /** Puts a new section at its place in the text as it is now, which lies between the others. */
  #insert(section: SectionText, before = "", after = ""): SectionText {
    let at = 0;
    for (const [index, piece] of this.#pieces.entries()) {
      const { length } = typeof piece === "string" ? piece : piece.text();
      const isIn = section.start >= at && section.start <= at + length;
      if (typeof piece === "string" && isIn) {
        const cut = section.start - at;
        this.#pieces.splice(index, 1, piece.slice(0, cut) + before, section, after + piece.slice(cut));
        return section;
      }
      // What a section keeps of the lines behind its last element belongs to it.
      if (isIn && section.start < at + length) {
        this.#pieces.splice(index + 1, 0, before, section, after);
        return section;
      }
      at += length;
    }
    throw new EditError(`there is no place for ${section.name}`);
  }
}

/** How elements are written where no neighbour shows it: indented as in another section. */
function baseStyle(text: string, map: YAMLMap | undefined, lineEnd: string): ElementStyle {
  const first = map?.items[0]?.key;
  const isJson = map?.flow === true && isScalar(first) && first.type === "QUOTE_DOUBLE";
  const sequence = map?.items.map(({ value }) => value).find((value) => isSeq(value) && value.flow !== true);
  return {
    subjectKey: "value",
    column: isSeq(sequence) ? columnOf(text, rangeOf(sequence)[0]) : 2,
    dashWidth: 2,
    isShort: true,
    isFlow: false,
    quotes: isJson ? { value: "double", email: "double" } : {},
    isJson,
    lineEnd,
  };
}

/** One section, as it is edited. */
interface SectionText {
  readonly name: Section;
  /** What of the file it takes the place of. */
  readonly start: number;
  readonly end: number;
  add(element: Element, note: string | undefined): void;
  remove(value: string, scope: string | undefined): void;
  set(value: string, scope: string | undefined, key: string, to: string | undefined): void;
  text(): string;
}

function sectionOf(
  name: Section,
  text: string,
  pair: Pair,
  isFlow: boolean,
  style: ElementStyle,
): SectionText {
  const key = pair.key as Node;
  const { value } = pair;
  const start = isFlow ? rangeOf(key)[0] : lineStartOf(text, rangeOf(key)[0]);
  if (isSeq(value) && value.flow !== true) return blockSection(name, text, key, value, style);
  const isNothing = value === null || (isScalar(value) && value.value === null);
  if (!isSeq(value) && !isNothing) throw new EditError(`its ${name} is no list`);
  const [from, until] = value === null ? [rangeOf(key)[1], rangeOf(key)[1]] : rangeOf(value as Node);
  const written = text.slice(from, until);
  if (!isFlow && (isNothing || /^\[\s*\]$/.test(written)) && !written.includes("\n")) {
    const end = lineEndAfter(text, until);
    const colon = text.indexOf(":", rangeOf(key)[1]) + 1;
    const head = text.slice(start, colon) + text.slice(until, end);
    const place = { name, start, end, head, colon: colon - start, original: text.slice(start, end) };
    return new BlockSection(place, [], style);
  }
  if (isNothing) throw new EditError(`its ${name} is empty; write [] for none`);
  return new FlowSection(name, start, until, text.slice(start, from), written, !isFlow, style);
}

/** One element of a block, with its lines. */
interface BlockElement {
  readonly subject: string;
  scope: string;
  /** What stands before it and is not its own: blank lines, and comments apart from it. */
  gap: string;
  /** Its lines, with the comments above and in it. */
  text: string;
  readonly style: ElementStyle;
}

function blockSection(
  name: Section,
  text: string,
  key: Node,
  sequence: YAMLSeq,
  base: ElementStyle,
): SectionText {
  const column = columnOf(text, rangeOf(sequence)[0]);
  const style = { ...base, column };
  const dash = new RegExp(`^ {${column}}-(?=\\s|$)`);
  const colon = text.indexOf(":", rangeOf(key)[1]) + 1;
  const start = lineStartOf(text, rangeOf(key)[0]);
  const headEnd = lineEndAfter(text, colon);
  let at = headEnd;
  const elements = sequence.items.map((item): BlockElement => {
    const node = item as Node;
    let line = lineStartOf(text, rangeOf(node)[0]);
    while (line >= at && !dash.test(text.slice(line, line + column + 2))) line = lineStartOf(text, line - 1);
    if (line < at) throw new EditError(`its ${name} is written in a way that can't be changed line by line`);
    const from = aboveComments(text, line, column, at);
    const end = endOf(node);
    const until = behindComments(text, text[end - 1] === "\n" ? end : lineEndAfter(text, end), column);
    const element = {
      ...identityOf(node, style),
      gap: text.slice(at, from),
      text: text.slice(from, until),
      style: styleOf(node, text, style),
    };
    at = until;
    return element;
  });
  const place = {
    name,
    start,
    end: at,
    head: text.slice(start, headEnd),
    colon: colon - start,
    original: text.slice(start, at),
  };
  return new BlockSection(place, elements, style);
}

/** Where a section stands in the file. */
interface SectionPlace extends Pick<SectionText, "name" | "start" | "end"> {
  /** The line of its key, and where the colon of that ends. */
  readonly head: string;
  readonly colon: number;
  readonly original: string;
}

class BlockSection implements SectionText {
  readonly name: Section;
  readonly start: number;
  readonly end: number;
  readonly #place: SectionPlace;
  readonly #elements: BlockElement[];
  readonly #style: ElementStyle;
  /** What stands behind the last element and is not its own. */
  #rest = "";
  #isTouched = false;
  #order: SortedBy | undefined | "unknown" = "unknown";

  constructor(place: SectionPlace, elements: BlockElement[], style: ElementStyle) {
    this.name = place.name;
    this.start = place.start;
    this.end = place.end;
    this.#place = place;
    this.#elements = elements;
    this.#style = style;
  }

  add(element: Element, note: string | undefined): void {
    const elements = this.#elements;
    const identity = identityOfElement(element, this.#style);
    refuseTwice(elements, identity, this.name);
    if (this.#order === "unknown") this.#order = orderOf(elements);
    const at = placeFor(identity.subject, elements, this.#order);
    const style = neighbourStyle(element, elements, at, this.#style);
    const next = elements[at];
    let gap = "";
    if (at === 0 && next !== undefined) {
      gap = next.gap;
      next.gap = "";
    } else if (at > 1 && isBlank(elements[at - 1]?.gap) && (next === undefined || isBlank(next.gap))) {
      gap = style.lineEnd;
    }
    const text = blockElement(element, note, style);
    elements.splice(at, 0, {
      ...identity,
      gap,
      text,
      style: { ...style, isShort: Object.keys(element).length === 1 },
    });
    this.#isTouched = true;
  }

  remove(value: string, scope: string | undefined): void {
    const at = indexOf(this.#elements, value, scope, this.#style, this.name);
    const [{ gap } = { gap: "" }] = this.#elements.splice(at, 1);
    const next = this.#elements[at];
    if (next === undefined) this.#rest = gap + this.#rest;
    else next.gap = gap + next.gap;
    this.#isTouched = true;
  }

  set(value: string, scope: string | undefined, key: string, to: string | undefined): void {
    const at = indexOf(this.#elements, value, scope, this.#style, this.name);
    const element = this.#elements[at];
    if (element === undefined) return;
    const sequence: unknown = read(element.text).document.contents;
    if (!isSeq(sequence)) throw new EditError(`${quote(value)} is written in a way that can't be changed`);
    element.text = setInElement(element.text, sequence.items[0] as Node, key, to, this.#style);
    if (key === "scope") element.scope = to ?? DEFAULT_VERDICT_SCOPE;
    this.#isTouched = true;
  }

  text(): string {
    const { head, colon, original } = this.#place;
    if (!this.#isTouched) return original;
    if (this.#elements.length === 0) return `${head.slice(0, colon)} []${head.slice(colon)}${this.#rest}`;
    return head + this.#elements.map(({ gap, text }) => gap + text).join("") + this.#rest;
  }
}

class FlowSection implements SectionText {
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

  add(element: Element, note: string | undefined): void {
    const items = this.#items();
    const known = items.map((node) => ({
      ...identityOf(node, this.#style),
      style: styleOf(node, this.#text, this.#style),
    }));
    const identity = identityOfElement(element, this.#style);
    refuseTwice(known, identity, this.name);
    const at = placeFor(identity.subject, known, orderOf(known));
    const style = neighbourStyle(element, known, at, this.#style);
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

  set(value: string, scope: string | undefined, key: string, to: string | undefined): void {
    const items = this.#items();
    const identities = items.map((node) => identityOf(node, this.#style));
    const node = items[indexOf(identities, value, scope, this.#style, this.name)];
    if (node !== undefined) this.#text = setInElement(this.#text, node, key, to, this.#style);
  }

  text(): string {
    return this.#notes + this.#lead + this.#text;
  }

  #items(): Node[] {
    const sequence: unknown = read(this.#text).document.contents;
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

/** What an element declares, as edits name it. */
interface Identity {
  readonly subject: string;
  readonly scope: string;
}

function identityOf(node: Node, style: ElementStyle): Identity {
  const text = (value: unknown): string | undefined =>
    isScalar(value) && value.value !== null ? String(value.value) : undefined;
  const [subject, scope] = isMap(node)
    ? [text(node.get(style.subjectKey, true)), text(node.get("scope", true))]
    : [text(node), undefined];
  return { subject: canonical(subject ?? "", style), scope: scope ?? DEFAULT_VERDICT_SCOPE };
}

function identityOfElement(element: Element, style: ElementStyle): Identity {
  const subject = element[style.subjectKey];
  if (subject === undefined) throw new EditError(`what is to be added has no ${style.subjectKey}`);
  return { subject: canonical(subject, style), scope: element["scope"] ?? DEFAULT_VERDICT_SCOPE };
}

function canonical(value: string, { subjectKey }: ElementStyle): string {
  return subjectKey === "email" ? canonicalMailbox(value) : canonicalValue(value);
}

function subjectKeyOf(section: Section): "value" | "email" {
  return section === "vips" ? "email" : "value";
}

function refuseTwice(elements: readonly Identity[], { subject, scope }: Identity, section: Section): void {
  if (elements.some((one) => one.subject === subject && one.scope === scope)) {
    throw new EditError(`${quote(subject)} is in its ${section} already`);
  }
}

function indexOf(
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

type SortedBy = (subject: string) => string;

/** What a section is sorted by, if it is. */
function orderOf(elements: readonly Identity[]): SortedBy | undefined {
  if (elements.length < 2) return undefined;
  return [sortKey, (subject: string) => subject].find((keyOf) => {
    const keys = elements.map(({ subject }) => keyOf(subject));
    return keys.every((key, at) => at === 0 || (keys[at - 1] ?? "") <= key);
  });
}

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
  element: Element,
  elements: readonly { readonly style: ElementStyle }[],
  at: number,
  base: ElementStyle,
): ElementStyle {
  const neighbour = (elements[at - 1] ?? elements[at])?.style ?? base;
  if (Object.keys(element).length === 1) {
    return { ...neighbour, isShort: elements.length === 0 || elements.some(({ style }) => style.isShort) };
  }
  if (!neighbour.isShort) return neighbour;
  const long = [...elements.slice(0, at).reverse(), ...elements.slice(at)].find(
    ({ style }) => !style.isShort,
  );
  return long === undefined ? neighbour : { ...long.style, column: neighbour.column };
}

function isBlank(gap: string | undefined): boolean {
  return gap === "\n" || gap === "\r\n";
}

function lineStartOf(text: string, at: number): number {
  return text.lastIndexOf("\n", at - 1) + 1;
}

/** Where the comment lines directly above a line begin that stand at its column, none of them before `first`. */
function aboveComments(text: string, line: number, column: number, first: number): number {
  let at = line;
  while (at > first) {
    const above = lineStartOf(text, at - 1);
    if (above < first || text[above + column] !== "#" || text.slice(above, above + column).trim() !== "")
      break;
    at = above;
  }
  return at;
}

/** Behind the comment lines directly below that stand further in than a column. */
function behindComments(text: string, line: number, column: number): number {
  let at = line;
  for (;;) {
    const [indent = "", sign] = /^([ \t]*)(#?)/.exec(text.slice(at, at + 1_000))?.slice(1) ?? [];
    if (sign !== "#" || indent.length <= column) return at;
    at = lineEndAfter(text, at);
  }
}

function behindPair(text: string, { key, value }: Pair): number {
  const end = endOf((value ?? key) as Node);
  return behindComments(text, text[end - 1] === "\n" ? end : lineEndAfter(text, end), 0);
}

/** What stands between two keys of a mapping in braces: a line end and the indentation, or a space. */
function leadOf(text: string, keyStart: number, lineEnd: string): string {
  const lineStart = lineStartOf(text, keyStart);
  const pad = text.slice(lineStart, keyStart);
  return lineStart > 0 && pad.trim() === "" ? lineEnd + pad : " ";
}

/** Reads the result, and compares it with what the edits ask for. */
function check(before: YamlSource, edits: readonly Edit[], text: string): void {
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
    elements.push(plainElement({ ...edit.element }, style));
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

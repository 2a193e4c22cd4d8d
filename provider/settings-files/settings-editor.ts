import type { SettingsElement } from "../model/entry-fields";
import { quote } from "../model/text";
import { BlockSection, parseBlockSection } from "./block-section";
import { assertEditsApplied } from "./edit-check";
import { type ElementStyle, findLineEnd } from "./edit-element";
import { EditError } from "./edit-error";
import { findCommentsEnd, findCommentsStart, getLineStart, parseForEdit, parseUnnamed } from "./edit-text";
import { buildElementFields, type Edit, type EditableSection, type SectionName } from "./editable-section";
import { getValueKey } from "./element-identity";
import { FlowSection, parseFlowSection } from "./flow-section";
import type { KeyLayout, YamlLayout } from "./yaml-layout";
import type { YamlSource } from "./yaml-source";

export type { Edit, SectionName, SettingsElement };

/** The order of sections, for inserting a missing one. */
const SECTION_ORDER: readonly SectionName[] = ["vips", "allow", "deny"];

/**
 * Edits the text of one settings file. Everything else stays the same byte for byte: comments, blank lines, order, quotes, indentation,
 * newlines.
 *
 * - New elements copy the style of their neighbours. They go to their sorted position, or to the end of an unsorted section. A missing
 *   section is added.
 * - Removing an element also removes the comment lines directly above and inside it. A comment below it is inside it only in the column
 *   of its keys; otherwise it may be about the next element, and stays.
 * - The result is parsed again to verify that it contains exactly the requested edits.
 *
 * @param text the current text; included files are not read.
 * @param read parses the texts before and after the edits.
 * @throws {EmailSecurityError} (`ERR_SETTINGS_EDIT`) if the file can't be read or its format prevents editing, or if an edit removes a
 * missing element or adds an existing one.
 */
export function editSettings(
  text: string,
  edits: readonly Edit[],
  read: (text: string) => YamlSource = parseUnnamed,
): string {
  if (edits.length === 0) return text;
  const byteOrderMark = text.startsWith("\uFEFF") ? "\uFEFF" : "";
  const body = text.slice(byteOrderMark.length);
  const lineEnd = body.includes("\r\n") ? "\r\n" : "\n";
  // Inside, every line ends with a newline, so that another one can follow.
  const lacksFinalNewline = body !== "" && !body.endsWith("\n");
  const before = lacksFinalNewline ? parseForEdit(body + lineEnd) : parseForEdit(body, read);
  const file = new EditedFile(before, lineEnd);
  for (const edit of edits) file.apply(edit);
  const edited = lacksFinalNewline ? file.render().replace(/\r?\n$/, "") : file.render();
  assertEditsApplied(lacksFinalNewline ? read(body) : before, edits, edited, read);
  return byteOrderMark + edited;
}

/** A settings file split into editable sections and the text between them. */
class EditedFile {
  readonly #pieces: (string | EditableSection)[] = [];
  readonly #style: ElementStyle;
  readonly #isFlow: boolean;

  constructor(source: YamlSource, lineEnd: string) {
    const { text } = source;
    const layout = source.getLayout();
    if (!layout.isMapping) throw new EditError("it isn't a mapping of keys and values");
    this.#isFlow = layout.isFlow;
    this.#style = createBaseStyle(layout, lineEnd);
    let offset = 0;
    for (const key of layout.keys) {
      const name = SECTION_ORDER.find((node) => node === key.name);
      if (name === undefined) continue;
      const section = parseSection(name, source, key, this.#isFlow, this.#getStyle(name));
      this.#pieces.push(text.slice(offset, section.start), section);
      offset = section.end;
    }
    this.#pieces.push(text.slice(offset));
  }

  apply(edit: Edit): void {
    const section = this.#findSection(edit.section);
    if (edit.action === "add") {
      (section ?? this.#addSection(edit.section)).add(buildElementFields(edit), edit.yamlComment);
      return;
    }
    if (section === undefined) throw new EditError(`${quote(edit.value)} isn't listed under ${edit.section}`);
    if (edit.action === "remove") section.remove(edit.value, edit.scope);
    else section.set(edit.value, edit.scope, edit.key, edit.newValue);
  }

  render(): string {
    return this.#pieces.map((piece) => (typeof piece === "string" ? piece : piece.render())).join("");
  }

  #getStyle(name: SectionName): ElementStyle {
    return { ...this.#style, valueKey: getValueKey(name) };
  }

  #findSection(name: SectionName): EditableSection | undefined {
    for (const piece of this.#pieces) if (typeof piece !== "string" && piece.name === name) return piece;
    return undefined;
  }

  /** Inserts a new section after its predecessors, otherwise before its successors, otherwise at the end. */
  #addSection(name: SectionName): EditableSection {
    const text = this.render();
    const { keys, start } = parseForEdit(text).getLayout();
    const { lineEnd, isJson } = this.#style;
    if (this.#isFlow) {
      const last = keys.at(-1);
      const offset = last === undefined ? start + 1 : last.value.end;
      const lead = last === undefined ? "" : `,${getKeySeparator(text, last.key.start, lineEnd)}`;
      const key = isJson ? JSON.stringify(name) : name;
      const position = { name, start: offset, end: offset, lead: `${lead}${key}: `, canHaveNotes: false };
      return this.#insert(new FlowSection(position, [], "]", this.#getStyle(name)));
    }
    const position = SECTION_ORDER.indexOf(name);
    const getSectionIndex = (node: KeyLayout): number => (SECTION_ORDER as readonly string[]).indexOf(node.name);
    const previous = keys.findLast((node) => getSectionIndex(node) >= 0 && getSectionIndex(node) < position);
    const next = previous === undefined ? keys.find((node) => getSectionIndex(node) > position) : undefined;
    const anchorKey = previous ?? keys.at(-1);
    const offset =
      next !== undefined
        ? findCommentsStart(text, getLineStart(text, next.key.start), 0, 0)
        : anchorKey === undefined
          ? text.length
          : findKeyEnd(text, anchorKey);
    const isFirst = text.slice(0, offset).trim() === "";
    const head = `${name}:${lineEnd}`;
    const section = new BlockSection(
      { name, start: offset, end: offset, head, colonOffset: name.length + 1, original: "" },
      [],
      this.#getStyle(name),
    );
    const isLast = next === undefined;
    return this.#insert(section, isLast && !isFirst ? lineEnd : "", isLast ? "" : lineEnd);
  }

  /** Inserts a new section between the others in the current text. */
  #insert(section: EditableSection, before = "", after = ""): EditableSection {
    let offset = 0;
    for (const [index, piece] of this.#pieces.entries()) {
      const { length } = typeof piece === "string" ? piece : piece.render();
      const isInside = section.start >= offset && section.start <= offset + length;
      if (typeof piece === "string" && isInside) {
        const splitOffset = section.start - offset;
        this.#pieces.splice(index, 1, piece.slice(0, splitOffset) + before, section, after + piece.slice(splitOffset));
        return section;
      }
      // The text that a section keeps after its last element belongs to it.
      if (isInside && section.start < offset + length) {
        this.#pieces.splice(index + 1, 0, before, section, after);
        return section;
      }
      offset += length;
    }
    throw new EditError(`it has no position for ${section.name}`);
  }
}

/** Returns the default style of elements without neighbours, with the indentation of another section. */
function createBaseStyle({ keys, isJson }: YamlLayout, lineEnd: string): ElementStyle {
  return {
    valueKey: "value",
    column: keys.find(({ kind }) => kind === "lines")?.column ?? 2,
    dashWidth: 2,
    isShort: true,
    isFlow: false,
    quotes: isJson ? { value: "double", email: "double" } : {},
    isJson,
    lineEnd,
  };
}

function parseSection(
  name: SectionName,
  source: YamlSource,
  node: KeyLayout,
  isFlow: boolean,
  style: ElementStyle,
): EditableSection {
  const { text } = source;
  const { key, kind } = node;
  const start = isFlow ? key.start : getLineStart(text, key.start);
  if (kind === "lines") return parseBlockSection(name, source, node, style);
  if (kind === "other") throw new EditError(`its ${name} isn't a list`);
  const isEmpty = kind === "nothing";
  const { start: startOffset, end: endOffset } = node.value;
  const valueText = text.slice(startOffset, endOffset);
  if (!isFlow && (isEmpty || /^\[\s*\]$/.test(valueText)) && !valueText.includes("\n")) {
    const end = findLineEnd(text, endOffset);
    const headEnd = text.indexOf(":", key.end) + 1;
    const head = text.slice(start, headEnd) + text.slice(endOffset, end);
    const position = { name, start, end, head, colonOffset: headEnd - start, original: text.slice(start, end) };
    return new BlockSection(position, [], style);
  }
  if (isEmpty) throw new EditError(`its ${name} is empty; write [] for an empty list`);
  const position = {
    name,
    start,
    end: endOffset,
    lead: text.slice(start, startOffset),
    canHaveNotes: !isFlow,
  };
  return parseFlowSection(position, source, node, style);
}

function findKeyEnd(text: string, { value: { end } }: KeyLayout): number {
  return findCommentsEnd(text, text[end - 1] === "\n" ? end : findLineEnd(text, end), 0);
}

/** Returns the separator between two keys of a flow mapping: a newline and indentation, or a space. */
function getKeySeparator(text: string, keyStart: number, lineEnd: string): string {
  const lineStart = getLineStart(text, keyStart);
  const indentation = text.slice(lineStart, keyStart);
  return lineStart > 0 && indentation.trim() === "" ? lineEnd + indentation : " ";
}

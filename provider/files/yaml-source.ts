import type { Document } from "yaml";
import type { Place } from "./finding";
import { isJsonFile } from "./json-syntax";
import {
  type PlainElement,
  type PlainSection,
  type WithoutPlain,
  withoutPlainElements,
} from "./plain-elements";
import type { LaidOut, Layout, Span } from "./yaml-layout";
import { MAX_CHARACTERS, MAX_VALUES } from "./yaml-parser";
import { readWhole, type YamlSource } from "./yaml-whole";

export type { YamlSource } from "./yaml-whole";

/**
 * Reads YAML strictly: what two tools, or two people, could read differently is an error at its line and column, with
 * what to write. Never throws.
 *
 * @param file its name for people.
 */
export function readYaml(text: string, file: string): YamlSource {
  if (text.length > MAX_CHARACTERS || isJsonFile(file)) return readWhole(text, file);
  const cut = withoutPlainElements(text, MAX_VALUES);
  if (cut.sections.length === 0 || QUESTION.test(cut.left)) return readWhole(text, file);
  const left = readWhole(cut.left, file, cut.values);
  const stands = left.findings.length === 0 && cut.sections.every((one) => standsIn(one, cut, left.layout()));
  // What is wrong is told of the file as it is.
  return stands ? new PartlyPlain(text, file, cut, left) : readWhole(text, file);
}

/** A key that is written with a question mark, which nobody does: what it is part of ends where the next thing begins. */
const QUESTION = /^[ -]*\?(?:\s|$)/m;

/** Reads YAML as {@link readYaml} does. */
export type ReadYaml = (text: string, file: string) => YamlSource;

/** Reads each text once, however often it is asked for: long files take a while. */
export function readingOnce(read: ReadYaml = readYaml): ReadYaml {
  const sources = new Map<string, YamlSource>();
  return (text, file) => {
    const before = sources.get(text);
    // Another name for it would be told as its place.
    if (before?.file === file) return before;
    const source = read(text, file);
    sources.set(text, source);
    return source;
  };
}

/** Whether plain elements that were taken out stood directly in their section: it is there, and nothing that is left was around them. */
function standsIn(
  { name, keyStart, column, lastGap }: PlainSection,
  { gaps }: WithoutPlain,
  layout: Layout,
): boolean {
  const section = layout.keys.find((one) => one.name === name);
  if (!layout.isMapping || layout.isFlow || section?.key.start !== keyStart) return false;
  if (section.key.end - keyStart !== name.length) return false;
  // Another key may be written in a way that only the parser knows.
  if (layout.keys.some(({ key }) => key.start > keyStart && key.start < lastGap)) return false;
  if (section.kind === "nothing") return section.value.start === section.value.end;
  if (section.kind !== "lines" || section.column !== column) return false;
  const [first, last] = [section.items[0]?.start ?? 0, section.items.at(-1)?.end ?? 0];
  const inside = gaps.filter(({ at }) => at > first && at < last);
  let index = 0;
  return inside.every(({ at }) => {
    while ((section.items[index]?.end ?? Number.POSITIVE_INFINITY) <= at) index += 1;
    return (section.items[index]?.start ?? at) >= at;
  });
}

/** A section whose elements are put together again. */
interface Merged {
  readonly plain: PlainSection;
  /** Of each element in its order: the plain one, or which of those that are left it is. */
  readonly elements: readonly (PlainElement | number)[];
}

/** A file of which the parser has read what is not plain, and no more as long as nobody asks. */
class PartlyPlain implements YamlSource {
  readonly findings = [];
  readonly file: string;
  readonly text: string;
  readonly value: unknown;
  readonly #left: YamlSource;
  readonly #gaps: WithoutPlain["gaps"];
  readonly #layout: Layout;
  readonly #merged: ReadonlyMap<PropertyKey, Merged>;
  readonly #one = new Map<PlainElement, YamlSource>();
  #whole: YamlSource | undefined;

  constructor(text: string, file: string, { sections, gaps }: WithoutPlain, left: YamlSource) {
    this.text = text;
    this.file = file;
    this.#left = left;
    this.#gaps = gaps;
    const value = { ...(left.value as Record<string, unknown>) };
    const merged = new Map<PropertyKey, Merged>();
    const byName = new Map(sections.map((one) => [one.name as string, one]));
    const layout = left.layout();
    const keys = layout.keys.map((one): LaidOut => {
      const moved = { ...one, key: this.#moved(one.key), value: this.#moved(one.value) };
      const plain = byName.get(one.name);
      const items = one.items.map((item) => this.#moved(item));
      if (plain === undefined) return { ...moved, items };
      const elements = together(plain.elements, items);
      const written = (value[one.name] ?? []) as unknown[];
      value[one.name] = elements.map((each) => (typeof each === "number" ? written[each] : dataOf(each)));
      merged.set(one.name, { plain, elements });
      const spans = elements.map((each) => (typeof each === "number" ? (items[each] as Span) : each));
      const first = elements[0];
      // A block begins with its first dash.
      const start = typeof first === "object" ? first.from + plain.column : (moved.value.start as number);
      const span = { start, end: spans.at(-1)?.end ?? moved.value.end };
      return { ...moved, kind: "lines", column: plain.column, value: span, items: spans };
    });
    this.value = value;
    this.#merged = merged;
    this.#layout = { ...layout, keys };
  }

  get document(): Document.Parsed {
    return this.#all().document;
  }

  readonly layout = (): Layout => {
    return this.#layout;
  };

  readonly placeOf = (path: readonly PropertyKey[]): Place => {
    const [section = "", index, key] = path;
    const element = this.#elementAt(section, index);
    if (typeof element === "object") {
      const isShort = typeof element.data === "string";
      const { plain } = this.#merged.get(section) as Merged;
      if (isShort || key === (plain.name === "vips" ? "email" : "value")) {
        const { subjectLine: line, subjectColumn: column, subjectEndColumn: endColumn } = element;
        return { file: this.file, line, column, endLine: line, endColumn };
      }
    }
    return this.#ask(path, (source, at) => source.placeOf(at));
  };

  readonly placeOfKey = (path: readonly PropertyKey[]): Place => {
    // An element has no key: that is told at the place of its list.
    if (path.length < 3) return this.#all().placeOfKey(path);
    return this.#ask(path, (source, at) => source.placeOfKey(at));
  };

  readonly writtenAt = (path: readonly PropertyKey[]): string | undefined => {
    let written: string | undefined;
    this.#ask(path, (source, at) => {
      written = source.writtenAt(at);
      return source.placeOf(at);
    });
    return written;
  };

  #elementAt(section: PropertyKey, index: PropertyKey | undefined): PlainElement | number | undefined {
    return typeof index === "number" ? this.#merged.get(section)?.elements[index] : undefined;
  }

  /** What a part tells that holds a path: the element alone, what is left, or else the whole file. */
  #ask(
    path: readonly PropertyKey[],
    tell: (source: YamlSource, path: readonly PropertyKey[]) => Place,
  ): Place {
    const [section = "", index, ...rest] = path;
    // What is missing is told at the place of all.
    if (!Object.hasOwn(this.value as object, section)) return tell(this.#all(), path);
    if (!this.#merged.has(section)) return this.#moveLines(tell(this.#left, path));
    const element = this.#elementAt(section, index);
    if (element === undefined) return tell(this.#all(), path);
    if (typeof element === "number") return this.#moveLines(tell(this.#left, [section, element, ...rest]));
    let one = this.#one.get(element);
    if (one === undefined) {
      one = readWhole(this.text.slice(element.from, element.until), this.file);
      this.#one.set(element, one);
    }
    const place = tell(one, [0, ...rest]);
    const down = element.line - 1;
    return withLines(place, place.line + down, (place.endLine ?? 0) + down);
  }

  #all(): YamlSource {
    this.#whole ??= readWhole(this.text, this.file);
    return this.#whole;
  }

  #moved({ start, end }: Span): Span {
    const movedStart = start + removedAt(this.#gaps, "at", start)("characters");
    // What ends where lines were taken out ends before them.
    return end <= start
      ? { start: movedStart, end: movedStart }
      : { start: movedStart, end: end + removedAt(this.#gaps, "at", end - 1)("characters") };
  }

  #moveLines(place: Place): Place {
    const { line, endLine = line, endColumn } = place;
    const lastLine = endColumn === 1 && endLine > line ? endLine - 1 : endLine;
    const down = (at: number): number => removedAt(this.#gaps, "line", at)("lines");
    return withLines(place, line + down(line), endLine + down(lastLine));
  }
}

function withLines(place: Place, line: number, endLine: number): Place {
  return place.endLine === undefined ? { ...place, line } : { ...place, line, endLine };
}

/** Elements in the order in which they stand. */
function together(plain: readonly PlainElement[], items: readonly Span[]): (PlainElement | number)[] {
  const all: (PlainElement | number)[] = [];
  let at = 0;
  for (const element of plain) {
    while (at < items.length && (items[at]?.start ?? 0) < element.from) all.push(at++);
    all.push(element);
  }
  while (at < items.length) all.push(at++);
  return all;
}

function dataOf({ data }: PlainElement): unknown {
  return data;
}

/** What was taken out before a place, of characters or lines. */
function removedAt(
  gaps: WithoutPlain["gaps"],
  by: "at" | "line",
  place: number,
): (what: "characters" | "lines") => number {
  let [low, high] = [0, gaps.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((gaps[middle]?.[by] ?? 0) <= place) low = middle + 1;
    else high = middle;
  }
  return (what) => gaps[low - 1]?.[what] ?? 0;
}

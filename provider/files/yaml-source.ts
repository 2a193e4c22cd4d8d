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
 * Parses YAML strictly: ambiguous syntax is an error with its location and a fix. Never throws.
 *
 * @param file the file name for messages.
 */
export function readYaml(text: string, file: string): YamlSource {
  if (text.length > MAX_CHARACTERS || isJsonFile(file)) return readWhole(text, file);
  const cut = withoutPlainElements(text, MAX_VALUES);
  if (cut.sections.length === 0 || QUESTION.test(cut.left)) return readWhole(text, file);
  const left = readWhole(cut.left, file, cut.values);
  const stands = left.findings.length === 0 && cut.sections.every((one) => standsIn(one, cut, left.layout()));
  // Findings need the locations of the original file.
  return stands ? new PartlyPlain(text, file, cut, left) : readWhole(text, file);
}

/** An explicit key (`?`), which is rare: the extent of its value depends on the next token. */
const QUESTION = /^[ -]*\?(?:\s|$)/m;

/** Parses YAML like {@link readYaml}. */
export type ReadYaml = (text: string, file: string) => YamlSource;

/** Caches parsed texts, because parsing long files is slow. */
export function readingOnce(read: ReadYaml = readYaml): ReadYaml {
  const sources = new Map<string, YamlSource>();
  return (text, file) => {
    const before = sources.get(text);
    // A cached file with another name would have wrong locations.
    if (before?.file === file) return before;
    const source = read(text, file);
    sources.set(text, source);
    return source;
  };
}

/** Verifies that removed plain elements were direct children of their section, and that no remaining text enclosed them. */
function standsIn(
  { name, keyStart, column, lastGap }: PlainSection,
  { gaps }: WithoutPlain,
  layout: Layout,
): boolean {
  const section = layout.keys.find((one) => one.name === name);
  if (!layout.isMapping || layout.isFlow || section?.key.start !== keyStart) return false;
  if (section.key.end - keyStart !== name.length) return false;
  // Only the parser recognizes all forms of keys.
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

/** A section with its elements merged again. */
interface Merged {
  readonly plain: PlainSection;
  /** In order: plain elements, and indexes of parsed ones. */
  readonly elements: readonly (PlainElement | number)[];
}

/** A file whose non-plain parts are parsed; the rest is parsed on demand. */
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
      // A block sequence starts at its first dash.
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
    // An element has no key, so use the location of its list.
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

  /** Queries the smallest part that contains a path: a single element, the remaining text, or the whole file. */
  #ask(
    path: readonly PropertyKey[],
    tell: (source: YamlSource, path: readonly PropertyKey[]) => Place,
  ): Place {
    const [section = "", index, ...rest] = path;
    // A missing section gets the location of the whole file.
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
    // A range that ends at removed lines ends before them.
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

/** Merges elements in file order. */
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

/** Returns the removed characters or lines before a position. */
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

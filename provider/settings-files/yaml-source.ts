import type { Document } from "yaml";
import type { FileLocation } from "./finding";
import { readFullYaml, type YamlSource } from "./full-yaml";
import { isJsonFile } from "./json-syntax";
import { extractPlainElements, type PlainElement, type PlainScanResult, type PlainSection } from "./plain-elements";
import type { KeyLayout, Span, YamlLayout } from "./yaml-layout";
import { MAX_CHARACTERS, MAX_VALUES } from "./yaml-parser";

export type { YamlSource } from "./full-yaml";

/** Parses YAML strictly: ambiguous syntax is an error with its location and a fix. Never throws. */
export function readYaml(text: string, file: string): YamlSource {
  if (text.length > MAX_CHARACTERS || isJsonFile(file)) return readFullYaml(text, file);
  const plainScan = extractPlainElements(text, MAX_VALUES);
  if (plainScan.sections.length === 0 || EXPLICIT_KEY.test(plainScan.remainingText)) return readFullYaml(text, file);
  const remainingSource = readFullYaml(plainScan.remainingText, file, plainScan.removedValueCount);
  const isConsistent =
    remainingSource.findings.length === 0 &&
    plainScan.sections.every((section) => isSectionConsistent(section, plainScan, remainingSource.getLayout()));
  // Findings need the locations of the original file.
  return isConsistent ? new PartialYamlSource(text, file, plainScan, remainingSource) : readFullYaml(text, file);
}

/** An explicit key (`?`), which is rare: the extent of its value depends on the next token. */
const EXPLICIT_KEY = /^[ -]*\?(?:\s|$)/m;

/** Parses YAML like {@link readYaml}. */
export type YamlReader = (text: string, file: string) => YamlSource;

/** Caches parsed texts, because parsing long files is slow. */
export function createCachingYamlReader(read: YamlReader = readYaml): YamlReader {
  const sources = new Map<string, YamlSource>();
  return (text, file) => {
    const cached = sources.get(text);
    // A cached file with another name would have wrong locations.
    if (cached?.file === file) return cached;
    const source = read(text, file);
    sources.set(text, source);
    return source;
  };
}

/** Verifies that removed plain elements were direct children of their section, and that no remaining text enclosed them. */
function isSectionConsistent(
  { name, keyStart, column, lastGapOffset }: PlainSection,
  { gaps }: PlainScanResult,
  layout: YamlLayout,
): boolean {
  const section = layout.keys.find((key) => key.name === name);
  if (!layout.isMapping || layout.isFlow || section?.key.start !== keyStart) return false;
  if (section.key.end - keyStart !== name.length) return false;
  // Only the parser recognizes all forms of keys.
  if (layout.keys.some(({ key }) => key.start > keyStart && key.start < lastGapOffset)) return false;
  if (section.kind === "nothing") return section.value.start === section.value.end;
  if (section.kind !== "lines" || section.column !== column) return false;
  const [first, last] = [section.items[0]?.start ?? 0, section.items.at(-1)?.end ?? 0];
  const innerGaps = gaps.filter(({ at }) => at > first && at < last);
  let index = 0;
  return innerGaps.every(({ at }) => {
    while ((section.items[index]?.end ?? Number.POSITIVE_INFINITY) <= at) index += 1;
    return (section.items[index]?.start ?? at) >= at;
  });
}

/** A section with its elements merged again. */
interface MergedSection {
  readonly plain: PlainSection;
  /** In order: plain elements, and indexes of parsed ones. */
  readonly elements: readonly (PlainElement | number)[];
}

/** A file whose non-plain parts are parsed; the rest is parsed on demand. */
class PartialYamlSource implements YamlSource {
  readonly findings = [];
  readonly file: string;
  readonly text: string;
  readonly value: unknown;
  readonly #remainingSource: YamlSource;
  readonly #gaps: PlainScanResult["gaps"];
  readonly #layout: YamlLayout;
  readonly #mergedSections: ReadonlyMap<PropertyKey, MergedSection>;
  readonly #elementSources = new Map<PlainElement, YamlSource>();
  #fullSource: YamlSource | undefined;

  constructor(text: string, file: string, { sections, gaps }: PlainScanResult, remainingSource: YamlSource) {
    this.text = text;
    this.file = file;
    this.#remainingSource = remainingSource;
    this.#gaps = gaps;
    const value = { ...(remainingSource.value as Record<string, unknown>) };
    const merged = new Map<PropertyKey, MergedSection>();
    const byName = new Map(sections.map((section) => [section.name as string, section]));
    const layout = remainingSource.getLayout();
    const keys = layout.keys.map((key): KeyLayout => {
      const shifted = { ...key, key: this.#shiftSpan(key.key), value: this.#shiftSpan(key.value) };
      const plain = byName.get(key.name);
      const items = key.items.map((item) => this.#shiftSpan(item));
      if (plain === undefined) return { ...shifted, items };
      const elements = mergeElements(plain.elements, items);
      const remainingValues = (value[key.name] ?? []) as unknown[];
      value[key.name] = elements.map((each) =>
        typeof each === "number" ? remainingValues[each] : getElementContent(each),
      );
      merged.set(key.name, { plain, elements });
      const spans = elements.map((each) => (typeof each === "number" ? (items[each] as Span) : each));
      const first = elements[0];
      // A block sequence starts at its first dash.
      const start = typeof first === "object" ? first.lineStart + plain.column : (shifted.value.start as number);
      const span = { start, end: spans.at(-1)?.end ?? shifted.value.end };
      return { ...shifted, kind: "lines", column: plain.column, value: span, items: spans };
    });
    this.value = value;
    this.#mergedSections = merged;
    this.#layout = { ...layout, keys };
  }

  get document(): Document.Parsed {
    return this.#getFullSource().document;
  }

  readonly getLayout = (): YamlLayout => {
    return this.#layout;
  };

  readonly locate = (path: readonly PropertyKey[]): FileLocation => {
    const [section = "", index, key] = path;
    const element = this.#findElement(section, index);
    if (typeof element === "object") {
      const isShort = typeof element.data === "string";
      const { plain } = this.#mergedSections.get(section) as MergedSection;
      if (isShort || key === (plain.name === "vips" ? "email" : "value")) {
        const { subjectLine: line, subjectColumn: column, subjectEndColumn: endColumn } = element;
        return { file: this.file, line, column, endLine: line, endColumn };
      }
    }
    return this.#locateIn(path, (source, at) => source.locate(at));
  };

  readonly locateKey = (path: readonly PropertyKey[]): FileLocation => {
    // An element has no key, so use the location of its list.
    if (path.length < 3) return this.#getFullSource().locateKey(path);
    return this.#locateIn(path, (source, at) => source.locateKey(at));
  };

  readonly getRawText = (path: readonly PropertyKey[]): string | undefined => {
    let rawText: string | undefined;
    this.#locateIn(path, (source, at) => {
      rawText = source.getRawText(at);
      return source.locate(at);
    });
    return rawText;
  };

  #findElement(section: PropertyKey, index: PropertyKey | undefined): PlainElement | number | undefined {
    return typeof index === "number" ? this.#mergedSections.get(section)?.elements[index] : undefined;
  }

  /** Queries the smallest part that contains a path: a single element, the remaining text, or the whole file. */
  #locateIn(
    path: readonly PropertyKey[],
    locate: (source: YamlSource, path: readonly PropertyKey[]) => FileLocation,
  ): FileLocation {
    const [section = "", index, ...rest] = path;
    // A missing section gets the location of the whole file.
    if (!Object.hasOwn(this.value as object, section)) return locate(this.#getFullSource(), path);
    if (!this.#mergedSections.has(section)) return this.#shiftLines(locate(this.#remainingSource, path));
    const element = this.#findElement(section, index);
    if (element === undefined) return locate(this.#getFullSource(), path);
    if (typeof element === "number")
      return this.#shiftLines(locate(this.#remainingSource, [section, element, ...rest]));
    let elementSource = this.#elementSources.get(element);
    if (elementSource === undefined) {
      elementSource = readFullYaml(this.text.slice(element.lineStart, element.lineEnd), this.file);
      this.#elementSources.set(element, elementSource);
    }
    const location = locate(elementSource, [0, ...rest]);
    const lineShift = element.line - 1;
    return replaceLines(location, location.line + lineShift, (location.endLine ?? 0) + lineShift);
  }

  #getFullSource(): YamlSource {
    this.#fullSource ??= readFullYaml(this.text, this.file);
    return this.#fullSource;
  }

  #shiftSpan({ start, end }: Span): Span {
    const shiftedStart = start + getRemovedBefore(this.#gaps, "at", start)("characters");
    // A range that ends at removed lines ends before them.
    return end <= start
      ? { start: shiftedStart, end: shiftedStart }
      : { start: shiftedStart, end: end + getRemovedBefore(this.#gaps, "at", end - 1)("characters") };
  }

  #shiftLines(location: FileLocation): FileLocation {
    const { line, endLine = line, endColumn } = location;
    const lastLine = endColumn === 1 && endLine > line ? endLine - 1 : endLine;
    const getLineShift = (at: number): number => getRemovedBefore(this.#gaps, "line", at)("lines");
    return replaceLines(location, line + getLineShift(line), endLine + getLineShift(lastLine));
  }
}

function replaceLines(location: FileLocation, line: number, endLine: number): FileLocation {
  return location.endLine === undefined ? { ...location, line } : { ...location, line, endLine };
}

/** Merges elements in file order. */
function mergeElements(plain: readonly PlainElement[], items: readonly Span[]): (PlainElement | number)[] {
  const merged: (PlainElement | number)[] = [];
  let at = 0;
  for (const element of plain) {
    while (at < items.length && (items[at]?.start ?? 0) < element.lineStart) merged.push(at++);
    merged.push(element);
  }
  while (at < items.length) merged.push(at++);
  return merged;
}

function getElementContent({ data }: PlainElement): unknown {
  return data;
}

/** Returns the removed characters or lines before a position. */
function getRemovedBefore(
  gaps: PlainScanResult["gaps"],
  unit: "at" | "line",
  position: number,
): (quantity: "characters" | "lines") => number {
  let [low, high] = [0, gaps.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((gaps[middle]?.[unit] ?? 0) <= position) low = middle + 1;
    else high = middle;
  }
  return (quantity) => gaps[low - 1]?.[quantity] ?? 0;
}

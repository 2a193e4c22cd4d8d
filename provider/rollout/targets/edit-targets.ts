import { isDeepStrictEqual } from "node:util";
import { isMap, isScalar, type Node, type Pair, type YAMLMap } from "yaml";
import { columnOf, endOf, keyName, lineEndAfter, rangeOf, withoutFlowItem } from "../../files/edit-element";
import { EditError } from "../../files/edit-error";
import { aboveComments, behindComments, lineStartOf, readUnnamed } from "../../files/edit-text";
import type { YamlSource } from "../../files/yaml-source";
import { yamlText } from "../../files/yaml-text";
import { TARGETS_VERSION } from "./targets-schema";

/** The fields of a new tenant that differ from the file's defaults. */
export interface WrittenTenant {
  readonly baseUrl?: string;
  /** The name of the environment variable that holds its key. */
  readonly keyVariable?: string;
  readonly settings?: string;
  /** Where it isn't the tenant's name. */
  readonly stack?: string;
  readonly labels?: Readonly<Record<string, string>>;
}

/**
 * Adds a tenant after all others in a targets file, and keeps everything else byte for byte. A wave that takes the first tenants therefore
 * keeps its tenants. Uses the style of the last tenant. Parses the result, to verify that only the new tenant differs.
 *
 * @param text the present contents; empty if there is no file yet.
 * @throws {EditError} (`ERR_SETTINGS_EDIT`) if the tenant exists, or the style of the file doesn't permit such an edit.
 */
export function addTenant(text: string, name: string, tenant: WrittenTenant): string {
  return edited(
    text,
    (file) => {
      if (file.pairs.some(({ key }) => keyName(key) === name))
        throw refused(`it has the tenant ${name} already`);
      const { tenants, lineEnd } = file;
      if (tenants === undefined) {
        const head = file.text === "" ? `version: ${TARGETS_VERSION}${lineEnd}` : file.text;
        return `${head}${lineEnd}tenants:${lineEnd}${block(name, tenant, 2, 2, lineEnd)}`;
      }
      const { value } = tenants;
      if (!isMap(value) || value.items.length === 0) {
        // `tenants:` has no value, or empty braces.
        const colon = file.text.indexOf(":", endOf(tenants.key as Node)) + 1;
        const until = isMap(value) ? endOf(value as unknown as Node) : colon;
        const line = lineEndAfter(file.text, until);
        const column = columnOf(file.text, rangeOf(tenants.key as Node)[0]) + 2;
        const rest = file.text.slice(until, line);
        return `${file.text.slice(0, colon)}${rest}${block(name, tenant, column, 2, lineEnd)}${file.text.slice(line)}`;
      }
      return value.flow === true
        ? inBraces(file.text, value, name, tenant)
        : below(file.text, value, name, tenant, lineEnd);
    },
    (value) => ({ ...value, tenants: { ...mappingOf(value["tenants"]), [name]: dataOf(tenant) } }),
  );
}

/**
 * Removes a tenant from its targets file, with the comment lines directly above it and inside it, and keeps everything else byte for byte.
 * Parses the result, to verify that only this tenant differs.
 *
 * @throws {EditError} (`ERR_SETTINGS_EDIT`) if the tenant doesn't exist, or the style of the file doesn't permit such an edit.
 */
export function removeTenant(text: string, name: string): string {
  return edited(
    text,
    ({ text: whole, tenants, pairs }) => {
      const at = pairs.findIndex(({ key }) => keyName(key) === name);
      const pair = pairs[at];
      if (pair === undefined || !isMap(tenants?.value)) throw refused(`it has no tenant ${name}`);
      const map = tenants.value;
      if (map.flow === true) {
        const before = pairs[at - 1];
        return withoutFlowItem(whole, ...spanOf(pair), before === undefined ? undefined : spanOf(before)[1]);
      }
      const { from, until } = linesOf(whole, map, at);
      if (pairs.length > 1) return whole.slice(0, from) + whole.slice(until);
      // YAML reads a key without a value as null, which isn't a mapping.
      const colon = whole.indexOf(":", endOf(tenants.key as Node)) + 1;
      return `${whole.slice(0, colon)} {}${whole.slice(colon, from)}${whole.slice(until)}`;
    },
    (value) => {
      const { [name]: _gone, ...others } = mappingOf(value["tenants"]);
      return { ...value, tenants: others };
    },
  );
}

/** The fields that a renamed tenant needs, because its former name determined their values. */
export interface KeptSettings {
  readonly stack?: string;
  readonly baseUrl?: string;
  readonly key?: KeptKey;
  readonly settings?: string;
}

/** A key source as the file declares it. */
export type KeptKey =
  | { readonly environment: string }
  | { readonly file: string }
  | { readonly command: readonly string[] };

/**
 * Renames a tenant in place, and keeps everything else byte for byte. Parses the result, to verify that only the name and the kept settings
 * differ.
 *
 * @param name the same as `from` if only settings are to be added.
 * @throws {EditError} (`ERR_SETTINGS_EDIT`) if the tenant doesn't exist, the name is taken, or the style of the file doesn't permit such an
 * edit.
 */
export function renameTenant(text: string, from: string, name: string, kept: KeptSettings): string {
  const isKept = Object.keys(kept).length > 0;
  return edited(
    text,
    ({ text: whole, lineEnd, pairs }) => {
      const pair = pairs.find(({ key }) => keyName(key) === from);
      if (pair === undefined) throw refused(`it has no tenant ${from}`);
      const isTaken = name !== from && pairs.some(({ key }) => keyName(key) === name);
      if (isTaken) throw refused(`it has the tenant ${name} already`);
      const [start, end] = rangeOf(pair.key as Node);
      const renamed = whole.slice(0, start) + yamlText(name, { inFlow: true }) + whole.slice(end);
      const moved = renamed.length - whole.length;
      const parts = Object.entries(kept).map(
        ([field, value]) => `${field}: ${typeof value === "string" ? inFlow(value) : keyText(value)}`,
      );
      if (!isKept) return renamed;
      const { value } = pair;
      if (isMap(value) && value.flow !== true && value.items.length > 0) {
        const at = rangeOf(value as unknown as Node)[0] + moved;
        const pad = " ".repeat(columnOf(renamed, at));
        const written = parts.map((part) => `${part}${lineEnd}${pad}`).join("");
        return renamed.slice(0, at) + written + renamed.slice(at);
      }
      if (isMap(value)) {
        const at = rangeOf(value as unknown as Node)[0] + moved + 1;
        const rest = renamed.slice(at);
        const isEmpty = value.items.length === 0;
        const written = ` ${parts.join(", ")}${isEmpty ? " " : ","}`;
        return renamed.slice(0, at) + written + (isEmpty ? rest.replace(/^\s*/, "") : rest);
      }
      if (!isNothing(value)) throw refused(NOT_IN_PIECES);
      const colon = renamed.indexOf(":", end + moved) + 1;
      return `${renamed.slice(0, colon)} { ${parts.join(", ")} }${renamed.slice(colon)}`;
    },
    (value) => ({
      ...value,
      tenants: Object.fromEntries(
        Object.entries(mappingOf(value["tenants"])).map(([one, said]) =>
          one === from ? [name, isKept ? { ...mappingOf(said), ...kept } : said] : [one, said],
        ),
      ),
    }),
  );
}

function keyText(key: KeptKey): string {
  if ("command" in key) return `{ command: [${key.command.map(inFlow).join(", ")}] }`;
  return "file" in key ? `{ file: ${inFlow(key.file)} }` : `{ environment: ${inFlow(key.environment)} }`;
}

function inFlow(text: string): string {
  return yamlText(text, { inFlow: true });
}

/** A targets file in which every line, including the last, has a line ending. */
interface EditedFile {
  readonly text: string;
  readonly lineEnd: string;
  readonly tenants: Pair | undefined;
  readonly pairs: readonly Pair[];
}

/** Edits a text, and verifies that the parsed result is as expected. */
function edited(
  text: string,
  edit: (file: EditedFile) => string,
  expected: (value: Readonly<Record<string, unknown>>) => unknown,
): string {
  const mark = text.startsWith("\uFEFF") ? "\uFEFF" : "";
  const body = text.slice(mark.length);
  const lineEnd = body.includes("\r\n") ? "\r\n" : "\n";
  const isOpen = body !== "" && !body.endsWith("\n");
  const closed = isOpen ? body + lineEnd : body;
  const { document, value } = readWhole(closed);
  const root: unknown = document.contents;
  if (body !== "" && (!isMap(root) || root.flow === true)) {
    throw refused("it is written in braces, or is no mapping of keys and values; change it by hand");
  }
  const tenants = isMap(root) ? root.items.find(({ key }) => keyName(key) === "tenants") : undefined;
  const isOther = tenants !== undefined && !isMap(tenants.value) && !isNothing(tenants.value);
  if (isOther) throw refused("its tenants are no mapping of names");
  const pairs = isMap(tenants?.value) ? (tenants.value.items as Pair[]) : [];
  const changed = edit({ text: closed, lineEnd, tenants, pairs });
  const result = isOpen ? changed.replace(/\r?\n$/, "") : changed;
  const before = body === "" ? { version: TARGETS_VERSION } : mappingOf(value);
  if (!isSame(readWhole(result).value, expected(before))) {
    throw refused(NOT_IN_PIECES);
  }
  return mark + result;
}

const NOT_IN_PIECES = "it is written in a way that can't be changed piece by piece; change it by hand";

/** Doesn't repeat the YAML errors, because a key may be next to them. The reader of targets files reports them. */
function readWhole(text: string): YamlSource {
  const source = readUnnamed(text);
  if (source.findings.some(({ level }) => level === "error")) throw refused(NOT_IN_PIECES);
  return source;
}

function refused(reason: string): EditError {
  return new EditError(reason, "The targets file");
}

/** Whether both values are equal, with their tenants in the same order. The order matters because waves may take the first tenants. */
function isSame(one: unknown, other: unknown): boolean {
  const names = (value: unknown): string[] => Object.keys(mappingOf(mappingOf(value)["tenants"]));
  return isDeepStrictEqual(one, other) && isDeepStrictEqual(names(one), names(other));
}

function mappingOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
}

function isNothing(value: unknown): boolean {
  return value === null || (isScalar(value) && value.value === null);
}

function spanOf({ key, value }: Pair): readonly [start: number, end: number] {
  const [start] = rangeOf(key as Node);
  return [start, value === null ? endOf(key as Node) : endOf(value as Node)];
}

/** The lines of a tenant, with the comments above and inside it. */
function linesOf(
  text: string,
  map: YAMLMap,
  at: number,
): { readonly from: number; readonly until: number; readonly column: number } {
  const pair = map.items[at] as Pair;
  const [start, end] = spanOf(pair);
  const column = columnOf(text, start);
  const line = lineStartOf(text, start);
  if (text.slice(line, start).trim() !== "") throw refused("its tenants don't stand on lines of their own");
  const before = at === 0 ? 0 : spanOf(map.items[at - 1] as Pair)[1];
  const from = aboveComments(text, line, column, before === 0 ? 0 : lineEndAfter(text, before));
  const until = behindComments(text, text[end - 1] === "\n" ? end : lineEndAfter(text, end), column);
  return { from, until, column };
}

/** Adds a tenant below the last one, in the same style. */
function below(text: string, map: YAMLMap, name: string, tenant: WrittenTenant, lineEnd: string): string {
  const last = map.items.length - 1;
  const { from, until, column } = linesOf(text, map, last);
  const { value } = map.items[last] as Pair;
  const isFlow = isMap(value) && value.flow === true;
  const isApart = last > 0 && new RegExp(`${lineEnd}${lineEnd}$`).test(text.slice(0, from));
  const inner = isMap(value) && !isFlow ? columnOf(text, rangeOf(value as unknown as Node)[0]) - column : 2;
  const short = `${" ".repeat(column)}${yamlText(name)}: ${flow(tenant)}${lineEnd}`;
  const isShort = isFlow && short.length <= LONGEST_LINE;
  const written = isShort ? short : block(name, tenant, column, inner, lineEnd);
  return `${text.slice(0, until)}${isApart ? lineEnd : ""}${written}${text.slice(until)}`;
}

const LONGEST_LINE = 120;

/** Adds a tenant inside the braces of all tenants, after the last one. */
function inBraces(text: string, map: YAMLMap, name: string, tenant: WrittenTenant): string {
  const [, end] = spanOf(map.items.at(-1) as Pair);
  return `${text.slice(0, end)}, ${yamlText(name, { inFlow: true })}: ${flow(tenant)}${text.slice(end)}`;
}

function block(name: string, tenant: WrittenTenant, column: number, inner: number, lineEnd: string): string {
  const { baseUrl, keyVariable, settings, stack, labels } = tenant;
  const lines = [
    ...(baseUrl === undefined ? [] : [`baseUrl: ${yamlText(baseUrl)}`]),
    ...(keyVariable === undefined
      ? []
      : [`key: { environment: ${yamlText(keyVariable, { inFlow: true })} }`]),
    ...(settings === undefined ? [] : [`settings: ${yamlText(settings)}`]),
    ...(stack === undefined ? [] : [`stack: ${yamlText(stack)}`]),
    ...(labels === undefined ? [] : [`labels: ${flowOf(labels)}`]),
  ];
  const pad = " ".repeat(column);
  const head = `${pad}${yamlText(name)}:${lines.length === 0 ? " {}" : ""}${lineEnd}`;
  return head + lines.map((line) => `${pad}${" ".repeat(inner)}${line}${lineEnd}`).join("");
}

function flow({ baseUrl, keyVariable, settings, stack, labels }: WrittenTenant): string {
  const parts = [
    ...(baseUrl === undefined ? [] : [`baseUrl: ${inFlow(baseUrl)}`]),
    ...(keyVariable === undefined ? [] : [`key: { environment: ${inFlow(keyVariable)} }`]),
    ...(settings === undefined ? [] : [`settings: ${inFlow(settings)}`]),
    ...(stack === undefined ? [] : [`stack: ${inFlow(stack)}`]),
    ...(labels === undefined ? [] : [`labels: ${flowOf(labels)}`]),
  ];
  return parts.length === 0 ? "{}" : `{ ${parts.join(", ")} }`;
}

function flowOf(labels: Readonly<Record<string, string>>): string {
  return `{ ${Object.entries(labels)
    .map(([label, value]) => `${inFlow(label)}: ${inFlow(value)}`)
    .join(", ")} }`;
}

/** The same as it is read back. */
function dataOf({ baseUrl, keyVariable, settings, stack, labels }: WrittenTenant): Record<string, unknown> {
  const data: Record<string, unknown> = {};
  if (baseUrl !== undefined) data["baseUrl"] = baseUrl;
  if (keyVariable !== undefined) data["key"] = { environment: keyVariable };
  if (settings !== undefined) data["settings"] = settings;
  if (stack !== undefined) data["stack"] = stack;
  if (labels !== undefined) data["labels"] = { ...labels };
  return data;
}

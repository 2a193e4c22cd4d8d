import { isDeepStrictEqual } from "node:util";
import { isMap, isScalar, type Node, type Pair, type YAMLMap } from "yaml";
import {
  findLineEnd,
  getColumn,
  getKeyName,
  getNodeEnd,
  getNodeRange,
  removeFlowItem,
} from "../../settings-files/edit-element";
import { EditError } from "../../settings-files/edit-error";
import { findCommentsEnd, findCommentsStart, getLineStart, parseUnnamed } from "../../settings-files/edit-text";
import type { YamlSource } from "../../settings-files/yaml-source";
import { formatYamlText } from "../../settings-files/yaml-text";
import { TARGETS_VERSION } from "./targets-schema";

/** The fields of a new tenant that differ from the file's defaults. */
export interface TenantFields {
  readonly baseUrl?: string;
  readonly keyVariable?: string;
  readonly settings?: string;
  /** Default: the tenant's name. */
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
export function addTenant(text: string, name: string, tenant: TenantFields): string {
  return editTargetsText(
    text,
    (file) => {
      if (file.pairs.some(({ key }) => getKeyName(key) === name))
        throw buildEditError(`it already has the tenant ${name}`);
      const { tenants, lineEnd } = file;
      if (tenants === undefined) {
        const header = file.text === "" ? `version: ${TARGETS_VERSION}${lineEnd}` : file.text;
        return `${header}${lineEnd}tenants:${lineEnd}${renderBlock(name, tenant, 2, 2, lineEnd)}`;
      }
      const { value } = tenants;
      if (!isMap(value) || value.items.length === 0) {
        // `tenants:` has no value, or empty braces.
        const colonOffset = file.text.indexOf(":", getNodeEnd(tenants.key as Node)) + 1;
        const endOffset = isMap(value) ? getNodeEnd(value as unknown as Node) : colonOffset;
        const lineEndOffset = findLineEnd(file.text, endOffset);
        const column = getColumn(file.text, getNodeRange(tenants.key as Node)[0]) + 2;
        const trailing = file.text.slice(endOffset, lineEndOffset);
        return `${file.text.slice(0, colonOffset)}${trailing}${renderBlock(name, tenant, column, 2, lineEnd)}${file.text.slice(lineEndOffset)}`;
      }
      return value.flow === true
        ? insertInFlow(file.text, value, name, tenant)
        : insertBelowLast(file.text, value, name, tenant, lineEnd);
    },
    (value) => ({ ...value, tenants: { ...toMapping(value["tenants"]), [name]: buildFieldData(tenant) } }),
  );
}

/**
 * Removes a tenant from its targets file, with the comment lines directly above it and inside it, and keeps everything else byte for byte.
 * A comment below it is inside it only in the column of its keys.
 * Parses the result, to verify that only this tenant differs.
 *
 * @throws {EditError} (`ERR_SETTINGS_EDIT`) if the tenant doesn't exist, or the style of the file doesn't permit such an edit.
 */
export function removeTenant(text: string, name: string): string {
  return editTargetsText(
    text,
    ({ text: fullText, tenants, pairs }) => {
      const index = pairs.findIndex(({ key }) => getKeyName(key) === name);
      const pair = pairs[index];
      if (pair === undefined || !isMap(tenants?.value)) throw buildEditError(`it has no tenant ${name}`);
      const map = tenants.value;
      if (map.flow === true) {
        const previousPair = pairs[index - 1];
        return removeFlowItem(
          fullText,
          ...getPairSpan(pair),
          previousPair === undefined ? undefined : getPairSpan(previousPair)[1],
        );
      }
      const { from, ownEnd } = getTenantLines(fullText, map, index);
      if (pairs.length > 1) return fullText.slice(0, from) + fullText.slice(ownEnd);
      // YAML reads a key without a value as null, which isn't a mapping.
      const colonOffset = fullText.indexOf(":", getNodeEnd(tenants.key as Node)) + 1;
      return `${fullText.slice(0, colonOffset)} {}${fullText.slice(colonOffset, from)}${fullText.slice(ownEnd)}`;
    },
    (value) => {
      const { [name]: _removed, ...others } = toMapping(value["tenants"]);
      return { ...value, tenants: others };
    },
  );
}

/** The fields that a renamed tenant needs, because its former name determined their values. */
export interface RetainedFields {
  readonly stack?: string;
  readonly baseUrl?: string;
  readonly key?: DeclaredKeySource;
  readonly settings?: string;
}

export type DeclaredKeySource =
  | { readonly environment: string }
  | { readonly file: string }
  | { readonly command: readonly string[] };

/**
 * Renames a tenant in place, and keeps everything else byte for byte. Parses the result, to verify that only the name
 * and the kept settings differ.
 *
 * @param name the same as `currentName` if only settings are to be added.
 * @throws {EditError} (`ERR_SETTINGS_EDIT`) if the tenant doesn't exist, the name is taken, or the style of the file
 * doesn't permit such an edit.
 */
export function renameTenant(text: string, currentName: string, name: string, retainedFields: RetainedFields): string {
  const hasRetained = Object.keys(retainedFields).length > 0;
  return editTargetsText(
    text,
    ({ text: fullText, lineEnd, pairs }) => {
      const pair = pairs.find(({ key }) => getKeyName(key) === currentName);
      if (pair === undefined) throw buildEditError(`it has no tenant ${currentName}`);
      const isTaken = name !== currentName && pairs.some(({ key }) => getKeyName(key) === name);
      if (isTaken) throw buildEditError(`it already has the tenant ${name}`);
      const [start, end] = getNodeRange(pair.key as Node);
      const renamed = fullText.slice(0, start) + formatYamlText(name, { isFlow: true }) + fullText.slice(end);
      const shift = renamed.length - fullText.length;
      const fieldTexts = Object.entries(retainedFields).map(
        ([field, value]) => `${field}: ${typeof value === "string" ? formatFlowText(value) : formatKeySource(value)}`,
      );
      if (!hasRetained) return renamed;
      const { value } = pair;
      if (isMap(value) && value.flow !== true && value.items.length > 0) {
        const insertOffset = getNodeRange(value as unknown as Node)[0] + shift;
        const padding = " ".repeat(getColumn(renamed, insertOffset));
        const insertion = fieldTexts.map((fieldText) => `${fieldText}${lineEnd}${padding}`).join("");
        return renamed.slice(0, insertOffset) + insertion + renamed.slice(insertOffset);
      }
      if (isMap(value)) {
        const insertOffset = getNodeRange(value as unknown as Node)[0] + shift + 1;
        const trailing = renamed.slice(insertOffset);
        const isEmpty = value.items.length === 0;
        const insertion = ` ${fieldTexts.join(", ")}${isEmpty ? " " : ","}`;
        return renamed.slice(0, insertOffset) + insertion + (isEmpty ? trailing.replace(/^\s*/, "") : trailing);
      }
      if (!isNull(value)) throw buildEditError(NOT_EDITABLE_MESSAGE);
      const colonOffset = renamed.indexOf(":", end + shift) + 1;
      return `${renamed.slice(0, colonOffset)} { ${fieldTexts.join(", ")} }${renamed.slice(colonOffset)}`;
    },
    (value) => ({
      ...value,
      tenants: Object.fromEntries(
        Object.entries(toMapping(value["tenants"])).map(([tenantName, fields]) =>
          tenantName === currentName
            ? [name, hasRetained ? { ...toMapping(fields), ...retainedFields } : fields]
            : [tenantName, fields],
        ),
      ),
    }),
  );
}

function formatKeySource(key: DeclaredKeySource): string {
  if ("command" in key) return `{ command: [${key.command.map(formatFlowText).join(", ")}] }`;
  return "file" in key
    ? `{ file: ${formatFlowText(key.file)} }`
    : `{ environment: ${formatFlowText(key.environment)} }`;
}

function formatFlowText(text: string): string {
  return formatYamlText(text, { isFlow: true });
}

/** A targets file in which every line, including the last, has a line ending. */
interface EditedTargetsFile {
  readonly text: string;
  readonly lineEnd: string;
  readonly tenants: Pair | undefined;
  readonly pairs: readonly Pair[];
}

/** Edits a text, and verifies that the parsed result is as expected. */
function editTargetsText(
  text: string,
  applyEdit: (file: EditedTargetsFile) => string,
  buildExpected: (value: Readonly<Record<string, unknown>>) => unknown,
): string {
  const byteOrderMark = text.startsWith("\uFEFF") ? "\uFEFF" : "";
  const body = text.slice(byteOrderMark.length);
  const lineEnd = body.includes("\r\n") ? "\r\n" : "\n";
  const lacksFinalLineEnd = body !== "" && !body.endsWith("\n");
  const terminatedText = lacksFinalLineEnd ? body + lineEnd : body;
  const { document, value } = parseTargetsText(terminatedText);
  const root: unknown = document.contents;
  if (body !== "" && (!isMap(root) || root.flow === true)) {
    throw buildEditError("it is a flow mapping ({ … }), or isn't a mapping of keys and values; edit it by hand");
  }
  const tenants = isMap(root) ? root.items.find(({ key }) => getKeyName(key) === "tenants") : undefined;
  const isInvalidTenants = tenants !== undefined && !isMap(tenants.value) && !isNull(tenants.value);
  if (isInvalidTenants) throw buildEditError("its `tenants` isn't a mapping of names");
  const pairs = isMap(tenants?.value) ? (tenants.value.items as Pair[]) : [];
  const editedText = applyEdit({ text: terminatedText, lineEnd, tenants, pairs });
  const result = lacksFinalLineEnd ? editedText.replace(/\r?\n$/, "") : editedText;
  const originalValue = body === "" ? { version: TARGETS_VERSION } : toMapping(value);
  if (!haveSameTenants(parseTargetsText(result).value, buildExpected(originalValue))) {
    throw buildEditError(NOT_EDITABLE_MESSAGE);
  }
  return byteOrderMark + result;
}

const NOT_EDITABLE_MESSAGE = "its form can't be edited line by line; edit it by hand";

/** Doesn't repeat the YAML errors, because a key may be next to them. The reader of targets files reports them. */
function parseTargetsText(text: string): YamlSource {
  const source = parseUnnamed(text);
  if (source.findings.some(({ level }) => level === "error")) throw buildEditError(NOT_EDITABLE_MESSAGE);
  return source;
}

function buildEditError(reason: string): EditError {
  return new EditError(reason, "The targets file");
}

/** Whether both values are equal, with their tenants in the same order. The order matters because waves may take the first tenants. */
function haveSameTenants(a: unknown, b: unknown): boolean {
  const listTenantNames = (value: unknown): string[] => Object.keys(toMapping(toMapping(value)["tenants"]));
  return isDeepStrictEqual(a, b) && isDeepStrictEqual(listTenantNames(a), listTenantNames(b));
}

function toMapping(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
}

function isNull(value: unknown): boolean {
  return value === null || (isScalar(value) && value.value === null);
}

function getPairSpan({ key, value }: Pair): readonly [start: number, end: number] {
  const [start] = getNodeRange(key as Node);
  return [start, value === null ? getNodeEnd(key as Node) : getNodeEnd(value as Node)];
}

interface TenantLines {
  /** The start of the comments above it. */
  readonly from: number;
  /** The end of its own lines, with the comments in the column of its keys. */
  readonly ownEnd: number;
  /** The end of all comments below it that are indented more. They may be about the next tenant. */
  readonly until: number;
  readonly column: number;
}

function getTenantLines(text: string, map: YAMLMap, index: number): TenantLines {
  const pair = map.items[index] as Pair;
  const [start, end] = getPairSpan(pair);
  const column = getColumn(text, start);
  const lineStart = getLineStart(text, start);
  if (text.slice(lineStart, start).trim() !== "") throw buildEditError("its tenants don't have their own lines");
  const previousEnd = index === 0 ? 0 : getPairSpan(map.items[index - 1] as Pair)[1];
  const startOffset = findCommentsStart(
    text,
    lineStart,
    column,
    previousEnd === 0 ? 0 : findLineEnd(text, previousEnd),
  );
  const nodeEnd = text[end - 1] === "\n" ? end : findLineEnd(text, end);
  const { value } = pair;
  const isBlockMapping = isMap(value) && value.flow !== true;
  const ownEnd = isBlockMapping
    ? findCommentsEnd(text, nodeEnd, getColumn(text, getNodeRange(value as unknown as Node)[0]) - 1)
    : nodeEnd;
  return { from: startOffset, ownEnd, until: findCommentsEnd(text, ownEnd, column), column };
}

/** Adds a tenant below the last one, in the same style. */
function insertBelowLast(text: string, map: YAMLMap, name: string, tenant: TenantFields, lineEnd: string): string {
  const lastIndex = map.items.length - 1;
  const { from, until, column } = getTenantLines(text, map, lastIndex);
  const { value } = map.items[lastIndex] as Pair;
  const isFlow = isMap(value) && value.flow === true;
  const hasBlankLine = lastIndex > 0 && new RegExp(`${lineEnd}${lineEnd}$`).test(text.slice(0, from));
  const innerIndent = isMap(value) && !isFlow ? getColumn(text, getNodeRange(value as unknown as Node)[0]) - column : 2;
  const flowLine = `${" ".repeat(column)}${formatYamlText(name)}: ${renderFlow(tenant)}${lineEnd}`;
  const fitsOnLine = isFlow && flowLine.length <= MAX_LINE_LENGTH;
  const insertion = fitsOnLine ? flowLine : renderBlock(name, tenant, column, innerIndent, lineEnd);
  return `${text.slice(0, until)}${hasBlankLine ? lineEnd : ""}${insertion}${text.slice(until)}`;
}

const MAX_LINE_LENGTH = 120;

/** Adds a tenant inside the braces of all tenants, after the last one. */
function insertInFlow(text: string, map: YAMLMap, name: string, tenant: TenantFields): string {
  const [, end] = getPairSpan(map.items.at(-1) as Pair);
  return `${text.slice(0, end)}, ${formatYamlText(name, { isFlow: true })}: ${renderFlow(tenant)}${text.slice(end)}`;
}

function renderBlock(name: string, tenant: TenantFields, column: number, innerIndent: number, lineEnd: string): string {
  const { baseUrl, keyVariable, settings, stack, labels } = tenant;
  const lines = [
    ...(baseUrl === undefined ? [] : [`baseUrl: ${formatYamlText(baseUrl)}`]),
    ...(keyVariable === undefined ? [] : [`key: { environment: ${formatYamlText(keyVariable, { isFlow: true })} }`]),
    ...(settings === undefined ? [] : [`settings: ${formatYamlText(settings)}`]),
    ...(stack === undefined ? [] : [`stack: ${formatYamlText(stack)}`]),
    ...(labels === undefined ? [] : [`labels: ${renderFlowLabels(labels)}`]),
  ];
  const padding = " ".repeat(column);
  const head = `${padding}${formatYamlText(name)}:${lines.length === 0 ? " {}" : ""}${lineEnd}`;
  return head + lines.map((line) => `${padding}${" ".repeat(innerIndent)}${line}${lineEnd}`).join("");
}

function renderFlow({ baseUrl, keyVariable, settings, stack, labels }: TenantFields): string {
  const parts = [
    ...(baseUrl === undefined ? [] : [`baseUrl: ${formatFlowText(baseUrl)}`]),
    ...(keyVariable === undefined ? [] : [`key: { environment: ${formatFlowText(keyVariable)} }`]),
    ...(settings === undefined ? [] : [`settings: ${formatFlowText(settings)}`]),
    ...(stack === undefined ? [] : [`stack: ${formatFlowText(stack)}`]),
    ...(labels === undefined ? [] : [`labels: ${renderFlowLabels(labels)}`]),
  ];
  return parts.length === 0 ? "{}" : `{ ${parts.join(", ")} }`;
}

function renderFlowLabels(labels: Readonly<Record<string, string>>): string {
  return `{ ${Object.entries(labels)
    .map(([label, value]) => `${formatFlowText(label)}: ${formatFlowText(value)}`)
    .join(", ")} }`;
}

/** Returns the tenant as the edited file declares it, in parsed form. */
function buildFieldData({ baseUrl, keyVariable, settings, stack, labels }: TenantFields): Record<string, unknown> {
  const data: Record<string, unknown> = {};
  if (baseUrl !== undefined) data["baseUrl"] = baseUrl;
  if (keyVariable !== undefined) data["key"] = { environment: keyVariable };
  if (settings !== undefined) data["settings"] = settings;
  if (stack !== undefined) data["stack"] = stack;
  if (labels !== undefined) data["labels"] = { ...labels };
  return data;
}

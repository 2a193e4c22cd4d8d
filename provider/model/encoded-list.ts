import type { AllowDenyEntryInputs, VipEmployeeInputs } from "./arguments";
import { DEFAULT_VERDICT_SCOPE, ENTRY_LISTS, ENTRY_TYPES, type EntryType } from "./assumptions";
import { ENTRY_FIELD_DEFINITIONS, type EntryState, type FieldDefinition, VIP_FIELD_DEFINITIONS } from "./entry-fields";
import { canonicalizeMailbox, canonicalizeValue, inferEntryType, isPlainDomain } from "./entry-value";
import { canonicalizeComment, percentEncodeUnprintable, sanitizeLine } from "./text";

/**
 * A whole list as stored in arguments and state: one short text per key. Diffs are therefore per key, and state stays small.
 *
 * The allow/deny list: `{ "evil.example": "deny: INC-7", "mail.example (graymail)": "allow" }`. The key is the canonical value, with its
 * verdict scope unless that is the default. Other fields follow the list between brackets, each with its name:
 * `"allow (risk accepted: they have no other domain): Contract 7"`.
 *
 * The VIP list: `{ "ceo@company.example": "Chief executive" }`, with such fields before the comment. A field name that this release doesn't
 * know is kept unchanged, because a later release wrote it.
 */
export type EncodedList = Readonly<Record<string, string>>;

/** One entry of an encoded list, with each value in canonical form. No text is empty. */
export interface ListedEntry extends Omit<AllowDenyEntryInputs, "adopt"> {
  readonly unknown?: UnknownFields;
}

/** Fields that this release doesn't know, by their names between brackets. */
export type UnknownFields = Readonly<Record<string, string>>;

/** One member of an encoded VIP list, with each value in canonical form. */
export interface ListedVip extends Omit<VipEmployeeInputs, "onDelete"> {
  readonly unknown?: UnknownFields;
}

/** Prefixes the text of a key that a refresh found but no program declared. */
const UNMANAGED_PREFIX = "(unmanaged) ";

/** Marks the text of a key as not declared. */
export function markUnmanaged(text: string): string {
  return UNMANAGED_PREFIX + text;
}

export function isUnmanaged(text: string): boolean {
  return text.startsWith(UNMANAGED_PREFIX);
}

export function stripUnmanaged(text: string): string {
  return isUnmanaged(text) ? text.slice(UNMANAGED_PREFIX.length) : text;
}

/** Whether an entry has the most common form: a plain domain on a list, with or without a plain comment. */
export function isPlainEntry(key: string, text: string): boolean {
  return PLAIN_ENTRY_TEXT.test(text) && isPlainDomain(key);
}

/** The comment is printable ASCII without trailing spaces and without sequences that make a comment harmful. */
const PLAIN_ENTRY_TEXT = /^(?:allow|deny)(?:: (?!.*(?:<\{|##|::))[!-~](?:[ -~]*[!-~])?)?$/;

/** Returns the key of an entry. It holds the value, the scope unless it is the default, and the type if the value doesn't imply it. */
export function encodeEntryKey(entry: {
  readonly value: string;
  readonly entryType: string;
  readonly verdictScope: string;
}): string {
  const isPlain = entry.entryType === "domain" && entry.verdictScope === DEFAULT_VERDICT_SCOPE;
  if (isPlain && isPlainDomain(entry.value)) return entry.value;
  const value = canonicalizeValue(entry.value);
  const qualifiers = [];
  if (entry.verdictScope !== DEFAULT_VERDICT_SCOPE) qualifiers.push(escapeKeyPart(entry.verdictScope));
  if (inferEntryType(value) !== entry.entryType) qualifiers.push(`${TYPE_PREFIX}${escapeKeyPart(entry.entryType)}`);
  return escapeKeyPart(value) + (qualifiers.length === 0 ? "" : ` (${qualifiers.join(", ")})`);
}

/**
 * Returns the properties that identify an entry apart from its id. A service may hold a value once per list and scope.
 */
export function buildEntryDeclarationKey(entry: {
  readonly list: string;
  readonly value: string;
  readonly entryType: string;
  readonly verdictScope: string;
}): string {
  return `${entry.list} ${encodeEntryKey(entry)}`;
}

/** The fields that the text of a key encodes, in any form. Other properties are ignored. */
type EncodableFields = {
  readonly [Name in Exclude<keyof EntryState, "list">]?: EntryState[Name] | undefined;
} & {
  readonly unknown?: UnknownFields | undefined;
};

/** Encodes an entry as text: its list, its fields between brackets, and its comment. */
export function encodeEntry(entry: EncodableFields & { readonly list: string }): string {
  const comment = canonicalizeComment(entry.comment);
  const list = `${entry.list}${encodeBracketFields(entry)}`;
  return comment === "" ? list : `${list}: ${comment}`;
}

export function encodeBracketFields(entry: EncodableFields): string {
  return formatBracketFields(ENTRY_BRACKETS, entry)
    .map((field) => ` ${field}`)
    .join("");
}

const NAME_PATTERN = "[a-z][a-z ]*";
const VALUE_PATTERN = String.raw`(?:[^\\()]|\\.|\([^\\()]*\))*`;
/** Matches one field: `(risk accepted: Contract (2026))`. An unpaired bracket in the value is escaped: `\)`. */
const FIELD_PATTERN = new RegExp(String.raw`\((${NAME_PATTERN}): (${VALUE_PATTERN})\)`, "gs");
const ENTRY_PATTERN = new RegExp(
  String.raw`^(allow|deny)((?: \(${NAME_PATTERN}: ${VALUE_PATTERN}\))*)(?:: ?(.*))?$`,
  "s",
);
const VIP_PATTERN = new RegExp(String.raw`^((?:\(${NAME_PATTERN}: ${VALUE_PATTERN}\)(?: |$))*)(.*)$`, "s");
/** Matches the start of a comment that looks like a field or the prefix for unmanaged keys. */
const FIELD_LIKE_START = new RegExp(String.raw`^\\*\((?:${NAME_PATTERN}: |unmanaged\) )`);

/** The fields by their names between brackets. Computed once, because lists have thousands of entries. */
const ENTRY_BRACKETS = buildBrackets(ENTRY_FIELD_DEFINITIONS);
const VIP_BRACKETS = buildBrackets(VIP_FIELD_DEFINITIONS);

type Brackets = ReadonlyMap<string, Required<Pick<FieldDefinition, "canonical">> & { readonly name: string }>;

function buildBrackets(fields: Readonly<Record<string, FieldDefinition>>): Brackets {
  return new Map(
    Object.entries(fields).flatMap(([name, { bracket, canonical = (value: unknown) => value }]) =>
      bracket === undefined ? [] : [[bracket, { name, canonical }]],
    ),
  );
}

/** Formats the fields between brackets in the order of their descriptors. Fields of a later release come last. */
function formatBracketFields(
  brackets: Brackets,
  values: { readonly unknown?: UnknownFields | undefined },
): readonly string[] {
  const fields: string[] = [];
  const add = (bracketName: string, value: unknown): void => {
    const text = canonicalizeComment(value === undefined ? undefined : String(value));
    if (text !== "") fields.push(`(${bracketName}: ${escapeBrackets(text)})`);
  };
  for (const [bracketName, { name, canonical }] of brackets)
    add(bracketName, canonical((values as Readonly<Record<string, unknown>>)[name]));
  for (const [bracketName, value] of Object.entries(values.unknown ?? {})) add(bracketName, value);
  return fields;
}

/** Parses the fields between brackets. Fields that this release knows get their argument names. */
function decodeBracketFields(brackets: Brackets, text: string): EntryState & { readonly unknown?: UnknownFields } {
  if (text === "") return {};
  const values: Record<string, unknown> = {};
  const unknown: Record<string, string> = {};
  for (const [, bracketName = "", raw = ""] of text.matchAll(FIELD_PATTERN)) {
    const value = unescapeBrackets(raw);
    const field = brackets.get(bracketName);
    if (value !== "" && field !== undefined) values[field.name] = field.canonical(value);
    else if (value !== "") unknown[bracketName] = value;
  }
  return Object.keys(unknown).length === 0 ? values : { ...values, unknown };
}

/** Escapes brackets that would end a field early. A bracket pair without nesting stays readable. */
function escapeBrackets(text: string): string {
  return text.replace(/\([^\\()]*\)|[\\()]/g, (match) => (match.length > 1 ? match : `\\${match}`));
}

function unescapeBrackets(text: string): string {
  return canonicalizeComment(text.replace(/\\(.)/gs, "$1"));
}

/** Parses a key and its text. Undefined if {@link encodeEntryKey} and {@link encodeEntry} could not have written them. */
export function decodeEntry(key: string, text: string): ListedEntry | undefined {
  if (isPlainEntry(key, text)) {
    const list = text.startsWith("deny") ? "deny" : "allow";
    const comment = text.slice(list.length + 2);
    const entry = { list, value: key, entryType: "domain", verdictScope: DEFAULT_VERDICT_SCOPE } as const;
    return comment === "" ? entry : { ...entry, comment };
  }
  const [, list, fields = "", comment = ""] = ENTRY_PATTERN.exec(stripUnmanaged(text)) ?? [];
  const knownList = ENTRY_LISTS.find((candidate) => candidate === list);
  if (knownList === undefined) return undefined;
  const { name, qualifiers } = splitKey(key);
  const value = unescapeKeyPart(name);
  let verdictScope: string = DEFAULT_VERDICT_SCOPE;
  let entryType: string | undefined;
  for (const qualifier of qualifiers?.split(", ") ?? []) {
    if (qualifier.startsWith(TYPE_PREFIX)) entryType = unescapeKeyPart(qualifier.slice(TYPE_PREFIX.length));
    else if (!qualifier.startsWith(ALSO_PREFIX)) verdictScope = unescapeKeyPart(qualifier);
  }
  const decodedComment = canonicalizeComment(comment);
  return {
    list: knownList,
    value,
    entryType: (entryType ?? inferEntryType(value) ?? ENTRY_TYPES[0]) as EntryType,
    verdictScope,
    ...(decodedComment === "" ? {} : { comment: decodedComment }),
    ...decodeBracketFields(ENTRY_BRACKETS, fields),
  };
}

/** Returns another key for an entry whose key is taken, for example by the same value on the other list. */
export function buildAlternateKey(key: string, list: string, isTaken: (key: string) => boolean): string {
  const { name, qualifiers } = splitKey(key);
  const allQualifiers = [...(qualifiers === undefined ? [] : [qualifiers]), `${ALSO_PREFIX}${escapeKeyPart(list)}`];
  for (let count = 1; ; count += 1) {
    const alternateKey = `${name} (${allQualifiers.join(", ")}${count === 1 ? "" : `, ${ALSO_PREFIX}${count}`})`;
    if (!isTaken(alternateKey)) return alternateKey;
  }
}

/** Returns the part of a key before its qualifiers. It is the same for all entries of one value. */
export function getKeyBaseName(key: string): string {
  return splitKey(key).name;
}

function splitKey(key: string): { readonly name: string; readonly qualifiers: string | undefined } {
  // A fast path: most keys have no qualifiers.
  if (!key.endsWith(")")) return { name: key, qualifiers: undefined };
  const [, name = "", qualifiers] = /^(.*?)(?: \(([^()]*)\))?$/s.exec(key) ?? [];
  return { name, qualifiers };
}

/** Sorts a list by key, so that the order in which it was written doesn't matter. */
export function sortListByKey<Text>(content: Readonly<Record<string, Text>>): Record<string, Text> {
  const keys = Object.keys(content);
  const isSorted = keys.every((key, index) => index === 0 || (keys[index - 1] ?? "") < key);
  return isSorted ? content : Object.fromEntries(keys.sort().map((key) => [key, content[key] as Text]));
}

export function decodeVip(key: string, text: string): ListedVip {
  const [, fields = "", commentText = ""] = VIP_PATTERN.exec(stripUnmanaged(text)) ?? [];
  const comment = canonicalizeComment(
    FIELD_LIKE_START.test(commentText) && commentText.startsWith("\\") ? commentText.slice(1) : commentText,
  );
  return { email: key, ...(comment === "" ? {} : { comment }), ...decodeBracketFields(VIP_BRACKETS, fields) };
}

export function encodeVipKey(email: string): string {
  // The service may return an invalid mailbox, and Pulumi prints keys unescaped.
  return sanitizeLine(canonicalizeMailbox(email));
}

export function encodeVip(vip: EncodableFields): string {
  const comment = canonicalizeComment(vip.comment);
  const fields = formatBracketFields(VIP_BRACKETS, vip);
  return [...fields, FIELD_LIKE_START.test(comment) ? `\\${comment}` : comment].filter((part) => part !== "").join(" ");
}

const TYPE_PREFIX = "type ";
const ALSO_PREFIX = "also ";

/** Percent-encodes characters with a meaning in a key, so that any value from the service can be parsed back and printed. */
function escapeKeyPart(text: string): string {
  return percentEncodeUnprintable(
    text
      .replace(/[%()\s,]/g, encodeURIComponent)
      .replace(/[()]/g, (bracketCharacter) => (bracketCharacter === "(" ? "%28" : "%29")),
  );
}

function unescapeKeyPart(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

import type { AllowDenyEntryInputs, VipEmployeeInputs } from "./arguments";
import { DEFAULT_VERDICT_SCOPE, ENTRY_TYPES, type EntryType, LISTS } from "./assumptions";
import { ENTRY_FIELDS, type Field, type Standing, VIP_FIELDS } from "./entry-fields";
import { canonicalMailbox, canonicalValue, isPlainDomain, parseEntryValue } from "./entry-value";
import { canonicalComment, percentEncoded, printable } from "./text";

/**
 * A whole list as arguments and state hold it: one short text a key, so that a difference is one of keys, and state
 * stays small.
 *
 * The allow/deny list: `{ "evil.example": "deny: INC-7", "mail.example (graymail)": "allow" }`, the value in canonical
 * form with its verdict scope where that is not the default. Other fields stand between brackets behind the list, each with its name:
 * `"allow (risk accepted: they have no other domain): Contract 7"`. The VIP list: `{ "ceo@company.example": "Chief executive" }`, with such
 * fields before the comment. A name that this release doesn't know is kept as it is: a later release wrote it.
 */
export type KeyedList = Readonly<Record<string, string>>;

/** One entry of a keyed list, each value in canonical form; no text is empty. */
export interface ListedEntry extends Omit<AllowDenyEntryInputs, "adopt"> {
  readonly unknown?: UnknownFields;
}

/** Fields that this release doesn't know, by their names between brackets. */
export type UnknownFields = Readonly<Record<string, string>>;

/** One member of a keyed VIP list, the same. */
export interface ListedVip extends Omit<VipEmployeeInputs, "onDelete"> {
  readonly unknown?: UnknownFields;
}

/** What stands before the text of a key that a refresh has found, and that no program has declared. */
const UNMANAGED_PREFIX = "(unmanaged) ";

/** The text of a key that nobody declared. */
export function asUnmanaged(text: string): string {
  return UNMANAGED_PREFIX + text;
}

export function isUnmanaged(text: string): boolean {
  return text.startsWith(UNMANAGED_PREFIX);
}

/** The text as it would be declared. */
export function asDeclared(text: string): string {
  return isUnmanaged(text) ? text.slice(UNMANAGED_PREFIX.length) : text;
}

/** Whether a key and its text are what almost all are: a plain domain and a list, with or without a plain comment. */
export function isPlainEntry(key: string, text: string): boolean {
  return PLAIN_ENTRY_TEXT.test(text) && isPlainDomain(key);
}

/** Printable ASCII, with no space at its end, and nothing of what makes a comment harmful. */
const PLAIN_ENTRY_TEXT = /^(?:allow|deny)(?:: (?!.*(?:<\{|##|::))[!-~](?:[ -~]*[!-~])?)?$/;

/** The key of an entry: it holds the entry's value, its scope where that is not the default, and its type where the value does not tell it. */
export function keyOfEntry(entry: {
  readonly value: string;
  readonly entryType: string;
  readonly verdictScope: string;
}): string {
  const isPlain = entry.entryType === "domain" && entry.verdictScope === DEFAULT_VERDICT_SCOPE;
  if (isPlain && isPlainDomain(entry.value)) return entry.value;
  const value = canonicalValue(entry.value);
  const qualifiers = [];
  if (entry.verdictScope !== DEFAULT_VERDICT_SCOPE) qualifiers.push(escapeKeyPart(entry.verdictScope));
  if (inferEntryType(value) !== entry.entryType)
    qualifiers.push(`${TYPE_PREFIX}${escapeKeyPart(entry.entryType)}`);
  return escapeKeyPart(value) + (qualifiers.length === 0 ? "" : ` (${qualifiers.join(", ")})`);
}

/** What makes an entry one of its own beside its id: a service may hold one value once per list and scope. */
export function entryKey(entry: {
  readonly list: string;
  readonly value: string;
  readonly entryType: string;
  readonly verdictScope: string;
}): string {
  return `${entry.list} ${keyOfEntry(entry)}`;
}

/** What the text of a key is made of, in any form; what is no field of it is passed over. */
type EncodableFields = { readonly [Name in Exclude<keyof Standing, "list">]?: Standing[Name] | undefined } & {
  readonly unknown?: UnknownFields | undefined;
};

/** The text of an entry: its list, its fields between brackets, and its comment. */
export function textOfEntry(entry: EncodableFields & { readonly list: string }): string {
  const comment = canonicalComment(entry.comment);
  const list = `${entry.list}${bracketsText(entry)}`;
  return comment === "" ? list : `${list}: ${comment}`;
}

/** The fields of an entry between brackets, as they stand behind its list. */
export function bracketsText(entry: EncodableFields): string {
  return formatBracketFields(ENTRY_BRACKETS, entry)
    .map((field) => ` ${field}`)
    .join("");
}

const NAME_PATTERN = "[a-z][a-z ]*";
const VALUE_PATTERN = String.raw`(?:[^\\()]|\\.|\([^\\()]*\))*`;
/** One field: `(risk accepted: Contract (2026))`; a bracket in the value that has no partner is `\)`. */
const FIELD_PATTERN = new RegExp(String.raw`\((${NAME_PATTERN}): (${VALUE_PATTERN})\)`, "gs");
const ENTRY_PATTERN = new RegExp(
  String.raw`^(allow|deny)((?: \(${NAME_PATTERN}: ${VALUE_PATTERN}\))*)(?:: ?(.*))?$`,
  "s",
);
const VIP_PATTERN = new RegExp(String.raw`^((?:\(${NAME_PATTERN}: ${VALUE_PATTERN}\)(?: |$))*)(.*)$`, "s");
/** The start of a comment that could be taken for a field, or for the mark of what nobody declared. */
const FIELD_LIKE_START = new RegExp(String.raw`^\\*\((?:${NAME_PATTERN}: |unmanaged\) )`);

/** The fields between brackets by their names there. Lists of thousands are read and written by them. */
const ENTRY_BRACKETS = buildBrackets(ENTRY_FIELDS);
const VIP_BRACKETS = buildBrackets(VIP_FIELDS);

type Brackets = ReadonlyMap<string, Required<Pick<Field, "canonical">> & { readonly name: string }>;

function buildBrackets(fields: Readonly<Record<string, Field>>): Brackets {
  return new Map(
    Object.entries(fields).flatMap(([name, { bracket, canonical = (value: unknown) => value }]) =>
      bracket === undefined ? [] : [[bracket, { name, canonical }]],
    ),
  );
}

/** The fields that stand between brackets, in the order of their descriptors; those of a later release come last. */
function formatBracketFields(
  brackets: Brackets,
  values: { readonly unknown?: UnknownFields | undefined },
): readonly string[] {
  const fields: string[] = [];
  const add = (bracketName: string, value: unknown): void => {
    const text = canonicalComment(value === undefined ? undefined : String(value));
    if (text !== "") fields.push(`(${bracketName}: ${escapeBrackets(text)})`);
  };
  for (const [bracketName, { name, canonical }] of brackets)
    add(bracketName, canonical((values as Readonly<Record<string, unknown>>)[name]));
  for (const [bracketName, value] of Object.entries(values.unknown ?? {})) add(bracketName, value);
  return fields;
}

/** Reads fields between brackets back: those that this release knows by their names as arguments. */
function decodeBracketFields(
  brackets: Brackets,
  text: string,
): Standing & { readonly unknown?: UnknownFields } {
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

/** A value as it stands between brackets: what would end them is escaped, a pair of its own is left readable. */
function escapeBrackets(text: string): string {
  return text.replace(/\([^\\()]*\)|[\\()]/g, (match) => (match.length > 1 ? match : `\\${match}`));
}

function unescapeBrackets(text: string): string {
  return canonicalComment(text.replace(/\\(.)/gs, "$1"));
}

/** Reads a key and its text back. Undefined when they are not what {@link keyOfEntry} and {@link textOfEntry} write. */
export function readEntry(key: string, text: string): ListedEntry | undefined {
  if (isPlainEntry(key, text)) {
    const list = text.startsWith("deny") ? "deny" : "allow";
    const comment = text.slice(list.length + 2);
    const entry = { list, value: key, entryType: "domain", verdictScope: DEFAULT_VERDICT_SCOPE } as const;
    return comment === "" ? entry : { ...entry, comment };
  }
  const [, list, fields = "", comment = ""] = ENTRY_PATTERN.exec(asDeclared(text)) ?? [];
  const knownList = LISTS.find((candidate) => candidate === list);
  if (knownList === undefined) return undefined;
  const { name, qualifiers } = splitKey(key);
  const value = unescapeKeyPart(name);
  let verdictScope: string = DEFAULT_VERDICT_SCOPE;
  let entryType: string | undefined;
  for (const qualifier of qualifiers?.split(", ") ?? []) {
    if (qualifier.startsWith(TYPE_PREFIX)) entryType = unescapeKeyPart(qualifier.slice(TYPE_PREFIX.length));
    else if (!qualifier.startsWith(ALSO_PREFIX)) verdictScope = unescapeKeyPart(qualifier);
  }
  const decodedComment = canonicalComment(comment);
  return {
    list: knownList,
    value,
    entryType: (entryType ?? inferEntryType(value) ?? ENTRY_TYPES[0]) as EntryType,
    verdictScope,
    ...(decodedComment === "" ? {} : { comment: decodedComment }),
    ...decodeBracketFields(ENTRY_BRACKETS, fields),
  };
}

/** A key for an entry whose own is taken, as by the same value on the other list. */
export function anotherKey(key: string, list: string, isTaken: (key: string) => boolean): string {
  const { name, qualifiers } = splitKey(key);
  const allQualifiers = [
    ...(qualifiers === undefined ? [] : [qualifiers]),
    `${ALSO_PREFIX}${escapeKeyPart(list)}`,
  ];
  for (let count = 1; ; count += 1) {
    const alternateKey = `${name} (${allQualifiers.join(", ")}${count === 1 ? "" : `, ${ALSO_PREFIX}${count}`})`;
    if (!isTaken(alternateKey)) return alternateKey;
  }
}

/** What stands before the qualifiers of a key: the same for all entries of one value. */
export function nameOfKey(key: string): string {
  return splitKey(key).name;
}

function splitKey(key: string): { readonly name: string; readonly qualifiers: string | undefined } {
  // Of most, which a list has thousands of.
  if (!key.endsWith(")")) return { name: key, qualifiers: undefined };
  const [, name = "", qualifiers] = /^(.*?)(?: \(([^()]*)\))?$/s.exec(key) ?? [];
  return { name, qualifiers };
}

/** The order in which a list was written is no matter. */
export function sortedByKey<Text>(content: Readonly<Record<string, Text>>): Record<string, Text> {
  const keys = Object.keys(content);
  const isSorted = keys.every((key, index) => index === 0 || (keys[index - 1] ?? "") < key);
  return isSorted ? content : Object.fromEntries(keys.sort().map((key) => [key, content[key] as Text]));
}

/** Reads a member back. */
export function readVip(key: string, text: string): ListedVip {
  const [, fields = "", commentText = ""] = VIP_PATTERN.exec(asDeclared(text)) ?? [];
  const comment = canonicalComment(
    FIELD_LIKE_START.test(commentText) && commentText.startsWith("\\") ? commentText.slice(1) : commentText,
  );
  return { email: key, ...(comment === "" ? {} : { comment }), ...decodeBracketFields(VIP_BRACKETS, fields) };
}

export function keyOfVip(email: string): string {
  // What is no mailbox may come from the service all the same, and Pulumi prints a key as it is.
  return printable(canonicalMailbox(email));
}

/** The text of a member: its fields between brackets, and its comment. */
export function textOfVip(vip: EncodableFields): string {
  const comment = canonicalComment(vip.comment);
  const fields = formatBracketFields(VIP_BRACKETS, vip);
  return [...fields, FIELD_LIKE_START.test(comment) ? `\\${comment}` : comment]
    .filter((part) => part !== "")
    .join(" ");
}

const TYPE_PREFIX = "type ";
const ALSO_PREFIX = "also ";

function inferEntryType(toCanonical: string): string | undefined {
  const parsed = parseEntryValue(toCanonical);
  return parsed.ok ? parsed.value.entryType : undefined;
}

/** Whatever the service holds, a key can be read back and printed: what has a meaning in it is percent-encoded. */
function escapeKeyPart(text: string): string {
  return percentEncoded(
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

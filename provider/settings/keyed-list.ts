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
const UNMANAGED = "(unmanaged) ";

/** The text of a key that nobody declared. */
export function asUnmanaged(text: string): string {
  return UNMANAGED + text;
}

export function isUnmanaged(text: string): boolean {
  return text.startsWith(UNMANAGED);
}

/** The text as it would be declared. */
export function asDeclared(text: string): string {
  return isUnmanaged(text) ? text.slice(UNMANAGED.length) : text;
}

/** Whether a key and its text are what almost all are: a plain domain and a list, with or without a plain comment. */
export function isPlainEntry(key: string, text: string): boolean {
  return PLAIN_TEXT.test(text) && isPlainDomain(key);
}

/** Printable ASCII, with no space at its end, and nothing of what makes a comment harmful. */
const PLAIN_TEXT = /^(?:allow|deny)(?:: (?!.*(?:<\{|##|::))[!-~](?:[ -~]*[!-~])?)?$/;

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
  if (entry.verdictScope !== DEFAULT_VERDICT_SCOPE) qualifiers.push(escaped(entry.verdictScope));
  if (typeOf(value) !== entry.entryType) qualifiers.push(`${TYPE}${escaped(entry.entryType)}`);
  return escaped(value) + (qualifiers.length === 0 ? "" : ` (${qualifiers.join(", ")})`);
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
type Texts = { readonly [Name in Exclude<keyof Standing, "list">]?: Standing[Name] | undefined } & {
  readonly unknown?: UnknownFields | undefined;
};

/** The text of an entry: its list, its fields between brackets, and its comment. */
export function textOfEntry(entry: Texts & { readonly list: string }): string {
  const comment = canonicalComment(entry.comment);
  const list = `${entry.list}${bracketsText(entry)}`;
  return comment === "" ? list : `${list}: ${comment}`;
}

/** The fields of an entry between brackets, as they stand behind its list. */
export function bracketsText(entry: Texts): string {
  return bracketedFields(ENTRY_BRACKETS, entry)
    .map((field) => ` ${field}`)
    .join("");
}

const NAME = "[a-z][a-z ]*";
const VALUE = String.raw`(?:[^\\()]|\\.|\([^\\()]*\))*`;
/** One field: `(risk accepted: Contract (2026))`; a bracket in the value that has no partner is `\)`. */
const FIELD = new RegExp(String.raw`\((${NAME}): (${VALUE})\)`, "gs");
const ENTRY_TEXT = new RegExp(String.raw`^(allow|deny)((?: \(${NAME}: ${VALUE}\))*)(?:: ?(.*))?$`, "s");
const VIP_TEXT = new RegExp(String.raw`^((?:\(${NAME}: ${VALUE}\)(?: |$))*)(.*)$`, "s");
/** The start of a comment that could be taken for a field, or for the mark of what nobody declared. */
const LIKE_FIELD = new RegExp(String.raw`^\\*\((?:${NAME}: |unmanaged\) )`);

/** The fields between brackets by their names there. Lists of thousands are read and written by them. */
const ENTRY_BRACKETS = bracketsOf(ENTRY_FIELDS);
const VIP_BRACKETS = bracketsOf(VIP_FIELDS);

type Brackets = ReadonlyMap<string, Required<Pick<Field, "canonical">> & { readonly name: string }>;

function bracketsOf(fields: Readonly<Record<string, Field>>): Brackets {
  return new Map(
    Object.entries(fields).flatMap(([name, { bracket, canonical = (value: unknown) => value }]) =>
      bracket === undefined ? [] : [[bracket, { name, canonical }]],
    ),
  );
}

/** The fields that stand between brackets, in the order of their descriptors; those of a later release come last. */
function bracketedFields(
  brackets: Brackets,
  values: { readonly unknown?: UnknownFields | undefined },
): readonly string[] {
  const fields: string[] = [];
  const add = (bracket: string, value: unknown): void => {
    const text = canonicalComment(value === undefined ? undefined : String(value));
    if (text !== "") fields.push(`(${bracket}: ${bracketed(text)})`);
  };
  for (const [bracket, { name, canonical }] of brackets)
    add(bracket, canonical((values as Readonly<Record<string, unknown>>)[name]));
  for (const [bracket, value] of Object.entries(values.unknown ?? {})) add(bracket, value);
  return fields;
}

/** Reads fields between brackets back: those that this release knows by their names as arguments. */
function readFields(brackets: Brackets, text: string): Standing & { readonly unknown?: UnknownFields } {
  if (text === "") return {};
  const values: Record<string, unknown> = {};
  const unknown: Record<string, string> = {};
  for (const [, bracket = "", raw = ""] of text.matchAll(FIELD)) {
    const value = outOfBrackets(raw);
    const field = brackets.get(bracket);
    if (value !== "" && field !== undefined) values[field.name] = field.canonical(value);
    else if (value !== "") unknown[bracket] = value;
  }
  return Object.keys(unknown).length === 0 ? values : { ...values, unknown };
}

/** A value as it stands between brackets: what would end them is escaped, a pair of its own is left readable. */
function bracketed(text: string): string {
  return text.replace(/\([^\\()]*\)|[\\()]/g, (found) => (found.length > 1 ? found : `\\${found}`));
}

function outOfBrackets(text: string): string {
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
  const [, list, fields = "", comment = ""] = ENTRY_TEXT.exec(asDeclared(text)) ?? [];
  const knownList = LISTS.find((one) => one === list);
  if (knownList === undefined) return undefined;
  const { name, qualifiers } = partsOf(key);
  const value = unescaped(name);
  let verdictScope: string = DEFAULT_VERDICT_SCOPE;
  let entryType: string | undefined;
  for (const qualifier of qualifiers?.split(", ") ?? []) {
    if (qualifier.startsWith(TYPE)) entryType = unescaped(qualifier.slice(TYPE.length));
    else if (!qualifier.startsWith(ALSO)) verdictScope = unescaped(qualifier);
  }
  const why = canonicalComment(comment);
  return {
    list: knownList,
    value,
    entryType: (entryType ?? typeOf(value) ?? ENTRY_TYPES[0]) as EntryType,
    verdictScope,
    ...(why === "" ? {} : { comment: why }),
    ...readFields(ENTRY_BRACKETS, fields),
  };
}

/** A key for an entry whose own is taken, as by the same value on the other list. */
export function anotherKey(key: string, list: string, isTaken: (key: string) => boolean): string {
  const { name, qualifiers } = partsOf(key);
  const all = [...(qualifiers === undefined ? [] : [qualifiers]), `${ALSO}${escaped(list)}`];
  for (let count = 1; ; count += 1) {
    const another = `${name} (${all.join(", ")}${count === 1 ? "" : `, ${ALSO}${count}`})`;
    if (!isTaken(another)) return another;
  }
}

/** What stands before the qualifiers of a key: the same for all entries of one value. */
export function nameOfKey(key: string): string {
  return partsOf(key).name;
}

function partsOf(key: string): { readonly name: string; readonly qualifiers: string | undefined } {
  // Of most, which a list has thousands of.
  if (!key.endsWith(")")) return { name: key, qualifiers: undefined };
  const [, name = "", qualifiers] = /^(.*?)(?: \(([^()]*)\))?$/s.exec(key) ?? [];
  return { name, qualifiers };
}

/** The order in which a list was written is no matter. */
export function sortedByKey<Text>(content: Readonly<Record<string, Text>>): Record<string, Text> {
  const keys = Object.keys(content);
  const isSorted = keys.every((key, at) => at === 0 || (keys[at - 1] ?? "") < key);
  return isSorted ? content : Object.fromEntries(keys.sort().map((key) => [key, content[key] as Text]));
}

/** Reads a member back. */
export function readVip(key: string, text: string): ListedVip {
  const [, fields = "", rest = ""] = VIP_TEXT.exec(asDeclared(text)) ?? [];
  const comment = canonicalComment(LIKE_FIELD.test(rest) && rest.startsWith("\\") ? rest.slice(1) : rest);
  return { email: key, ...(comment === "" ? {} : { comment }), ...readFields(VIP_BRACKETS, fields) };
}

export function keyOfVip(email: string): string {
  // What is no mailbox may come from the service all the same, and Pulumi prints a key as it is.
  return printable(canonicalMailbox(email));
}

/** The text of a member: its fields between brackets, and its comment. */
export function textOfVip(vip: Texts): string {
  const comment = canonicalComment(vip.comment);
  const fields = bracketedFields(VIP_BRACKETS, vip);
  return [...fields, LIKE_FIELD.test(comment) ? `\\${comment}` : comment]
    .filter((part) => part !== "")
    .join(" ");
}

const TYPE = "type ";
const ALSO = "also ";

function typeOf(canonical: string): string | undefined {
  const parsed = parseEntryValue(canonical);
  return parsed.ok ? parsed.value.entryType : undefined;
}

/** Whatever the service holds, a key can be read back and printed: what has a meaning in it is percent-encoded. */
function escaped(text: string): string {
  return percentEncoded(
    text.replace(/[%()\s,]/g, encodeURIComponent).replace(/[()]/g, (one) => (one === "(" ? "%28" : "%29")),
  );
}

function unescaped(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

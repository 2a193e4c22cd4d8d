import { z } from "zod";
import {
  type ArgumentFailure,
  allowDenyEntryArguments,
  checkEntryArguments,
  checkVipEmployee,
  formatAllowedValues,
  isMeaningfulText,
  ON_DELETE,
  type RawArguments,
  validateComment,
  vipEmployeeArguments,
} from "./arguments";
import { DEFAULT_VERDICT_SCOPE } from "./assumptions";
import {
  decodeEntry,
  decodeVip,
  type EncodedList,
  encodeEntry,
  encodeEntryKey,
  encodeVip,
  encodeVipKey,
  getKeyBaseName,
  isPlainEntry,
  isUnmanaged,
  stripUnmanaged,
  type UnknownFields,
} from "./encoded-list";
import { type EntryState, pickEntryState } from "./entry-fields";
import { type ParseResult, parseEntryValue, parseMailbox } from "./entry-value";
import { explainVipMode, LIST_MODES, type ListMode, VIP_LIST_MODES, type VipListMode } from "./list-mode";
import { type PatternTarget, parseListPattern } from "./list-pattern";
import type { OwnDomains } from "./own-domains";
import type { RemovalLimits } from "./removal-guard";
import { describeRisks } from "./risk";
import { canonicalizeComment, quote } from "./text";
import { UNKNOWN } from "./unknown-value";

/** The arguments that all lists share, in addition to their content. */
export interface ListOptions extends RemovalLimits {
  readonly mode?: ListMode;
  readonly ignore?: readonly string[];
  readonly protect?: readonly string[];
}

/** The complete arguments of a whole allow/deny list. */
export interface AllowDenyListInputs extends ListOptions {
  readonly entries: EncodedList;
  readonly adopt?: boolean;
}

/** The complete arguments of a whole VIP list. */
export interface VipListInputs extends ListOptions {
  readonly mode?: VipListMode;
  readonly members: EncodedList;
  readonly onDelete?: (typeof ON_DELETE)[number];
}

const patternsSchema = z.array(
  z.string({ error: (issue) => `must be text, not ${quote(issue.input)}` }).check((context) => {
    const parsed = parseListPattern(context.value);
    if (!parsed.ok) context.issues.push({ code: "custom", message: parsed.reason, input: context.value });
  }),
  { error: (issue) => `must be a list of patterns, not ${quote(issue.input)}` },
);

const wholeNumberSchema = z
  .number({ error: (issue) => `must be a whole number, not ${quote(issue.input)}` })
  .int({ error: (issue) => `must be a whole number, not ${quote(issue.input)}` })
  .min(0, { error: (issue) => `is ${quote(issue.input)}; it must be 0 or more` });

const listOptions = {
  ignore: patternsSchema.describe("Entries that are never changed in any mode, unless they are declared.").optional(),
  protect: patternsSchema
    .describe(
      "Entries that must be declared. Each pattern must match at least one declared entry, and no matching entry may be removed.",
    )
    .optional(),
  maxRemovals: wholeNumberSchema.describe("The maximum number of removals in one run.").optional(),
  maxRemovalFraction: z
    .number({ error: (issue) => `must be a number from 0 to 1, not ${quote(issue.input)}` })
    .min(0, { error: (issue) => `is ${quote(issue.input)}; write a fraction from 0 to 1` })
    .max(1, { error: (issue) => `is ${quote(issue.input)}; write a fraction from 0 to 1, such as 0.5 for half` })
    .describe("The maximum fraction of the list that one run may remove. Default: 0.3.")
    .optional(),
  confirmRemovals: wholeNumberSchema
    .describe("The exact number of intended removals, for one run that exceeds the limits.")
    .optional(),
};

/** The content of a list is parsed element by element, so that every mistake is reported with its place. */
const contentSchema = z.unknown().optional();

/** The arguments of a whole allow/deny list (reference, section Allow/deny list). */
export const allowDenyListArguments = z.strictObject({
  entries: contentSchema.describe("The entries, as an array or keyed by value."),
  mode: z
    .enum(LIST_MODES, {
      error: (issue) => `must be ${formatAllowedValues(LIST_MODES)}, not ${quote(issue.input)}`,
    })
    .describe(
      "The handling of undeclared entries: additive keeps them, exclusive-allows removes undeclared allow entries, exclusive removes all of them.",
    )
    .optional(),
  ...listOptions,
  adopt: z
    .boolean({ error: (issue) => `must be true or false, not ${quote(issue.input)}` })
    .describe("Whether existing entries with other arguments are adopted and changed.")
    .optional(),
});

/** The arguments of a whole VIP list (reference, section VIP employees). */
export const vipListArguments = z.strictObject({
  members: contentSchema.describe("The members, as an array or keyed by mailbox."),
  mode: z
    .enum(VIP_LIST_MODES, {
      error: ({ input }) =>
        explainVipMode(input) ?? `must be ${formatAllowedValues(VIP_LIST_MODES)}, not ${quote(input)}`,
    })
    .describe("The handling of undeclared VIPs: additive keeps them, exclusive removes them.")
    .optional(),
  ...listOptions,
  onDelete: z
    .enum(ON_DELETE, {
      error: (issue) => `must be "exclude" or "keep", not ${quote(issue.input)}`,
    })
    .describe(
      'The effect of removal: "exclude" (a permanent exclusion at the service) or "keep" (Pulumi only forgets it).',
    )
    .optional(),
});

/** The properties of a kind of list, for code that handles all kinds. */
export interface ListKind {
  /** The argument that holds the content. */
  readonly property: string;
  /** The singular and plural noun for its items. */
  readonly noun: readonly [one: string, many: string];
  readonly schema: z.ZodObject;
  /** Whether a map is already an encoded list in the most common form. Otherwise each element is parsed. */
  readonly isEncoded: (contentSchema: Readonly<Record<string, unknown>>) => boolean;
  /** Parses one element of an array, or of a map with its key. */
  readonly parseElement: (raw: unknown, key: string | undefined) => ParsedListElement;
  /** Returns the target that patterns are matched against. */
  readonly getPatternTarget: (key: string, text: string) => PatternTarget;
  /** The kind of its items in a plan. */
  readonly itemKind: "entry" | "vip";
  /** Decodes the text of a key to the state that a plan shows. Undefined if there is no text. */
  readonly decodeState: (key: string, text: string | undefined) => EntryState | undefined;
  /** Formats an item for people: "deny evil.example". */
  readonly describe: (key: string, text: string) => string;
  /** Converts a key as a person writes it to the form in the state. Undefined if it is invalid. */
  readonly normalizeKey: (key: string) => string | undefined;
  /** An example key for messages. */
  readonly exampleKey: string;
  /** Returns the subject of a key. Keys with the same subject are duplicates or exclude each other. */
  readonly getSubject: (key: string) => string;
  /**
   * Describes the conflict between two elements with the same subject. Undefined if there is none. The caller adds the
   * place of the second element.
   */
  readonly describeClash: (first: LocatedElement, second: LocatedElement) => string | undefined;
  /** Returns why an item is rejected until somebody accepts its risk. Undefined if it has none. */
  readonly describeRisk?: (key: string, text: string, ownDomains: OwnDomains) => string | undefined;
}

/** A parsed element: its key and text, unknown, or its failures. */
export type ParsedListElement =
  | {
      readonly key: string;
      readonly text: string | typeof UNKNOWN;
      /** The text without unknown parts, such as a comment. */
      readonly knownText?: string;
      readonly sourceText: string;
    }
  | typeof UNKNOWN
  | readonly ArgumentFailure[];

/** A declared element, and where it is declared. */
export interface LocatedElement {
  readonly key: string;
  readonly text: string | typeof UNKNOWN;
  readonly location: string;
  /** The original text of the value. */
  readonly sourceText: string;
}

const listEntryArguments = allowDenyEntryArguments.omit({ adopt: true });

/** The kind of the allow/deny list. */
export const ENTRY_LIST_KIND: ListKind = {
  property: "entries",
  noun: ["entry", "entries"],
  schema: allowDenyListArguments,
  isEncoded(contentSchema) {
    for (const key of Object.keys(contentSchema)) {
      const text = contentSchema[key];
      if (typeof text !== "string" || !isPlainEntry(key, text)) return false;
    }
    return true;
  },
  parseElement(raw, key) {
    if (typeof raw === "string" && key !== undefined) {
      if (isPlainEntry(key, raw)) return { key, text: raw, sourceText: key };
      const refusal = validateComment(raw);
      if (refusal !== undefined) return [{ property: "", reason: refusal }];
      const entry = decodeEntry(key, raw);
      if (entry === undefined || isUnmanaged(raw)) return [{ property: "", reason: describeInvalidEntryText(raw) }];
      if (entry.unknown !== undefined) return [{ property: "", reason: describeUnknownFields(raw, entry.unknown) }];
      const { entryType: _inferred, ...rest } = entry;
      return parseElementObject(rest);
    }
    if (!isObject(raw)) {
      return [{ property: "", reason: `must be { list, value, comment }, not ${quote(raw)}` }];
    }
    return parseElementObject(key === undefined ? raw : { value: key, ...raw }, key);
  },
  getPatternTarget(key, text) {
    const { value, list } = decodeEntry(key, text) ?? { value: key };
    return list === undefined ? { value } : { value, list };
  },
  itemKind: "entry",
  decodeState(key, text) {
    const entry = text === undefined ? undefined : decodeEntry(key, text);
    return entry && pickEntryState(entry);
  },
  normalizeKey(key) {
    const name = getKeyBaseName(key);
    const parsed = parseEntryValue(name);
    if (!parsed.ok) return undefined;
    const { canonical: value, entryType } = parsed.value;
    return encodeEntryKey({ value, entryType, verdictScope: DEFAULT_VERDICT_SCOPE }) + key.slice(name.length);
  },
  exampleKey: "evil.example",
  getSubject: getKeyBaseName,
  describe(key, text) {
    const list = /^\w+/.exec(stripUnmanaged(text))?.[0] ?? "";
    return `${list} ${key}`;
  },
  describeClash(first, second) {
    const lists = [first, second].map(({ key, text }) =>
      text === UNKNOWN ? undefined : decodeEntry(key, text as string)?.list,
    );
    const isContradiction = lists[0] !== undefined && lists[1] !== undefined && lists[0] !== lists[1];
    if (!isContradiction && first.key !== second.key) return undefined;
    return isContradiction
      ? `is on the ${lists[1]} list here and on the ${lists[0]} list at ${describeLocation(first, second)}; a value can't be on both. Keep one`
      : `is declared twice, here and at ${describeLocation(first, second)}; keep one`;
  },
  describeRisk(key, text, ownDomains) {
    const entry = decodeEntry(key, text);
    return entry === undefined || isMeaningfulText(entry.acceptRisk ?? "")
      ? undefined
      : describeRisks(entry, ownDomains);
  },
};

function parseElementObject(raw: RawArguments, mapKey?: string): ParsedListElement {
  const valueMismatch = describeKeyMismatch(mapKey, raw["value"], parseEntryValue);
  if (valueMismatch !== undefined) return [{ property: "value", reason: valueMismatch }];
  const plainResult = parsePlainElement(raw);
  if (plainResult !== undefined) return plainResult;
  const { inputs, failures } = checkEntryArguments(raw, listEntryArguments);
  if (failures.length > 0) return failures;
  const { list, value, verdictScope = DEFAULT_VERDICT_SCOPE } = inputs;
  if ([list, value, verdictScope, inputs["entryType"]].includes(UNKNOWN)) return UNKNOWN;
  const parsed = parseEntryValue(value as string);
  // The arguments were already checked.
  if (!parsed.ok) return UNKNOWN;
  const key = encodeEntryKey({
    ...parsed.value,
    value: parsed.value.canonical,
    verdictScope: verdictScope as string,
  });
  const sourceText = value as string;
  const knownInputs = Object.fromEntries(Object.entries(inputs).filter(([, input]) => input !== UNKNOWN));
  const text = encodeEntry({ list: list as string, ...knownInputs });
  if (Object.keys(knownInputs).length === Object.keys(inputs).length) return { key, text, sourceText };
  // Without the reason, the risk would seem unaccepted.
  const isRiskKnown = inputs["acceptRisk"] !== UNKNOWN;
  return { key, text: UNKNOWN, ...(isRiskKnown ? { knownText: text } : {}), sourceText };
}

/** Describes a value that contradicts its key. One of the two is a typing error. Undefined if they agree. */
function describeKeyMismatch(
  key: string | undefined,
  value: unknown,
  parse: (text: string) => ParseResult<unknown>,
): string | undefined {
  if (key === undefined || typeof value !== "string" || value === key) return undefined;
  const keyResult = parse(key);
  const valueResult = parse(value);
  if (!keyResult.ok || !valueResult.ok || JSON.stringify(keyResult.value) === JSON.stringify(valueResult.value))
    return undefined;
  return `is ${quote(value)}, but its key is ${quote(key)}; correct one of the two`;
}

/** Parses the most common form of an element, without the slower check that explains every mistake. */
function parsePlainElement(raw: RawArguments): ParsedListElement | undefined {
  const { list, value, comment, ...rest } = raw;
  if (typeof value !== "string" || (list !== "allow" && list !== "deny")) return undefined;
  if (comment !== undefined && typeof comment !== "string") return undefined;
  if (Object.keys(rest).length > 0) return undefined;
  const text = comment === undefined ? list : `${list}: ${comment}`;
  return isPlainEntry(value, text) ? { key: value, text, sourceText: value } : undefined;
}

function describeInvalidEntryText(raw: string): string {
  if (isUnmanaged(raw)) {
    return `is ${quote(raw)}, the form in which a refresh shows an undeclared entry; to declare it, write ${quote(stripUnmanaged(raw), 500)}`;
  }
  if (raw.includes("(risk accepted")) {
    return `is ${quote(raw)}; write "allow (risk accepted: reason): comment", and escape a lone bracket in the reason as \\( or \\)`;
  }
  return `is ${quote(raw)}; write "deny", "deny: comment", "allow", "allow: comment", or { list, comment }`;
}

function describeUnknownFields(raw: string, unknown: UnknownFields): string {
  const names = Object.keys(unknown).map((name) => quote(name));
  const { length } = names;
  return `is ${quote(raw)}, and ${names.join(", ")} ${length === 1 ? "is a field" : "are fields"} that this release doesn't know; remove ${length === 1 ? "it" : "them"}, or write { comment } if that is the comment`;
}

const memberArguments = vipEmployeeArguments.omit({ onDelete: true });

/** The kind of the VIP list. */
export const VIP_LIST_KIND: ListKind = {
  property: "members",
  noun: ["VIP", "VIPs"],
  schema: vipListArguments,
  isEncoded: () => false,
  parseElement(raw, key) {
    const sourceText = typeof raw === "string" ? parseMemberText(raw, key) : raw;
    if (typeof raw === "string" && Array.isArray(sourceText)) return sourceText;
    if (!isObject(sourceText)) {
      return [{ property: "", reason: `must be a mailbox or { email, comment }, not ${quote(raw)}` }];
    }
    const mailboxMismatch = describeKeyMismatch(key, sourceText["email"], parseMailbox);
    if (mailboxMismatch !== undefined) return [{ property: "email", reason: mailboxMismatch }];
    const { inputs, failures } = checkVipEmployee(
      key === undefined ? sourceText : { email: key, ...sourceText },
      memberArguments,
    );
    if (failures.length > 0) return failures;
    const { email } = inputs;
    if (email === UNKNOWN) return UNKNOWN;
    const text = Object.values(inputs).includes(UNKNOWN) ? UNKNOWN : encodeVip(inputs);
    return { key: encodeVipKey(email as string), text, sourceText: email as string };
  },
  getPatternTarget: (key) => ({ value: key }),
  itemKind: "vip",
  decodeState: (key, text) => (text === undefined ? undefined : pickEntryState(decodeVip(key, text))),
  normalizeKey(key) {
    const parsed = parseMailbox(key);
    return parsed.ok ? encodeVipKey(parsed.value) : undefined;
  },
  exampleKey: "ceo@company.example",
  getSubject: (key) => key,
  describe: (key) => key,
  describeClash: (first, second) => `is declared twice, here and at ${describeLocation(first, second)}; keep one`,
};

/** Parses a member that is declared as text: a mailbox, or the text of an encoded list. */
function parseMemberText(raw: string, key: string | undefined): RawArguments | readonly ArgumentFailure[] {
  if (key === undefined) return { email: raw };
  if (isUnmanaged(raw)) {
    const reason = `starts with the marker that a refresh adds to an undeclared VIP; remove ${quote(raw.slice(0, raw.length - stripUnmanaged(raw).length).trim())}`;
    return [{ property: "comment", reason }];
  }
  const { comment, unknown } = decodeVip(key, raw);
  if (unknown !== undefined) return [{ property: "", reason: describeUnknownFields(raw, unknown) }];
  return { email: key, comment: comment === canonicalizeComment(raw) ? raw : comment };
}

function describeLocation(first: LocatedElement, second: LocatedElement): string {
  return first.sourceText === second.sourceText ? first.location : `${first.location}, as ${quote(first.sourceText)}`;
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

import { z } from "zod";
import {
  type ArgumentFailure,
  allowDenyEntryArguments,
  type Checked,
  checkEntryArguments,
  checkVipEmployee,
  commentRefusal,
  isReason,
  ON_DELETE,
  oneOf,
  type RawArguments,
  validate,
  vipEmployeeArguments,
  withoutEmpty,
} from "./arguments";
import { DEFAULT_VERDICT_SCOPE } from "./assumptions";
import { type Standing, standingOf } from "./entry-fields";
import { type Parsed, parseEntryValue, parseMailbox } from "./entry-value";
import {
  asDeclared,
  isPlainEntry,
  isUnmanaged,
  type KeyedList,
  keyOfEntry,
  keyOfVip,
  nameOfKey,
  readEntry,
  readVip,
  sortedByKey,
  textOfEntry,
  textOfVip,
  type UnknownFields,
} from "./keyed-list";
import {
  explainVipMode,
  LIST_MODES,
  type ListMode,
  prunes,
  prunesAny,
  VIP_LIST_MODES,
  type VipListMode,
} from "./list-mode";
import { NO_OWN_DOMAINS, type OwnDomains } from "./own-domains";
import { type Pattern, type PatternTarget, parsePattern } from "./pattern";
import { keyPath } from "./property-path";
import { guardRemovals, type RemovalLimits } from "./removal-guard";
import { refusalOf } from "./risk";
import { canonicalComment, printable, quote } from "./text";
import { UNKNOWN } from "./unknown";

/** What every list takes beside its content. */
interface ListOptions extends RemovalLimits {
  readonly mode?: ListMode;
  readonly ignore?: readonly string[];
  readonly protect?: readonly string[];
}

/** The complete arguments of a whole allow/deny list. */
export interface AllowDenyListInputs extends ListOptions {
  readonly entries: KeyedList;
  readonly adopt?: boolean;
}

/** The complete arguments of a whole VIP list. */
export interface VipListInputs extends ListOptions {
  readonly mode?: VipListMode;
  readonly members: KeyedList;
  readonly onDelete?: (typeof ON_DELETE)[number];
}

const patterns = z.array(
  z.string({ error: (issue) => `must be text, not ${quote(issue.input)}` }).check((context) => {
    const parsed = parsePattern(context.value);
    if (!parsed.ok) context.issues.push({ code: "custom", message: parsed.reason, input: context.value });
  }),
  { error: (issue) => `must be a list of patterns, not ${quote(issue.input)}` },
);

const wholeNumber = z
  .number({ error: (issue) => `must be a whole number, not ${quote(issue.input)}` })
  .int({ error: (issue) => `must be a whole number, not ${quote(issue.input)}` })
  .min(0, { error: (issue) => `is ${quote(issue.input)}; it can't be less than 0` });

const listOptions = {
  ignore: patterns.describe("What is never touched, whatever the mode, unless it is declared.").optional(),
  protect: patterns
    .describe("What must be declared: each pattern by at least one, and none that it names may go.")
    .optional(),
  maxRemovals: wholeNumber.describe("The most that one run may remove.").optional(),
  maxRemovalFraction: z
    .number({ error: (issue) => `must be a number from 0 to 1, not ${quote(issue.input)}` })
    .min(0, { error: (issue) => `is ${quote(issue.input)}; write a share from 0 to 1` })
    .max(1, { error: (issue) => `is ${quote(issue.input)}; write a share from 0 to 1, as 0.5 for a half` })
    .describe("The largest share of the list that one run may remove. 0.3 when left out.")
    .optional(),
  confirmRemovals: wholeNumber
    .describe("The exact number of removals that is meant, for one run beyond the limits.")
    .optional(),
};

/** The content of a list is read element by element, so that every mistake is told at its place. */
const content = z.unknown().optional();

/** The arguments of a whole allow/deny list (reference, section Allow/deny list). */
export const allowDenyListArguments = z.strictObject({
  entries: content.describe("The entries, as an array or keyed by value."),
  mode: z
    .enum(LIST_MODES, { error: (issue) => `must be ${oneOf(LIST_MODES)}, not ${quote(issue.input)}` })
    .describe(
      "What becomes of the rest: additive leaves it alone, exclusive-allows removes allow entries that are not declared, exclusive removes all that is not declared.",
    )
    .optional(),
  ...listOptions,
  adopt: z
    .boolean({ error: (issue) => `must be true or false, not ${quote(issue.input)}` })
    .describe("Whether entries that exist with other arguments are taken over and changed.")
    .optional(),
});

/** The arguments of a whole VIP list (reference, section VIP employees). */
export const vipListArguments = z.strictObject({
  members: content.describe("The members, as an array or keyed by mailbox."),
  mode: z
    .enum(VIP_LIST_MODES, {
      error: ({ input }) => explainVipMode(input) ?? `must be ${oneOf(VIP_LIST_MODES)}, not ${quote(input)}`,
    })
    .describe("What becomes of the rest: additive leaves it alone, exclusive removes what is not declared.")
    .optional(),
  ...listOptions,
  onDelete: z
    .enum(ON_DELETE, {
      error: (issue) => `must be "exclude" or "keep", not ${quote(issue.input)}`,
    })
    .describe('What removing does: "exclude" (the service\'s lasting exclusion) or "keep" (only forget it).')
    .optional(),
});

/** What a kind of list is, for all that lists have in common. */
export interface ListKind {
  /** The argument that holds the content. */
  readonly property: string;
  /** What one and several of it are called. */
  readonly noun: readonly [one: string, many: string];
  readonly schema: z.ZodObject;
  /** Whether a map is the keyed list already, in the form that almost all have; for others each element is read. */
  readonly isKeyed: (content: Readonly<Record<string, unknown>>) => boolean;
  /** Reads one element: of an array, or of a map with its key. */
  readonly readElement: (raw: unknown, key: string | undefined) => Element;
  /** What a pattern is held against. */
  readonly target: (key: string, text: string) => PatternTarget;
  /** What one of it is called in a plan. */
  readonly subjectKind: "entry" | "vip";
  /** What a text says of a key, as a plan tells it; undefined for what is not there. */
  readonly standing: (key: string, text: string | undefined) => Standing | undefined;
  /** How a person would call it: "deny evil.example". */
  readonly describe: (key: string, text: string) => string;
  /** A key as a person may write it, in the form in which the state holds it; undefined for what names nothing. */
  readonly keyAsHeld: (key: string) => string | undefined;
  /** A key, for messages. */
  readonly exampleKey: string;
  /** What two of one key, or of keys that exclude each other, share. */
  readonly subject: (key: string) => string;
  /** What is wrong with two of one subject, if anything is; `first` and `second` are told with their places. */
  readonly clash: (first: Placed, second: Placed) => string | undefined;
  /** Why one is refused as long as nobody accepts its risk, if there is any. */
  readonly refusal?: (key: string, text: string, own: OwnDomains) => string | undefined;
}

/** An element that was read: its key and text, nothing yet, or what is wrong with it. */
export type Element =
  | {
      readonly key: string;
      readonly text: string | typeof UNKNOWN;
      /** The text without what is not known yet, such as a comment. */
      readonly knownText?: string;
      readonly written: string;
    }
  | typeof UNKNOWN
  | readonly ArgumentFailure[];

/** What is declared, and where. */
export interface Placed {
  readonly key: string;
  readonly text: string | typeof UNKNOWN;
  readonly place: string;
  /** The value as it was written. */
  readonly written: string;
}

const listEntryArguments = allowDenyEntryArguments.omit({ adopt: true });

/** The kind of the allow/deny list. */
export const ENTRIES: ListKind = {
  property: "entries",
  noun: ["entry", "entries"],
  schema: allowDenyListArguments,
  isKeyed(content) {
    for (const key of Object.keys(content)) {
      const text = content[key];
      if (typeof text !== "string" || !isPlainEntry(key, text)) return false;
    }
    return true;
  },
  readElement(raw, key) {
    if (typeof raw === "string" && key !== undefined) {
      if (isPlainEntry(key, raw)) return { key, text: raw, written: key };
      const refusal = commentRefusal(raw);
      if (refusal !== undefined) return [{ property: "", reason: refusal }];
      const entry = readEntry(key, raw);
      if (entry === undefined || isUnmanaged(raw)) return [{ property: "", reason: notAnEntryText(raw) }];
      if (entry.unknown !== undefined) return [{ property: "", reason: unknownFields(raw, entry.unknown) }];
      const { entryType: _inferred, ...rest } = entry;
      return readElementObject(rest);
    }
    if (!isObject(raw)) {
      return [{ property: "", reason: `must be { list, value, comment }, not ${quote(raw)}` }];
    }
    return readElementObject(key === undefined ? raw : { value: key, ...raw }, key);
  },
  target(key, text) {
    const { value, list } = readEntry(key, text) ?? { value: key };
    return list === undefined ? { value } : { value, list };
  },
  subjectKind: "entry",
  standing(key, text) {
    const entry = text === undefined ? undefined : readEntry(key, text);
    return entry && standingOf(entry);
  },
  keyAsHeld(key) {
    const name = nameOfKey(key);
    const parsed = parseEntryValue(name);
    if (!parsed.ok) return undefined;
    const { canonical: value, entryType } = parsed.value;
    return keyOfEntry({ value, entryType, verdictScope: DEFAULT_VERDICT_SCOPE }) + key.slice(name.length);
  },
  exampleKey: "evil.example",
  subject: nameOfKey,
  describe(key, text) {
    const list = /^\w+/.exec(asDeclared(text))?.[0] ?? "";
    return `${list} ${key}`;
  },
  clash(first, second) {
    const lists = [first, second].map(({ key, text }) =>
      text === UNKNOWN ? undefined : readEntry(key, text as string)?.list,
    );
    const isContradiction = lists[0] !== undefined && lists[1] !== undefined && lists[0] !== lists[1];
    if (!isContradiction && first.key !== second.key) return undefined;
    return isContradiction
      ? `is on the ${lists[1]} list here and on the ${lists[0]} list at ${placeOf(first, second)}; a value can't be on both. Keep one of the two`
      : `is declared twice, here and at ${placeOf(first, second)}; keep one of the two`;
  },
  refusal(key, text, own) {
    const entry = readEntry(key, text);
    return entry === undefined || isReason(entry.acceptRisk ?? "") ? undefined : refusalOf(entry, own);
  },
};

function readElementObject(raw: RawArguments, givenKey?: string): Element {
  const otherValue = otherThan(givenKey, raw["value"], parseEntryValue);
  if (otherValue !== undefined) return [{ property: "value", reason: otherValue }];
  const plain = plainElement(raw);
  if (plain !== undefined) return plain;
  const { inputs, failures } = checkEntryArguments(raw, listEntryArguments);
  if (failures.length > 0) return failures;
  const { list, value, verdictScope = DEFAULT_VERDICT_SCOPE } = inputs;
  if ([list, value, verdictScope, inputs["entryType"]].includes(UNKNOWN)) return UNKNOWN;
  const parsed = parseEntryValue(value as string);
  // It was checked just now.
  if (!parsed.ok) return UNKNOWN;
  const key = keyOfEntry({
    ...parsed.value,
    value: parsed.value.canonical,
    verdictScope: verdictScope as string,
  });
  const written = value as string;
  const known = Object.fromEntries(Object.entries(inputs).filter(([, given]) => given !== UNKNOWN));
  const text = textOfEntry({ list: list as string, ...known });
  if (Object.keys(known).length === Object.keys(inputs).length) return { key, text, written };
  // Without the reason, it could seem that nobody accepts the risk.
  const isJudged = inputs["acceptRisk"] !== UNKNOWN;
  return { key, text: UNKNOWN, ...(isJudged ? { knownText: text } : {}), written };
}

/** What is wrong with a value that stands under a key which names another one: one of the two is a slip. */
function otherThan(
  key: string | undefined,
  value: unknown,
  parse: (text: string) => Parsed<unknown>,
): string | undefined {
  if (key === undefined || typeof value !== "string" || value === key) return undefined;
  const named = parse(key);
  const given = parse(value);
  if (!named.ok || !given.ok || JSON.stringify(named.value) === JSON.stringify(given.value)) return undefined;
  return `is ${quote(value)}, but its key names ${quote(key)}; one of the two is a slip`;
}

/** An element as almost all are, read without a check that is made to explain every mistake. */
function plainElement(raw: RawArguments): Element | undefined {
  const { list, value, comment, ...rest } = raw;
  if (typeof value !== "string" || (list !== "allow" && list !== "deny")) return undefined;
  if (comment !== undefined && typeof comment !== "string") return undefined;
  if (Object.keys(rest).length > 0) return undefined;
  const text = comment === undefined ? list : `${list}: ${comment}`;
  return isPlainEntry(value, text) ? { key: value, text, written: value } : undefined;
}

function notAnEntryText(raw: string): string {
  if (isUnmanaged(raw)) {
    return `is ${quote(raw)}, which is how a refresh shows an entry that nobody declared; to declare it, write ${quote(asDeclared(raw), 500)}`;
  }
  if (raw.includes("(risk accepted")) {
    return `is ${quote(raw)}; write "allow (risk accepted: why): comment", a lone bracket in the reason as \\( or \\)`;
  }
  return `is ${quote(raw)}; write "deny", "deny: why", "allow", "allow: why", or { list, comment }`;
}

function unknownFields(raw: string, unknown: UnknownFields): string {
  const names = Object.keys(unknown).map((name) => quote(name));
  const { length } = names;
  return `is ${quote(raw)}, and ${names.join(", ")} ${length === 1 ? "is a field" : "are fields"} that this release doesn't know; take ${length === 1 ? "it" : "them"} out, or write { comment } if that is the comment`;
}

const memberArguments = vipEmployeeArguments.omit({ onDelete: true });

/** The kind of the VIP list. */
export const MEMBERS: ListKind = {
  property: "members",
  noun: ["VIP", "VIPs"],
  schema: vipListArguments,
  isKeyed: () => false,
  readElement(raw, key) {
    const written = typeof raw === "string" ? memberOf(raw, key) : raw;
    if (typeof raw === "string" && Array.isArray(written)) return written;
    if (!isObject(written)) {
      return [{ property: "", reason: `must be a mailbox or { email, comment }, not ${quote(raw)}` }];
    }
    const otherMailbox = otherThan(key, written["email"], parseMailbox);
    if (otherMailbox !== undefined) return [{ property: "email", reason: otherMailbox }];
    const { inputs, failures } = checkVipEmployee(
      key === undefined ? written : { email: key, ...written },
      memberArguments,
    );
    if (failures.length > 0) return failures;
    const { email } = inputs;
    if (email === UNKNOWN) return UNKNOWN;
    const text = Object.values(inputs).includes(UNKNOWN) ? UNKNOWN : textOfVip(inputs);
    return { key: keyOfVip(email as string), text, written: email as string };
  },
  target: (key) => ({ value: key }),
  subjectKind: "vip",
  standing: (key, text) => (text === undefined ? undefined : standingOf(readVip(key, text))),
  keyAsHeld(key) {
    const parsed = parseMailbox(key);
    return parsed.ok ? keyOfVip(parsed.value) : undefined;
  },
  exampleKey: "ceo@company.example",
  subject: (key) => key,
  describe: (key) => key,
  clash: (first, second) => `is declared twice, here and at ${placeOf(first, second)}; keep one of the two`,
};

/** A member whose element is a text: a mailbox, or what a keyed list says of one. */
function memberOf(raw: string, key: string | undefined): RawArguments | readonly ArgumentFailure[] {
  if (key === undefined) return { email: raw };
  if (isUnmanaged(raw)) {
    const reason = `starts as a refresh shows a VIP that nobody declared; write it without ${quote(raw.slice(0, raw.length - asDeclared(raw).length).trim())}`;
    return [{ property: "comment", reason }];
  }
  const { comment, unknown } = readVip(key, raw);
  if (unknown !== undefined) return [{ property: "", reason: unknownFields(raw, unknown) }];
  return { email: key, comment: comment === canonicalComment(raw) ? raw : comment };
}

function placeOf(first: Placed, second: Placed): string {
  return first.written === second.written ? first.place : `${first.place}, as ${quote(first.written)}`;
}

/** The most failures that are told one by one where nothing is said; a list that is wrong throughout is wrong in one way. */
const MAX_FAILURES = 100;

/**
 * Checks the arguments of a whole list, and brings its content to the keyed form. Pure: what a run would remove is
 * judged by what the arguments of the run before, or a refresh since, hold.
 *
 * @param previous the checked arguments of the run before, where there was one.
 * @param own the tenant's own domains, where they are known, to refuse what is risky with them.
 * @param maxFailures how many are told one by one; a last one says how many more there are.
 */
export function checkList(
  kind: ListKind,
  raw: RawArguments,
  previous: RawArguments = {},
  own: OwnDomains = NO_OWN_DOMAINS,
  maxFailures = MAX_FAILURES,
): Checked {
  const given = withoutEmpty(raw);
  const failures = validate(kind.schema, given);
  const content = given[kind.property];
  if (content === undefined) {
    failures.push({
      property: kind.property,
      reason: `is missing; give the ${kind.noun[1]}, as an array or keyed, or [] for none`,
    });
  }
  const read = content === undefined ? { keyed: {}, failures: [] } : readContent(kind, content, own);
  failures.push(...read.failures);
  const inputs = { ...given, [kind.property]: read.keyed };
  if (prunes(given["mode"], undefined) && given["onDelete"] === "keep") {
    failures.push({
      property: "onDelete",
      reason: `can't be "keep" in mode ${quote(given["mode"])}, which removes what is not declared; leave one of the two out`,
    });
  }
  // What is not known yet in a preview is judged in the update, before any write.
  const isKnown = !Object.values(inputs).includes(UNKNOWN) && !Object.values(read.keyed).includes(UNKNOWN);
  if (failures.length === 0 && isKnown) {
    failures.push(...judge(kind, inputs, read.keyed as KeyedList, previous));
  }
  return { inputs, failures: atMost(failures, maxFailures) };
}

/**
 * The content of a list in its keyed form, if it is plain and without a mistake; else undefined, and the check of the
 * arguments as they are will tell why.
 */
export function keyedContent(kind: ListKind, content: unknown): KeyedList | undefined {
  const { keyed, failures } = readContent(kind, content);
  if (failures.length > 0 || keyed === UNKNOWN) return undefined;
  return Object.values(keyed as object).includes(UNKNOWN) ? undefined : (keyed as KeyedList);
}

/** @param own left out where the program keys its own list: what is risky is told by check. */
function readContent(
  kind: ListKind,
  content: unknown,
  own?: OwnDomains,
): { keyed: Record<string, unknown> | typeof UNKNOWN; failures: ArgumentFailure[] } {
  if (content === UNKNOWN) return { keyed: UNKNOWN, failures: [] };
  const { property } = kind;
  const failures: ArgumentFailure[] = [];
  const refuse = (key: string, text: string | typeof UNKNOWN, place: () => string): void => {
    const reason = own === undefined || text === UNKNOWN ? undefined : kind.refusal?.(key, text, own);
    if (reason !== undefined) failures.push({ property: place(), reason });
  };
  if (isObject(content) && kind.isKeyed(content)) {
    for (const key of Object.keys(content)) refuse(key, content[key] as string, () => keyPath(property, key));
    return { keyed: sortedByKey(content), failures };
  }
  const byKey = new Map<string, Placed>();
  const bySubject = new Map<string, readonly Placed[]>();
  let isKnown = true;
  const take = (raw: unknown, place: string, key: string | undefined): void => {
    const element = raw === UNKNOWN ? UNKNOWN : kind.readElement(raw, key);
    if (element === UNKNOWN) {
      isKnown = false;
    } else if (isFailures(element)) {
      for (const failure of element) {
        const at = failure.property === "" ? place : `${place}${step(failure.property)}`;
        failures.push({ property: at, reason: failure.reason });
      }
    } else {
      const placed = { ...element, place };
      const subject = kind.subject(element.key);
      const same = bySubject.get(subject) ?? [];
      const clash = same.map((first) => kind.clash(first, placed)).find((reason) => reason !== undefined);
      bySubject.set(subject, [...same, placed]);
      if (clash === undefined) byKey.set(element.key, placed);
      else failures.push({ property: place, reason: `${quote(element.written)} ${clash}` });
      refuse(element.key, element.knownText ?? element.text, () => place);
    }
  };
  if (Array.isArray(content)) {
    for (const [at, raw] of content.entries()) take(raw, `${property}[${at}]`, undefined);
  } else if (isObject(content)) {
    for (const [key, raw] of Object.entries(content)) take(raw, keyPath(property, key), key);
  } else {
    failures.push({ property, reason: `must be an array or a map, not ${quote(content)}` });
  }
  if (!isKnown) return { keyed: UNKNOWN, failures };
  const keyed = Object.fromEntries([...byKey.values()].map(({ key, text }) => [key, text]));
  return { keyed: sortedByKey(keyed), failures };
}

/** What is wrong with a content that is well-formed: what must be there and is not, what must not go and would. */
export function judge(
  kind: ListKind,
  inputs: RawArguments,
  keyed: KeyedList,
  previous: RawArguments,
): ArgumentFailure[] {
  const { property } = kind;
  const options = inputs as ListOptions;
  const failures: ArgumentFailure[] = [];
  const ignored = readPatterns(options.ignore);
  const protecting = readPatterns(options.protect);
  // Lists are long, and most have no patterns to hold against them.
  const declared = ignored.length + protecting.length === 0 ? [] : Object.entries(keyed);
  const names = (pattern: Pattern, among: readonly (readonly [string, unknown])[]): string[] =>
    among
      .filter(([key, text]) => pattern.matches(kind.target(key, String(text))))
      .map(([key, text]) => kind.describe(key, String(text)));
  for (const pattern of ignored) {
    const both = names(pattern, declared);
    if (both.length === 0) continue;
    failures.push({
      property: "ignore",
      reason: `holds ${quote(pattern.text)}, which names what is declared too (${few(both)}). What is ignored is never touched: narrow the pattern, or take the declaration away`,
    });
  }
  const before = (previous[property] ?? {}) as KeyedList;
  const removed = removals(kind, before, keyed, options);
  for (const pattern of protecting) {
    if (names(pattern, declared).length === 0) {
      failures.push({
        property: "protect",
        reason: `holds ${quote(pattern.text)}, and no ${kind.noun[0]} that it names is declared. What is protected must be there: declare it, or take the pattern away`,
      });
      continue;
    }
    const lost = names(pattern, removed);
    if (lost.length === 0) continue;
    failures.push({
      property: "protect",
      reason: `holds ${quote(pattern.text)}, and this run would remove what it names (${few(lost)}). Declare it again, or narrow the pattern`,
    });
  }
  const confirmedBefore = previous["confirmRemovals"];
  const refusal = guardRemovals(
    {
      removed: removed.map(([key, text]) => ({
        name: kind.describe(key, text),
        from: kind.subjectKind === "vip" ? "vip" : kind.standing(key, text)?.list,
      })),
      before: countOf(kind, before, options),
      after: Object.keys(keyed).length,
      noun: kind.noun,
    },
    options,
    typeof confirmedBefore === "number" ? confirmedBefore : undefined,
  );
  if (refusal !== undefined) failures.push({ property, reason: refusal });
  return failures;
}

/**
 * What a run removes, by key with the text before: what was declared, or shown as unmanaged in a mode that prunes it,
 * and is not declared any more; never what is ignored.
 */
export function removals(
  kind: ListKind,
  before: KeyedList,
  declared: KeyedList,
  options: Pick<ListOptions, "mode" | "ignore"> & { readonly onDelete?: (typeof ON_DELETE)[number] },
): [key: string, text: string][] {
  if (options.onDelete === "keep") return [];
  const isIgnored = ignoring(kind, options);
  const isPruned = pruning(kind, options);
  const removed: [key: string, text: string][] = [];
  for (const key of Object.keys(before)) {
    const text = before[key] ?? "";
    if (Object.hasOwn(declared, key)) continue;
    if (isUnmanaged(text) ? isPruned(key, text) : !isIgnored(key, text)) removed.push([key, text]);
  }
  return removed;
}

/** Tells what a list never touches. */
export function ignoring(
  kind: ListKind,
  { ignore }: Pick<ListOptions, "ignore">,
): (key: string, text: string) => boolean {
  const ignored = readPatterns(ignore);
  return (key, text) => ignored.some((pattern) => pattern.matches(kind.target(key, text)));
}

/** Tells what a list removes although nobody declared it. */
export function pruning(
  kind: ListKind,
  options: Pick<ListOptions, "mode" | "ignore">,
): (key: string, text: string) => boolean {
  if (!prunesAny(options.mode)) return () => false;
  const isIgnored = ignoring(kind, options);
  return (key, text) => prunes(options.mode, kind.target(key, text).list) && !isIgnored(key, text);
}

/** How many there are of which some may be removed: those nobody declared count only where they may go. */
function countOf(kind: ListKind, before: KeyedList, { mode }: ListOptions): number {
  const mayGo = ([key, text]: [string, string]): boolean =>
    !isUnmanaged(text) || prunes(mode, kind.target(key, text).list);
  return Object.entries(before).filter(mayGo).length;
}

/** The patterns that can be read; those that can't be were told by the check. */
export function readPatterns(texts: readonly string[] | undefined): Pattern[] {
  if (!Array.isArray(texts)) return [];
  return texts.flatMap((text) => {
    const parsed = typeof text === "string" ? parsePattern(text) : undefined;
    return parsed?.ok ? [parsed.value] : [];
  });
}

function few(names: readonly string[]): string {
  const shown = names.slice(0, 5).map(printable).join(", ");
  return names.length > 5 ? `${shown} and ${names.length - 5} more` : shown;
}

function atMost(failures: readonly ArgumentFailure[], count: number): ArgumentFailure[] {
  if (failures.length <= count) return [...failures];
  return [
    ...failures.slice(0, count),
    { property: failures[count]?.property ?? "", reason: `and ${failures.length - count} more like these` },
  ];
}

function isFailures(element: Element): element is readonly ArgumentFailure[] {
  return Array.isArray(element);
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** One step of a property path. */
function step(property: string): string {
  return /^[A-Za-z_]\w*$/.test(property) ? `.${property}` : keyPath("", property);
}

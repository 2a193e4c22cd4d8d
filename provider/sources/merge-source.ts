import { addDaysToDate, DAY_MS, parseTermDays } from "../model/expiry-term";
import { validateRemovals } from "../model/removal-guard";
import { findHarmfulText, sanitizeLine } from "../model/text";
import { isFeed, type SourceDeclaration } from "../settings-files/source-schema";
import { isListed, type SourceElement, type SourceSection } from "./source-file";

export interface MergeInput {
  readonly name: string;
  readonly source: SourceDeclaration;
  /** The elements of the generated file; empty if there is no file. */
  readonly previous: readonly SourceElement[];
  /** The section of the generated file. The elements of another section than that of the source aren't carried over. */
  readonly previousSection: SourceSection | undefined;
  /** The elements of a change that waits for its review. Their dates stay, so that its text doesn't change each day. */
  readonly proposed?: ReadonlyMap<string, SourceElement>;
  /** The day (UTC) of the last sync that changed the file. */
  readonly lastSync: string | undefined;
  /** The names of the present items, by value in canonical form. */
  readonly present: ReadonlyMap<string, string | undefined>;
  /** Whether the names of the items are known. They aren't if the source answered that nothing changed. */
  readonly hasNames: boolean;
  /** Values that are in the source, but that it may not declare. */
  readonly isRejected: (value: string) => boolean;
  /** Whether another source of the same list has a value. It stays here then, because the other one may not declare it too. */
  readonly isListedElsewhere: (value: string) => boolean;
  /** The day (UTC). */
  readonly today: string;
}

export interface MergeResult {
  /** In no particular order. */
  readonly elements: readonly SourceElement[];
  readonly added: readonly string[];
  /** Elements that left the source and stay until they expire. */
  readonly departed: readonly string[];
  /** Elements that came back before they expired. */
  readonly returned: readonly string[];
  readonly removed: readonly string[];
  /** The removed elements that the source still lists, but may no longer declare. */
  readonly rejectedRemovals: readonly string[];
  /** Elements that left the source, but that another source lists. */
  readonly keptForOthers: readonly string[];
  /** Elements with a later expiry date. */
  readonly renewed: number;
  /** Why nothing may be changed. */
  readonly blocker?: string;
}

/**
 * Compares the items of a source with its generated file. A person reviews the result, so an element that stays keeps its line: `seen.first`
 * never changes, and an expiry date is renewed only in the second half of its term. A deny never turns into an allow or a VIP: the elements of
 * another section are removed.
 */
export function mergeSource(input: MergeInput): MergeResult {
  const { source, previous, previousSection, present, isRejected, today } = input;
  const getProposedExpiry = (value: string): unknown => {
    const proposed = input.proposed?.get(value);
    return proposed?.seen?.last === undefined ? proposed?.fields["expires"] : undefined;
  };
  const term = getTerm(source);
  const elements: SourceElement[] = [];
  const departed: string[] = [];
  const returned: string[] = [];
  const removed: string[] = [];
  const leaving: string[] = [];
  const rejected: string[] = [];
  const keptForOthers: string[] = [];
  let renewed = 0;
  const known = new Set<string>();
  for (const element of previous) {
    const { value, seen, fields } = element;
    const wasListed = isListed(element);
    if (previousSection !== source.into) {
      if (wasListed) leaving.push(value);
      removed.push(value);
      continue;
    }
    known.add(value);
    if (present.has(value)) {
      const before = wasListed ? fields["expires"] : undefined;
      const expires = getExpiry(term, today, [before, getProposedExpiry(value)]);
      if (!wasListed) returned.push(value);
      else if (expires !== fields["expires"] && fields["expires"] !== undefined) renewed += 1;
      elements.push(buildSourceElement(input, value, expires, element));
      continue;
    }
    if (isRejected(value)) {
      if (wasListed) rejected.push(value);
      removed.push(value);
      continue;
    }
    if (input.isListedElsewhere(value)) {
      const expires = getExpiry(term, today, [fields["expires"], getProposedExpiry(value)]);
      keptForOthers.push(value);
      elements.push({ value, fields: { ...fields, expires }, seen: { first: seen?.first ?? today } });
      continue;
    }
    if (wasListed) leaving.push(value);
    if (typeof term !== "number") {
      removed.push(value);
      continue;
    }
    const last = seen?.last ?? getLastDay(element, input);
    // An entry that has expired stays expired, however long nobody has synced.
    const isOver = String(fields["expires"] ?? "never") < today;
    const expires = wasListed && !isOver ? addDaysToDate(last, term) : String(fields["expires"] ?? "");
    if (expires < today) {
      removed.push(value);
      continue;
    }
    if (wasListed) departed.push(value);
    elements.push({ value, fields: { ...fields, expires }, seen: { first: seen?.first ?? last, last } });
  }
  const added = [...present.keys()].filter((value) => !known.has(value));
  for (const value of added) {
    const expires = getExpiry(term, today, [getProposedExpiry(value)]);
    elements.push(buildSourceElement(input, value, expires, undefined));
  }
  const blocker = findBlocker(input, leaving, rejected);
  const changes = { added, departed, returned, removed, rejectedRemovals: rejected, keptForOthers, renewed };
  return { elements, ...changes, ...(blocker === undefined ? {} : { blocker }) };
}

/**
 * Returns the last day on which the source may have listed an element that it no longer lists. A sync without changes leaves no trace, so that
 * it is the day before; an entry never ends too early.
 */
function getLastDay({ value, seen }: SourceElement, { proposed, lastSync, today }: MergeInput): string {
  const proposedDay = proposed?.get(value)?.seen?.last;
  if (proposedDay !== undefined && proposedDay <= today && proposedDay >= (lastSync ?? today)) return proposedDay;
  return [addDaysToDate(today, -1), lastSync ?? today, seen?.first ?? ""].sort().at(-1) ?? today;
}

/** Returns the number of days that an entry stays; `never`, or undefined for none. */
function getTerm(source: SourceDeclaration): number | "never" | undefined {
  const expires = isFeed(source) ? source.expires : undefined;
  return expires === undefined || expires === "never" ? expires : (parseTermDays(expires) ?? 0);
}

/** Returns the first of the earlier expiry dates that is in the first half of the term; otherwise the date after a whole term. */
function getExpiry(term: number | "never" | undefined, today: string, earlier: readonly unknown[]): string | undefined {
  if (typeof term !== "number") return term;
  const latest = addDaysToDate(today, term);
  const isCurrent = (day: unknown): day is string => {
    if (typeof day !== "string" || day === "never" || day > latest) return false;
    return ((Date.parse(day) - Date.parse(today)) / DAY_MS) * 2 >= term;
  };
  return earlier.find(isCurrent) ?? latest;
}

function buildSourceElement(
  { name, source, hasNames, present, proposed, today }: MergeInput,
  value: string,
  expires: string | undefined,
  previous: SourceElement | undefined,
): SourceElement {
  const { comment, owner, ticket } = source;
  const isUnknown = !hasNames && comment?.includes("{name}") === true;
  const text = isUnknown
    ? previous?.fields["comment"]
    : formatComment(comment, { name, source, item: present.get(value) });
  const scope = isFeed(source) ? source.scope : undefined;
  return {
    value,
    fields: { ...previous?.fields, comment: text, ticket, owner, expires, scope },
    seen: { first: previous?.seen?.first ?? proposed?.get(value)?.seen?.first ?? today },
  };
}

/** Fills in a comment. A name comes from outside, so text that a terminal or a pipeline would interpret is left out. */
function formatComment(
  template: string | undefined,
  names: { readonly name: string; readonly source: SourceDeclaration; readonly item: string | undefined },
): string | undefined {
  if (template === undefined) return undefined;
  const { source } = names;
  const group = "group" in source ? (source.group ?? ("groupId" in source ? source.groupId : undefined)) : undefined;
  const values: Readonly<Record<string, string | undefined>> = { group, source: names.name, name: names.item };
  const fill = (itemName: string | undefined): string =>
    template
      .replace(/\{(group|source|name)\}/g, (_all, key: string) => (key === "name" ? itemName : values[key]) ?? "")
      .replace(/\s+/g, " ")
      .trim();
  const text = fill(sanitizeLine(values["name"] ?? "").slice(0, MAX_NAME));
  const comment = findHarmfulText(text) === undefined ? text : fill(undefined);
  return /[\p{L}\p{N}]/u.test(comment) ? comment : undefined;
}

const MAX_NAME = 120;

function findBlocker(
  { previous, previousSection, present, source }: MergeInput,
  leaving: readonly string[],
  rejected: readonly string[],
): string | undefined {
  const before = previous.filter(isListed);
  const { confirmRemovals } = source;
  const noun = previousSection === "vips" ? "VIPs" : "entries";
  const removals = [...leaving, ...rejected];
  const isBlocked =
    validateRemovals(
      {
        removedItems: removals.map((name) => ({ name })),
        countBefore: before.length,
        countAfter: present.size,
        noun: ["", noun],
      },
      confirmRemovals === undefined ? {} : { confirmRemovals },
    ) !== undefined;
  if (!isBlocked) return undefined;
  const cause =
    previousSection === source.into ? "It no longer lists" : `Its section is now \`${source.into}\`, which removes`;
  const problems = [
    ...(leaving.length > 0 ? [`${cause} ${formatShare(leaving, before.length, noun)}.`] : []),
    ...(rejected.length > 0
      ? [`It lists values that it may no longer declare: ${formatShare(rejected, before.length, noun)}.`]
      : []),
  ];
  return `${problems.join(" ")} If that is intended, write \`confirmRemovals: ${removals.length}\` in the source, and remove it afterwards.`;
}

function formatShare(values: readonly string[], total: number, noun: string): string {
  return `${values.length} of ${total} ${noun}, such as ${values.slice(0, 5).join(", ")}`;
}

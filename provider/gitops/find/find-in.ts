import type { AllowDenyEntryRow } from "../../client";
import type { Place } from "../../files/finding";
import type { ReadResult } from "../../files/read-settings";
import type { DeclaredEntry, DeclaredVip } from "../../files/settings";
import type { KnownLists } from "../../plan/desired";
import { sameComment } from "../../resources/lifecycle/comparable";
import { keyOfRow } from "../../resources/lifecycle/entry-match";
import { DEFAULT_VERDICT_SCOPE } from "../../settings/assumptions";
import { canonicalValue } from "../../settings/entry-value";
import { readEntry } from "../../settings/keyed-list";
import { canonicalComment } from "../../settings/text";
import { withoutUndefined } from "../../settings/without-undefined";
import type { DeclaredThere, EndedThere, Found, FoundState, Line, RowThere, StackThere } from "./found";
import type { Match, Matcher } from "./matcher";

/** What of one tenant is looked through; what is absent was not read. */
export interface Looked {
  readonly files?: Pick<ReadResult, "draft" | "includedAt">;
  /** Those that {@link isMatching} leaves. */
  readonly rows?: readonly AllowDenyEntryRow[];
  readonly stack?: { readonly name: string; readonly known: KnownLists };
}

/** Whether a row concerns what is looked for: of a list, no others need to be kept. */
export function isMatching(
  matcher: Matcher,
  { entry_type, value }: Pick<AllowDenyEntryRow, "entry_type" | "value">,
): boolean {
  return matcher.of(entry_type, canonicalValue(value)).length > 0;
}

/** All that concerns what is looked for, an entry with all its places; in the order of what is looked for, the nearest first. */
export function findIn(matcher: Matcher, { files, rows, stack }: Looked): readonly Found[] {
  const subjects = new Map<string, Subject>();
  const subjectOf = (
    about: Pick<Subject, "key" | "value" | "entryType" | "verdictScope">,
  ): Subject | undefined => {
    const matches = matcher.of(about.entryType, about.value);
    if (matches.length === 0) return undefined;
    const { key, value, entryType, verdictScope } = about;
    const one = subjects.get(key) ?? { key, value, entryType, verdictScope, matches, ended: [], there: [] };
    subjects.set(key, one);
    return one;
  };
  for (const row of rows ?? []) {
    subjectOf({
      key: keyOfRow(row),
      value: canonicalValue(row.value),
      entryType: row.entry_type,
      verdictScope: row.verdict_scope ?? DEFAULT_VERDICT_SCOPE,
    })?.there.push(rowThere(row));
  }
  const includedAt = files?.includedAt ?? new Map<string, Place>();
  for (const entry of files?.draft?.entries ?? []) {
    const subject = subjectOf(entry);
    if (subject !== undefined) subject.declared = declaredThere(entry, includedAt);
  }
  const end = (entry: DeclaredEntry | DeclaredVip, how: Pick<EndedThere, "why" | "removedAt">): void => {
    if (entry.kind !== "entry") return;
    subjectOf(entry)?.ended.push({ ...declaredThere(entry, includedAt), ...how });
  };
  for (const entry of files?.draft?.expired ?? []) end(entry, { why: "expired" });
  for (const { declared, place } of files?.draft?.excluded ?? []) {
    end(declared, { why: "removed", removedAt: lineOf(place) });
  }
  for (const [key, text] of Object.entries(stack?.known.entries.content ?? {})) {
    const entry = readEntry(key, text);
    const subject = entry === undefined ? undefined : subjectOf({ key, ...entry });
    if (subject === undefined || entry === undefined || stack === undefined) continue;
    const { list, comment } = entry;
    subject.stack = withoutUndefined({ stack: stack.name, resource: "entries", list, comment });
  }
  const order = new Map(matcher.wanted.map(({ value }, at) => [value, at]));
  return [...subjects.values()]
    .flatMap((subject) =>
      subject.matches.map((match) => foundOf(subject, match, files !== undefined, rows !== undefined)),
    )
    .sort(
      (one, other) =>
        (order.get(one.wanted) ?? 0) - (order.get(other.wanted) ?? 0) ||
        NEAREST.indexOf(one.how) - NEAREST.indexOf(other.how) ||
        other.value.length - one.value.length ||
        (one.key < other.key ? -1 : 1),
    );
}

const NEAREST = ["exact", "domain", "parent", "below"];

interface Subject extends Pick<Found, "key" | "value" | "entryType" | "verdictScope"> {
  readonly matches: readonly Match[];
  readonly ended: EndedThere[];
  readonly there: RowThere[];
  declared?: DeclaredThere;
  stack?: StackThere;
}

function foundOf(subject: Subject, { wanted, how }: Match, filesRead: boolean, tenantRead: boolean): Found {
  const { matches: _matches, ...rest } = subject;
  return { wanted: wanted.value, how, ...rest, state: stateOf(subject, filesRead, tenantRead) };
}

function stateOf({ declared, ended, there }: Subject, filesRead: boolean, tenantRead: boolean): FoundState {
  if (declared !== undefined) {
    if (!tenantRead) return "declared";
    if (there.length === 0) return "missing";
    const isSame = ({ list, comment }: RowThere): boolean =>
      list === declared.list && sameComment(comment, declared.comment);
    return there.every(isSame) ? "agrees" : "differs";
  }
  if (there.length > 0) return ended.length > 0 ? "lingers" : filesRead ? "undeclared" : "there";
  return ended.length > 0 ? "ended" : "stack";
}

function rowThere({ id, list, comment, created_by, created_at }: AllowDenyEntryRow): RowThere {
  const text = canonicalComment(comment);
  return withoutUndefined({
    id,
    list,
    comment: text === "" ? undefined : text,
    by: created_by,
    at: created_at,
  });
}

function declaredThere(entry: DeclaredEntry, includedAt: ReadonlyMap<string, Place>): DeclaredThere {
  const { list, comment, ticket, owner, approvedBy, expires, acceptRisk, place, overrides } = entry;
  return withoutUndefined({
    list,
    ...lineOf(place),
    comment,
    ticket,
    owner,
    approvedBy,
    expires,
    acceptRisk,
    includedAt: chainOf(place.file, includedAt),
    overrides: overrides.map(lineOf),
  });
}

/** The lines by which a file is included, up to the file that was asked for. */
function chainOf(file: string, includedAt: ReadonlyMap<string, Place>): readonly Line[] {
  const chain: Line[] = [];
  let at = includedAt.get(file);
  // A circle was refused when it was read.
  while (at !== undefined && chain.length < includedAt.size) {
    chain.push(lineOf(at));
    at = includedAt.get(at.file);
  }
  return chain;
}

function lineOf({ file, line }: Place): Line {
  return { file, line };
}

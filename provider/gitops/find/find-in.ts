import type { AllowDenyEntryRow, VipEmployeeRow } from "../../client";
import { textsOf } from "../../files/element-fields";
import type { Place } from "../../files/finding";
import type { ReadResult } from "../../files/read-settings";
import type { DeclaredEntry, DeclaredVip } from "../../files/settings";
import type { KnownLists } from "../../plan/desired";
import { keyOfRow } from "../../resources/lifecycle/entry-match";
import { DEFAULT_VERDICT_SCOPE } from "../../settings/assumptions";
import { isSameStanding, sentOf, standingOf } from "../../settings/entry-fields";
import { canonicalMailbox, canonicalValue } from "../../settings/entry-value";
import { keyOfVip, readEntry, readVip } from "../../settings/keyed-list";
import { withoutUndefined } from "../../settings/without-undefined";
import type {
  DeclaredThere,
  EndedThere,
  Found,
  FoundState,
  How,
  Line,
  RowThere,
  StackThere,
} from "./find-schema";
import type { Match, Matcher } from "./matcher";

/** The sources to search for one tenant; absent sources were not read. */
export interface Looked {
  readonly files?: Pick<ReadResult, "draft" | "includedAt">;
  /** Rows filtered by {@link isMatching}. */
  readonly rows?: readonly AllowDenyEntryRow[];
  /** VIPs filtered by {@link isMatchingVip}; absent if no mailbox is searched for. */
  readonly vips?: readonly VipEmployeeRow[];
  readonly stack?: { readonly name: string; readonly known: KnownLists };
}

/** Returns whether a row is relevant for the query, so that other rows can be dropped. */
export function isMatching(
  matcher: Matcher,
  { entry_type, value }: Pick<AllowDenyEntryRow, "entry_type" | "value">,
): boolean {
  return matcher.of(entry_type, canonicalValue(value)).length > 0;
}

/** Returns whether a VIP is relevant for the query; false without a mailbox. */
export function isMatchingVip(matcher: Matcher, { email }: Pick<VipEmployeeRow, "email">): boolean {
  return email !== undefined && matcher.of("email_address", canonicalMailbox(email)).length > 0;
}

/** Finds all matches with all their locations, in the order of the query, the nearest first. */
export function findIn(matcher: Matcher, { files, rows, vips = [], stack }: Looked): readonly Found[] {
  const subjects = new Map<string, Subject>();
  const subjectOf = (
    about: Pick<Subject, "kind" | "key" | "value" | "entryType" | "verdictScope">,
  ): Subject | undefined => {
    const matches = matcher.of(about.entryType, about.value);
    if (matches.length === 0) return undefined;
    const { kind, key, value, entryType, verdictScope } = about;
    const id = `${kind} ${key}`;
    const named = { kind, key, value, entryType, ...(verdictScope === undefined ? {} : { verdictScope }) };
    const one = subjects.get(id) ?? { ...named, matches, ended: [], there: [] };
    subjects.set(id, one);
    return one;
  };
  for (const row of rows ?? []) {
    subjectOf({
      kind: "entry",
      key: keyOfRow(row),
      value: canonicalValue(row.value),
      entryType: row.entry_type,
      verdictScope: row.verdict_scope ?? DEFAULT_VERDICT_SCOPE,
    })?.there.push(rowThere(row));
  }
  for (const row of vips)
    if (row.email !== undefined) subjectOf(aboutVip(row.email))?.there.push(vipThere(row));
  const includedAt = files?.includedAt ?? new Map<string, Place>();
  const subjectOfDeclared = (one: DeclaredEntry | DeclaredVip): Subject | undefined =>
    subjectOf(one.kind === "entry" ? one : aboutVip(one.email));
  for (const one of [...(files?.draft?.entries ?? []), ...(files?.draft?.vips ?? [])]) {
    const subject = subjectOfDeclared(one);
    if (subject !== undefined) subject.declared = declaredThere(one, includedAt);
  }
  const end = (entry: DeclaredEntry | DeclaredVip, how: Pick<EndedThere, "why" | "removedAt">): void => {
    subjectOfDeclared(entry)?.ended.push({ ...declaredThere(entry, includedAt), ...how });
  };
  for (const entry of files?.draft?.expired ?? []) end(entry, { why: "expired" });
  for (const { declared, place } of files?.draft?.excluded ?? []) {
    end(declared, { why: "removed", removedAt: lineOf(place) });
  }
  for (const [key, text] of Object.entries(stack?.known.entries.content ?? {})) {
    const entry = readEntry(key, text);
    const subject = entry === undefined ? undefined : subjectOf({ kind: "entry", key, ...entry });
    if (subject === undefined || entry === undefined || stack === undefined) continue;
    subject.stack = { stack: stack.name, resource: "entries", ...sentOf(entry), list: entry.list };
  }
  for (const [key, text] of Object.entries(stack?.known.vips.content ?? {})) {
    const subject = subjectOf(aboutVip(key));
    if (subject === undefined || stack === undefined) continue;
    subject.stack = { stack: stack.name, resource: "vips", ...sentOf(readVip(key, text)), list: VIP };
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
        (`${one.key} ${one.kind}` < `${other.key} ${other.kind}` ? -1 : 1),
    );
}

const NEAREST: readonly How[] = ["exact", "range", "domain", "wildcard", "parent", "below"];

/** The list name of VIPs. */
const VIP = "vip";

function aboutVip(email: string): Pick<Subject, "kind" | "key" | "value" | "entryType"> {
  return { kind: "vip", key: keyOfVip(email), value: canonicalMailbox(email), entryType: "email_address" };
}

interface Subject extends Pick<Found, "kind" | "key" | "value" | "entryType" | "verdictScope"> {
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
    return there.every((row) => isSameStanding(row, declared)) ? "agrees" : "differs";
  }
  if (there.length > 0) return ended.length > 0 ? "lingers" : filesRead ? "undeclared" : "there";
  return ended.length > 0 ? "ended" : "stack";
}

function rowThere(row: AllowDenyEntryRow): RowThere {
  const { id, list, created_by: by, created_at: at } = row;
  return {
    id,
    ...standingOf(row),
    list,
    ...withoutUndefined({ by: by || undefined, at: at || undefined }),
  };
}

function vipThere(row: VipEmployeeRow): RowThere {
  const { added_by: by, date_added: at, source } = row;
  const said = { by: by || undefined, at: at || undefined, source: source || undefined };
  return { ...standingOf(row), list: VIP, ...withoutUndefined(said) };
}

function declaredThere(
  one: DeclaredEntry | DeclaredVip,
  includedAt: ReadonlyMap<string, Place>,
): DeclaredThere {
  const { place, overrides } = one;
  return {
    list: one.kind === "entry" ? one.list : VIP,
    ...lineOf(place),
    ...textsOf(one),
    includedAt: chainOf(place.file, includedAt),
    overrides: overrides.map(lineOf),
  };
}

/** Returns the `include` lines from a file up to the requested one. */
function chainOf(file: string, includedAt: ReadonlyMap<string, Place>): readonly Line[] {
  const chain: Line[] = [];
  let at = includedAt.get(file);
  // Reading the files has already rejected include cycles.
  while (at !== undefined && chain.length < includedAt.size) {
    chain.push(lineOf(at));
    at = includedAt.get(at.file);
  }
  return chain;
}

function lineOf({ file, line }: Place): Line {
  return { file, line };
}

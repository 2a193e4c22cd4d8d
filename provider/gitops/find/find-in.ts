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
import type { DeclaredThere, EndedThere, Found, FoundState, How, Line, RowThere, StackThere } from "./find-schema";
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
  const subjects = new Map<string, FindSubject>();
  const getSubject = (
    identity: Pick<FindSubject, "kind" | "key" | "value" | "entryType" | "verdictScope">,
  ): FindSubject | undefined => {
    const matches = matcher.of(identity.entryType, identity.value);
    if (matches.length === 0) return undefined;
    const { kind, key, value, entryType, verdictScope } = identity;
    const id = `${kind} ${key}`;
    const identityFields = {
      kind,
      key,
      value,
      entryType,
      ...(verdictScope === undefined ? {} : { verdictScope }),
    };
    const subject = subjects.get(id) ?? { ...identityFields, matches, ended: [], there: [] };
    subjects.set(id, subject);
    return subject;
  };
  for (const row of rows ?? []) {
    getSubject({
      kind: "entry",
      key: keyOfRow(row),
      value: canonicalValue(row.value),
      entryType: row.entry_type,
      verdictScope: row.verdict_scope ?? DEFAULT_VERDICT_SCOPE,
    })?.there.push(buildRowOccurrence(row));
  }
  for (const row of vips)
    if (row.email !== undefined) getSubject(getVipIdentity(row.email))?.there.push(buildVipOccurrence(row));
  const includedAt = files?.includedAt ?? new Map<string, Place>();
  const getDeclaredSubject = (one: DeclaredEntry | DeclaredVip): FindSubject | undefined =>
    getSubject(one.kind === "entry" ? one : getVipIdentity(one.email));
  for (const one of [...(files?.draft?.entries ?? []), ...(files?.draft?.vips ?? [])]) {
    const subject = getDeclaredSubject(one);
    if (subject !== undefined) subject.declared = buildDeclaredOccurrence(one, includedAt);
  }
  const addInactive = (
    entry: DeclaredEntry | DeclaredVip,
    reasonFields: Pick<EndedThere, "why" | "removedAt">,
  ): void => {
    getDeclaredSubject(entry)?.ended.push({ ...buildDeclaredOccurrence(entry, includedAt), ...reasonFields });
  };
  for (const entry of files?.draft?.expired ?? []) addInactive(entry, { why: "expired" });
  for (const { declared, place } of files?.draft?.excluded ?? []) {
    addInactive(declared, { why: "removed", removedAt: toLine(place) });
  }
  for (const [key, text] of Object.entries(stack?.known.entries.content ?? {})) {
    const entry = readEntry(key, text);
    const subject = entry === undefined ? undefined : getSubject({ kind: "entry", key, ...entry });
    if (subject === undefined || entry === undefined || stack === undefined) continue;
    subject.stack = { stack: stack.name, resource: "entries", ...sentOf(entry), list: entry.list };
  }
  for (const [key, text] of Object.entries(stack?.known.vips.content ?? {})) {
    const subject = getSubject(getVipIdentity(key));
    if (subject === undefined || stack === undefined) continue;
    subject.stack = { stack: stack.name, resource: "vips", ...sentOf(readVip(key, text)), list: VIP_LIST };
  }
  const queryOrder = new Map(matcher.wanted.map(({ value }, index) => [value, index]));
  return [...subjects.values()]
    .flatMap((subject) =>
      subject.matches.map((match) => buildMatch(subject, match, files !== undefined, rows !== undefined)),
    )
    .sort(
      (one, other) =>
        (queryOrder.get(one.wanted) ?? 0) - (queryOrder.get(other.wanted) ?? 0) ||
        MATCH_ORDER.indexOf(one.how) - MATCH_ORDER.indexOf(other.how) ||
        other.value.length - one.value.length ||
        (`${one.key} ${one.kind}` < `${other.key} ${other.kind}` ? -1 : 1),
    );
}

const MATCH_ORDER: readonly How[] = ["exact", "range", "domain", "wildcard", "parent", "below"];

/** The list name of VIPs. */
const VIP_LIST = "vip";

function getVipIdentity(email: string): Pick<FindSubject, "kind" | "key" | "value" | "entryType"> {
  return { kind: "vip", key: keyOfVip(email), value: canonicalMailbox(email), entryType: "email_address" };
}

interface FindSubject extends Pick<Found, "kind" | "key" | "value" | "entryType" | "verdictScope"> {
  readonly matches: readonly Match[];
  readonly ended: EndedThere[];
  readonly there: RowThere[];
  declared?: DeclaredThere;
  stack?: StackThere;
}

function buildMatch(subject: FindSubject, { wanted, how }: Match, hasFiles: boolean, hasTenant: boolean): Found {
  const { matches: _matches, ...rest } = subject;
  return { wanted: wanted.value, how, ...rest, state: getMatchState(subject, hasFiles, hasTenant) };
}

function getMatchState({ declared, ended, there }: FindSubject, hasFiles: boolean, hasTenant: boolean): FoundState {
  if (declared !== undefined) {
    if (!hasTenant) return "declared";
    if (there.length === 0) return "missing";
    return there.every((row) => isSameStanding(row, declared)) ? "agrees" : "differs";
  }
  if (there.length > 0) return ended.length > 0 ? "lingers" : hasFiles ? "undeclared" : "there";
  return ended.length > 0 ? "ended" : "stack";
}

function buildRowOccurrence(row: AllowDenyEntryRow): RowThere {
  const { id, list, created_by: by, created_at: at } = row;
  return {
    id,
    ...standingOf(row),
    list,
    ...withoutUndefined({ by: by || undefined, at: at || undefined }),
  };
}

function buildVipOccurrence(row: VipEmployeeRow): RowThere {
  const { added_by: by, date_added: at, source } = row;
  const fields = { by: by || undefined, at: at || undefined, source: source || undefined };
  return { ...standingOf(row), list: VIP_LIST, ...withoutUndefined(fields) };
}

function buildDeclaredOccurrence(
  declaration: DeclaredEntry | DeclaredVip,
  includedAt: ReadonlyMap<string, Place>,
): DeclaredThere {
  const { place, overrides } = declaration;
  return {
    list: declaration.kind === "entry" ? declaration.list : VIP_LIST,
    ...toLine(place),
    ...textsOf(declaration),
    includedAt: getIncludeChain(place.file, includedAt),
    overrides: overrides.map(toLine),
  };
}

/** Returns the `include` lines from a file up to the requested one. */
function getIncludeChain(file: string, includedAt: ReadonlyMap<string, Place>): readonly Line[] {
  const chain: Line[] = [];
  let includeLocation = includedAt.get(file);
  // Reading the files has already rejected include cycles.
  while (includeLocation !== undefined && chain.length < includedAt.size) {
    chain.push(toLine(includeLocation));
    includeLocation = includedAt.get(includeLocation.file);
  }
  return chain;
}

function toLine({ file, line }: Place): Line {
  return { file, line };
}

import type { AllowDenyEntryRow, VipEmployeeRow } from "../../client";
import { DEFAULT_VERDICT_SCOPE } from "../../model/assumptions";
import { decodeEntry, decodeVip, encodeVipKey } from "../../model/encoded-list";
import { isSameEntryState, pickEntryState, pickSentFields } from "../../model/entry-fields";
import { canonicalizeMailbox, canonicalizeValue } from "../../model/entry-value";
import { omitUndefined } from "../../model/omit-undefined";
import type { StackLists } from "../../plan/desired-state";
import { encodeRowKey } from "../../resources/lifecycle/entry-match";
import { pickTextFields } from "../../settings-files/element-fields";
import type { FileLocation } from "../../settings-files/finding";
import type { SettingsReadResult } from "../../settings-files/read-settings";
import type { DeclaredEntry, DeclaredVip } from "../../settings-files/settings-model";
import type {
  DeclaredOccurrence,
  FileLine,
  FindMatch,
  InactiveOccurrence,
  MatchState,
  MatchType,
  StackOccurrence,
  TenantOccurrence,
} from "./find-schema";
import type { QueryMatch, QueryMatcher } from "./query-matcher";

/** The sources to search for one tenant; absent sources were not read. */
export interface FindSources {
  readonly files?: Pick<SettingsReadResult, "draft" | "includedAt">;
  readonly rows?: readonly AllowDenyEntryRow[];
  /** VIPs filtered by {@link isMatchingVip}; absent if no mailbox is searched for. */
  readonly vips?: readonly VipEmployeeRow[];
  readonly stack?: { readonly name: string; readonly known: StackLists };
}

/** Returns whether a row is relevant for the query, so that other rows can be dropped. */
export function isMatchingEntry(matcher: QueryMatcher, { value }: Pick<AllowDenyEntryRow, "value">): boolean {
  return matcher.match(canonicalizeValue(value)).length > 0;
}

/** Returns whether a VIP is relevant for the query; false without a mailbox. */
export function isMatchingVip(matcher: QueryMatcher, { email }: Pick<VipEmployeeRow, "email">): boolean {
  return email !== undefined && matcher.match(canonicalizeMailbox(email)).length > 0;
}

/** Finds all matches with all their locations, in the order of the query, the nearest first. */
export function findMatches(
  matcher: QueryMatcher,
  { files, rows, vips = [], stack }: FindSources,
): readonly FindMatch[] {
  const subjects = new Map<string, FindSubject>();
  const getSubject = (
    identity: Pick<FindSubject, "kind" | "key" | "value" | "entryType" | "verdictScope">,
  ): FindSubject | undefined => {
    const matches = matcher.match(identity.value);
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
    const subject = subjects.get(id) ?? { ...identityFields, matches, inactive: [], actual: [] };
    subjects.set(id, subject);
    return subject;
  };
  for (const row of rows ?? []) {
    getSubject({
      kind: "entry",
      key: encodeRowKey(row),
      value: canonicalizeValue(row.value),
      entryType: row.entry_type,
      verdictScope: row.verdict_scope ?? DEFAULT_VERDICT_SCOPE,
    })?.actual.push(buildRowOccurrence(row));
  }
  for (const row of vips)
    if (row.email !== undefined) getSubject(getVipIdentity(row.email))?.actual.push(buildVipOccurrence(row));
  const includedAt = files?.includedAt ?? new Map<string, FileLocation>();
  const getDeclaredSubject = (item: DeclaredEntry | DeclaredVip): FindSubject | undefined =>
    getSubject(item.kind === "entry" ? item : getVipIdentity(item.email));
  for (const entry of [...(files?.draft?.entries ?? []), ...(files?.draft?.vips ?? [])]) {
    const subject = getDeclaredSubject(entry);
    if (subject !== undefined) subject.declared = buildDeclaredOccurrence(entry, includedAt);
  }
  const addInactive = (
    entry: DeclaredEntry | DeclaredVip,
    reasonFields: Pick<InactiveOccurrence, "reason" | "removedAt">,
  ): void => {
    getDeclaredSubject(entry)?.inactive.push({ ...buildDeclaredOccurrence(entry, includedAt), ...reasonFields });
  };
  for (const entry of files?.draft?.expired ?? []) addInactive(entry, { reason: "expired" });
  for (const { declaration, location } of files?.draft?.excluded ?? []) {
    addInactive(declaration, { reason: "removed", removedAt: toLine(location) });
  }
  for (const [key, text] of Object.entries(stack?.known.entries.content ?? {})) {
    const entry = decodeEntry(key, text);
    const subject = entry === undefined ? undefined : getSubject({ kind: "entry", key, ...entry });
    if (subject === undefined || entry === undefined || stack === undefined) continue;
    subject.stack = { stack: stack.name, resource: "entries", ...pickSentFields(entry), list: entry.list };
  }
  for (const [key, text] of Object.entries(stack?.known.vips.content ?? {})) {
    const subject = getSubject(getVipIdentity(key));
    if (subject === undefined || stack === undefined) continue;
    subject.stack = {
      stack: stack.name,
      resource: "vips",
      ...pickSentFields(decodeVip(key, text)),
      list: VIP_LIST,
    };
  }
  const queryOrder = new Map(matcher.queries.map(({ value }, index) => [value, index]));
  return [...subjects.values()]
    .flatMap((subject) =>
      subject.matches.map((match) => buildMatch(subject, match, files !== undefined, rows !== undefined)),
    )
    .sort(
      (a, b) =>
        (queryOrder.get(a.query) ?? 0) - (queryOrder.get(b.query) ?? 0) ||
        MATCH_ORDER.indexOf(a.matchType) - MATCH_ORDER.indexOf(b.matchType) ||
        b.value.length - a.value.length ||
        (`${a.key} ${a.kind}` < `${b.key} ${b.kind}` ? -1 : 1),
    );
}

const MATCH_ORDER: readonly MatchType[] = ["exact", "range", "domain", "wildcard", "parent", "below"];

const VIP_LIST = "vip";

function getVipIdentity(email: string): Pick<FindSubject, "kind" | "key" | "value" | "entryType"> {
  return {
    kind: "vip",
    key: encodeVipKey(email),
    value: canonicalizeMailbox(email),
    entryType: "email_address",
  };
}

interface FindSubject extends Pick<FindMatch, "kind" | "key" | "value" | "entryType" | "verdictScope"> {
  readonly matches: readonly QueryMatch[];
  readonly inactive: InactiveOccurrence[];
  readonly actual: TenantOccurrence[];
  declared?: DeclaredOccurrence;
  stack?: StackOccurrence;
}

function buildMatch(
  subject: FindSubject,
  { query, matchType }: QueryMatch,
  hasFiles: boolean,
  hasTenant: boolean,
): FindMatch {
  const { matches: _matches, ...rest } = subject;
  return { query: query.value, matchType, ...rest, state: getMatchState(subject, hasFiles, hasTenant) };
}

function getMatchState({ declared, inactive, actual }: FindSubject, hasFiles: boolean, hasTenant: boolean): MatchState {
  if (declared !== undefined) {
    if (!hasTenant) return "declared";
    if (actual.length === 0) return "missing";
    return actual.every((row) => isSameEntryState(row, declared)) ? "agrees" : "differs";
  }
  if (actual.length > 0) return inactive.length > 0 ? "pending-removal" : hasFiles ? "undeclared" : "present";
  return inactive.length > 0 ? "inactive" : "stack";
}

function buildRowOccurrence(row: AllowDenyEntryRow): TenantOccurrence {
  const { id, list, created_by: createdBy, created_at: createdAt } = row;
  return {
    id,
    ...pickEntryState(row),
    list,
    ...omitUndefined({ createdBy: createdBy || undefined, createdAt: createdAt || undefined }),
  };
}

function buildVipOccurrence(row: VipEmployeeRow): TenantOccurrence {
  const { added_by: createdBy, date_added: createdAt, source } = row;
  const fields = { createdBy: createdBy || undefined, createdAt: createdAt || undefined, source: source || undefined };
  return { ...pickEntryState(row), list: VIP_LIST, ...omitUndefined(fields) };
}

function buildDeclaredOccurrence(
  declaration: DeclaredEntry | DeclaredVip,
  includedAt: ReadonlyMap<string, FileLocation>,
): DeclaredOccurrence {
  const { location, overrides } = declaration;
  return {
    list: declaration.kind === "entry" ? declaration.list : VIP_LIST,
    ...toLine(location),
    ...pickTextFields(declaration),
    includedAt: getIncludeChain(location.file, includedAt),
    overrides: overrides.map(toLine),
  };
}

function getIncludeChain(file: string, includedAt: ReadonlyMap<string, FileLocation>): readonly FileLine[] {
  const chain: FileLine[] = [];
  let includeLocation = includedAt.get(file);
  // Reading the files has already rejected include cycles.
  while (includeLocation !== undefined && chain.length < includedAt.size) {
    chain.push(toLine(includeLocation));
    includeLocation = includedAt.get(includeLocation.file);
  }
  return chain;
}

function toLine({ file, line }: FileLocation): FileLine {
  return { file, line };
}

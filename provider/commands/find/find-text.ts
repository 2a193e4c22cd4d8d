import { DEFAULT_VERDICT_SCOPE } from "../../model/assumptions";
import { decodePunycode } from "../../model/decode-punycode";
import { pickSentFields } from "../../model/entry-fields";
import { getDetailTexts } from "../../model/entry-state-text";
import { excerpt, excerptSentences, quote, sanitizeLine, sanitizeMultiline } from "../../model/text";
import { formatCount, toSingleLine } from "../../render/safe-text";
import { wrapHangingIndent } from "../../render/text-width";
import { labelTextFields } from "../../settings-files/element-fields";
import type {
  Decision,
  DeclaredOccurrence,
  FileLine,
  FindMatch,
  FindQuery,
  FindReport,
  InactiveOccurrence,
  MatchState,
  MatchType,
  TenantMatches,
  TenantOccurrence,
} from "./find-schema";

const MAX_NAMES = 100;
/** Long enough for an error that says which tenant a key belongs to, and how to fix that. */
const MAX_MESSAGE_LENGTH = 1_000;
const MAX_READ_ERRORS = 20;

/** Renders matches for a terminal. It groups tenants with identical matches. External text is sanitized. */
export function renderFindText(report: FindReport, columns = 80): string {
  const lines: string[] = [];
  const addLine = (indent: number, text: string): void => {
    lines.push(...wrapHangingIndent(indent, text, columns));
  };
  for (const query of report.queries) {
    if (lines.length > 0) lines.push("");
    addQuery(query, report, addLine);
  }
  addUnreadable(report, (indent, text) => {
    if (indent === 0) lines.push("");
    addLine(indent, text);
  });
  return sanitizeMultiline(`${lines.join("\n")}\n`);
}

type AddLine = (indent: number, text: string) => void;

function addQuery(query: FindQuery, { tenants }: FindReport, addLine: AddLine): void {
  const groups = new Map<string, { readonly match: FindMatch; readonly members: GroupMember[] }>();
  const matchingTenants = new Set<TenantMatches>();
  for (const tenant of tenants) {
    for (const match of tenant.matches) {
      if (match.query !== query.value) continue;
      if (match.state !== "inactive") matchingTenants.add(tenant);
      const matchKey = getMatchKey(match);
      const group = groups.get(matchKey) ?? { match, members: [] };
      group.members.push({ tenant, match });
      groups.set(matchKey, group);
    }
  }
  const isFleet = tenants.length > 1;
  // The files of an unreadable tenant don't show what it actually holds.
  const unreadableCount = tenants.filter(isUnreadableTenant).length;
  const readableCount = [...matchingTenants].filter((tenant) => !isUnreadableTenant(tenant)).length;
  const searchedText = formatCount(tenants.length - unreadableCount, "tenant");
  const unreadableText =
    unreadableCount === 0 ? "" : `, and ${formatCount(unreadableCount, "tenant")} could not be read`;
  const scopeText = isFleet ? ` in ${readableCount} of ${searchedText}${unreadableText}` : "";
  const queryLabel = formatValueWithUnicode(query.value);
  if (groups.size === 0)
    addLine(0, `${queryLabel}: nothing found${isFleet ? ` in ${searchedText}${unreadableText}` : ""}.`);
  else
    addLine(
      0,
      `${queryLabel}: ${matchingTenants.size === 0 ? "no active entry" : "found"}${matchingTenants.size === 0 ? "" : scopeText}`,
    );
  for (const { match, members } of groups.values()) addGroup(match, members, isFleet, addLine);
  if (query.isSender) addDecisions(query, tenants, addLine);
}

function isUnreadableTenant({ readErrors }: TenantMatches): boolean {
  return readErrors.some(({ source }) => source === "tenant");
}

interface GroupMember {
  readonly tenant: TenantMatches;
  readonly match: FindMatch;
}

function addGroup(match: FindMatch, members: readonly GroupMember[], isFleet: boolean, addLine: AddLine): void {
  const { declared, inactive, actual, stack, value, matchType, state } = match;
  const { verdictScope = DEFAULT_VERDICT_SCOPE } = match;
  const listNames = [...new Set([...actual.map(({ list }) => list), declared?.list, inactive[0]?.list, stack?.list])];
  const listText = (
    actual.length > 0
      ? [...new Set(actual.map((occurrence) => occurrence.list))]
      : listNames.filter((occurrence) => occurrence !== undefined).slice(0, 1)
  )
    .map(formatMatchList)
    .join(" and ");
  const scopeText = verdictScope === DEFAULT_VERDICT_SCOPE ? "" : ` (${excerpt(verdictScope)})`;
  addLine(
    2,
    `${listText} ${formatValueWithUnicode(value)}${scopeText}${MATCH_TYPE_TEXT[matchType]}: ${STATE_TEXT[state]}${isFleet ? `, ${formatCount(members.length, "tenant")}` : ""}`,
  );
  if (isFleet) addLine(6, `in ${formatMatchingTenants(members.map(({ tenant }) => tenant))}`);
  if (declared !== undefined) {
    addLine(
      6,
      `declared at ${formatIncludeChain(declared, members.length > 1)}${state === "differs" && declared.list !== "vip" ? ` on the ${declared.list} list` : ""}`,
    );
    if (declared.overrides.length > 0) addLine(6, `overrides ${declared.overrides.map(formatFileLine).join(", ")}`);
    for (const detail of describeOccurrence(declared)) addLine(6, detail);
  }
  for (const occurrence of inactive) addInactive(occurrence, declared === undefined, members.length > 1, addLine);
  addRows(match, members, addLine);
  if (stack !== undefined) {
    const details = formatEntryDetails(stack);
    const detailSuffix = details === "" ? "" : `, ${details}`;
    addLine(
      6,
      `in the stack ${quote(stack.stack)}, ${stack.resource} ${quote(match.key)}: ${formatMatchList(stack.list)}${detailSuffix}`,
    );
  }
}

function addInactive(
  occurrence: InactiveOccurrence,
  showDetails: boolean,
  omitOwnInclude: boolean,
  addLine: AddLine,
): void {
  const { reason, removedAt, expires, list } = occurrence;
  const reasonText =
    reason === "expired"
      ? `expired on ${excerpt(expires ?? "")}`
      : `removed at ${removedAt === undefined ? "" : formatFileLine(removedAt)}`;
  addLine(6, `${formatMatchList(list)} declared at ${formatIncludeChain(occurrence, omitOwnInclude)}, ${reasonText}`);
  if (showDetails) for (const detail of describeOccurrence(occurrence, reason === "expired")) addLine(6, detail);
}

function addRows({ state, declared, actual }: FindMatch, members: readonly GroupMember[], addLine: AddLine): void {
  for (const [index, row] of actual.entries()) {
    const hasNoDetails = state === "agrees" || getDetailTexts(row).length + getDetailTexts(declared ?? {}).length === 0;
    if (!hasNoDetails) {
      addLine(6, `at the tenant: ${formatMatchList(row.list)}, ${formatEntryDetails(row) || "no comment"}`);
    } else if (state === "differs" || actual.length > 1) addLine(6, `at the tenant: ${formatMatchList(row.list)}`);
    const creations = [...new Set(members.map(({ match }) => formatRowCreation(match.actual[index])))];
    const [onlyCreation = ""] = creations;
    if (creations.length === 1) addLine(6, onlyCreation);
    else addLine(6, `created by different people or at different times; --format json shows each`);
  }
}

function formatEntryDetails(entry: object): string {
  return getDetailTexts(entry)
    .map(([name, text]) => `${name} ${quote(toSingleLine(text), 300)}`)
    .join(", ");
}

function formatRowCreation(row: TenantOccurrence | undefined): string {
  const { list, createdBy, createdAt, source } = row ?? {};
  const sourceText = source === undefined ? "" : `, source ${excerpt(source)}`;
  if (createdBy === undefined && createdAt === undefined) return `its creator is unknown${sourceText}`;
  return `${list === "vip" ? "added" : "created"}${createdBy === undefined ? "" : ` by ${excerpt(createdBy)}`}${createdAt === undefined ? "" : ` on ${excerpt(createdAt, 40)}`}${sourceText}`;
}

function describeOccurrence(
  { comment, acceptRisk, expires, ...declared }: DeclaredOccurrence,
  isExpired = false,
): string[] {
  const details = labelTextFields(declared).map(([label, text]) => `${label} ${excerpt(text)}`);
  if (expires !== undefined && !isExpired)
    details.push(expires === "never" ? "never expires" : `expires after ${excerpt(expires)}`);
  return [
    ...(details.length === 0 ? [] : [details.join(", ")]),
    ...(comment === undefined ? [] : [`comment ${quote(toSingleLine(comment), 300)}`]),
    ...(acceptRisk === undefined ? [] : [`risk accepted: ${quote(toSingleLine(acceptRisk), 300)}`]),
  ];
}

/** @param omitOwnInclude whether to omit the tenant's own include, because the line covers several tenants. */
function formatIncludeChain({ includedAt, ...line }: DeclaredOccurrence, omitOwnInclude: boolean): string {
  const includeLocations = (omitOwnInclude ? includedAt.slice(0, -1) : includedAt).map(formatFileLine);
  return [formatFileLine(line), ...includeLocations].join(", included at ");
}

function addDecisions({ value }: FindQuery, tenants: readonly TenantMatches[], addLine: AddLine): void {
  const groups = new Map<string, TenantMatches[]>();
  for (const tenant of tenants) {
    for (const decision of tenant.decisions) {
      if (decision.sender !== value) continue;
      const text = formatDecision(decision);
      groups.set(text, [...(groups.get(text) ?? []), tenant]);
    }
  }
  for (const [text, groupTenants] of groups) {
    addLine(2, text);
    if (tenants.length > 1) addLine(6, `in ${formatMatchingTenants(groupTenants)}`);
  }
}

function formatDecision({ sender, scope, basis, decidingEntry, otherEntryCount, isCertain }: Decision): string {
  const mailText = scope === DEFAULT_VERDICT_SCOPE ? "mail" : `mail with the verdict ${excerpt(scope)}`;
  const byText = basis === "files" ? ", according to the files" : "";
  if (decidingEntry === undefined)
    return `No entry applies to ${mailText} from ${formatValueWithUnicode(sender)}${byText}.`;
  const precedenceText =
    otherEntryCount === 0 ? "" : `, ahead of ${formatCount(otherEntryCount, "other entry", "other entries")}`;
  const caveat = isCertain
    ? ""
    : " This is an assumption: the service's reference doesn't define which of several entries takes precedence, or whether a domain covers its subdomains.";
  return `${excerpt(decidingEntry.list)} ${formatValueWithUnicode(decidingEntry.value)} decides for ${mailText} from ${formatValueWithUnicode(sender)}${precedenceText}${byText}.${caveat}`;
}

function addUnreadable({ tenants, isComplete }: FindReport, addLine: AddLine): void {
  if (isComplete) return;
  const problems = tenants.flatMap((tenant) => tenant.readErrors.map((problem) => ({ tenant, ...problem })));
  const groups = [...Map.groupBy(problems, ({ source, code, message }) => `${source} ${code} ${message}`).values()];
  addLine(0, "Some sources could not be read, so there may be more matches:");
  for (const [firstSource, ...others] of groups.slice(0, MAX_READ_ERRORS)) {
    if (firstSource === undefined) continue;
    const names = formatMatchingTenants([firstSource, ...others].map(({ tenant }) => tenant));
    addLine(
      2,
      `${names}, ${SOURCE_TEXT[firstSource.source]}: ${excerptSentences(firstSource.message, MAX_MESSAGE_LENGTH)} [${firstSource.code}]`,
    );
  }
  if (groups.length > MAX_READ_ERRORS)
    addLine(2, `and ${groups.length - MAX_READ_ERRORS} more reasons, which --format json shows`);
}

const SOURCE_TEXT = { file: "its files", tenant: "the tenant", stack: "its stack" } as const;

const MATCH_TYPE_TEXT: Readonly<Record<MatchType, string>> = {
  exact: "",
  domain: ", the mailbox's domain",
  parent: ", a parent domain",
  wildcard: ", a wildcard that covers it",
  range: ", a range that includes it",
  below: ", below it",
};

const STATE_TEXT: Readonly<Record<MatchState, string>> = {
  agrees: "file and tenant agree",
  differs: "file and tenant differ",
  missing: "declared, but not at the tenant",
  undeclared: "at the tenant, but not declared",
  "pending-removal": "still at the tenant, but no longer declared",
  inactive: "no longer declared",
  declared: "declared",
  present: "at the tenant",
  stack: "only in the stack's state",
};

/** Returns a key that is the same for all tenants of a group. It ignores the tenant's own include line, ids, authors and dates. */
function getMatchKey({ kind, query, matchType, key, state, declared, inactive, actual, stack }: FindMatch): string {
  const omitTopInclude = (occurrence: DeclaredOccurrence | undefined) =>
    occurrence && { ...occurrence, includedAt: occurrence.includedAt.slice(0, -1) };
  const rowKeys = actual.map((row) => [row.list, pickSentFields(row), row.source]);
  return JSON.stringify([
    kind,
    query,
    matchType,
    key,
    state,
    omitTopInclude(declared),
    inactive.map(omitTopInclude),
    rowKeys,
    stack,
  ]);
}

function formatMatchingTenants(tenants: readonly TenantMatches[]): string {
  const names = tenants.slice(0, MAX_NAMES).map(({ name }) => excerpt(name));
  const hiddenCount = tenants.length - names.length;
  return `${names.join(", ")}${hiddenCount > 0 ? ` and ${hiddenCount} more, which --format json names` : ""}`;
}

function formatMatchList(list: string): string {
  return list === "vip" ? "VIP" : excerpt(list);
}

function formatValueWithUnicode(value: string): string {
  const unicode = decodePunycode(value);
  return `${excerpt(value, 330)}${unicode === undefined ? "" : ` (${excerpt(unicode, 330)})`}`;
}

function formatFileLine({ file, line }: FileLine): string {
  return `${sanitizeLine(file)}:${line}`;
}

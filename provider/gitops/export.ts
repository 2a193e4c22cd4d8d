import type { AllowDenyEntryRow, VipEmployeeRow } from "../client";
import { blockElement, type ElementStyle } from "../files/edit-element";
import { readSettings } from "../files/read-settings";
import { SETTINGS_VERSION } from "../files/settings-schema";
import { sortKey } from "../files/sort-key";
import { yamlComment, yamlText } from "../files/yaml-text";
import type { Observed } from "../plan/observed";
import { ownDomainsSeen, refuseStrangers } from "../plan/same-tenant";
import { type Declarable, type Declared, isDeclarable } from "../resources/lifecycle/declarable";
import type { EntryType } from "../settings/assumptions";
import { EmailSecurityError } from "../settings/email-security-error";
import type { Element } from "../settings/entry-fields";
import { canonicalMailbox, parseEntryValue } from "../settings/entry-value";
import { OwnDomains } from "../settings/own-domains";
import { quote } from "../settings/text";
import { isAutomatic } from "../tenant";
import { entriesForFile, patternsForEntries, patternsForVips, vipsForFile } from "./declarable";
import { describeEntry, describeVip, madeBy, person } from "./describe-row";

export interface ExportOptions {
  /** The service's host, for the first line of each file. */
  readonly host: string;
  /**
   * The tenant's own domains, in canonical form; written to the files and used for risk checks. Default: the domains that its VIPs share,
   * with a note to review them.
   */
  readonly ownDomains?: readonly string[];
  /** Whether to declare VIPs from automatic detection. Default: false, because detection keeps them. */
  readonly includeAutomatic?: boolean;
}

/** A tenant as settings files. */
export interface Exported {
  /** The texts by file name; the file that includes the others is first. */
  readonly files: ReadonlyMap<string, string>;
  /** The numbers of declared entries and VIPs. */
  readonly entries: number;
  readonly vips: number;
  /** The number of risky entries, which are declared with a note to review them. */
  readonly risky: number;
  /** The number of VIPs left to automatic detection. */
  readonly automatic: number;
  /** Own domains that were inferred from the VIPs. */
  readonly likelyOwnDomains: readonly string[];
  /** Descriptions of what can't be declared, one line each; the files contain them as comments. */
  readonly left: readonly string[];
}

export const SETTINGS_FILE = "settings.yaml";

/** All possible file names of an export. */
export const EXPORTED_FILES: readonly string[] = [
  SETTINGS_FILE,
  "vips.yaml",
  "allow.yaml",
  "deny.yaml",
  "deny-domains.yaml",
  "deny-mailboxes.yaml",
  "deny-addresses.yaml",
];

const EXPORT_ACCEPTANCE = "It stood at the service before the export of";

/** Returns whether an `acceptRisk` comes from an export and not from a person. */
export function isAcceptedByExport(acceptRisk: unknown): boolean {
  return typeof acceptRisk === "string" && acceptRisk.startsWith(EXPORT_ACCEPTANCE);
}

/** Longer deny lists are split by entry type. */
const MAX_DENY_FILE_ENTRIES = 1_000;

/**
 * Exports a tenant as settings files that declare exactly the actual state. The first `pulumi up` writes nothing, and a plan is empty.
 * Elements are sorted and have comments with their creator and time. Lists ignore what can't be declared, if a pattern can match it;
 * comments describe it in any case.
 *
 * @throws {OtherTenantError} if no mailbox of the tenant belongs to the own domains.
 * @throws {EmailSecurityError} (`ERR_EXPORT`) if the files don't parse to the actual state, which is a bug in this package.
 */
export function exportSettings(observed: Observed, options: ExportOptions): Exported {
  const { ownDomains: namedDomains = [] } = options;
  refuseStrangers(observed, namedDomains);
  const content = heldBy(observed, options);
  const { day, allow, deny, vips, automatic, entries } = content;

  const header = formatExportHeader(observed, options);
  const parts = new Map([
    ["vips.yaml", `${headed(header)}${vipsSection(vips, automatic)}`],
    ["allow.yaml", `${headed(header)}${entriesSection("allow", allow)}`],
    ...buildDenyFiles(header, deny),
  ]);
  const top = [
    headed(header),
    ownDomainsText(content),
    `include:\n${[...parts.keys()].map((name) => `  - ${name}\n`).join("")}`,
    listsText(content),
    undeclaredText(content),
  ].join("");
  const exported: Exported = {
    files: new Map([[SETTINGS_FILE, top], ...parts]),
    entries: allow.length + deny.length,
    vips: vips.length,
    risky: entries.filter((one) => one.ok && one.element["acceptRisk"] !== undefined).length,
    automatic: automatic.length,
    likelyOwnDomains: content.likely,
    left: leftLines(content),
  };
  assertReadsBack(exported, day, [...allow, ...deny], vips);
  return exported;
}

/** The actual state of a tenant, split into declarable and other parts. */
export interface Held {
  /** The day (UTC) of the snapshot. */
  readonly day: string;
  /** The given own domains, or those inferred from the VIPs. */
  readonly named: readonly string[];
  readonly likely: readonly string[];
  readonly entries: readonly Declarable<AllowDenyEntryRow>[];
  readonly allow: readonly Declared<AllowDenyEntryRow>[];
  readonly deny: readonly Declared<AllowDenyEntryRow>[];
  readonly vips: readonly Declared<VipEmployeeRow>[];
  /** The VIPs left to automatic detection. */
  readonly automatic: readonly Declarable<VipEmployeeRow>[];
  readonly left: {
    readonly entries: readonly UndeclarableItem[];
    readonly vips: readonly UndeclarableItem[];
    readonly nameless: readonly UndeclarableItem[];
  };
}

/**
 * Splits the actual state of a tenant for settings files.
 *
 * @param knownDomains further own domains, used for risk checks.
 */
export function heldBy(
  observed: Observed,
  { ownDomains: namedDomains = [], includeAutomatic = false }: Omit<ExportOptions, "host">,
  knownDomains: readonly string[] = [],
): Held {
  const likelyDomains =
    namedDomains.length > 0 ? [] : ownDomainsSeen(observed).filter((domain) => !knownDomains.includes(domain));
  const day = observed.at.slice(0, 10);
  const acceptRisk = `${EXPORT_ACCEPTANCE} ${day}, and is to be reviewed.`;
  const entries = entriesForFile(
    observed,
    new OwnDomains([...namedDomains, ...likelyDomains, ...knownDomains]),
    acceptRisk,
  );
  const allVips = vipsForFile(observed);
  const automatic = includeAutomatic ? [] : allVips.filter(({ row }) => isAutomatic(row));
  const vips = includeAutomatic ? allVips : allVips.filter(({ row }) => !isAutomatic(row));
  const withoutMailbox = observed.namelessVips.map(
    (row): UndeclarableItem => ({
      what: describeVip(row),
      reason: "has no mailbox by which a file could name it; it stays a VIP",
    }),
  );
  return {
    day,
    named: namedDomains,
    likely: likelyDomains,
    entries,
    allow: entries.filter(isDeclarable).filter(({ row }) => row.list === "allow"),
    deny: entries.filter(isDeclarable).filter(({ row }) => row.list === "deny"),
    vips: vips.filter(isDeclarable),
    automatic,
    left: {
      entries: listUndeclarable(entries, patternsForEntries(entries), describeEntry),
      vips: listUndeclarable(vips, patternsForVips(vips), describeVip),
      nameless: withoutMailbox,
    },
  };
}

/** Formats the first line of an exported file. */
function formatExportHeader({ at }: Pick<Observed, "at">, { host }: Pick<ExportOptions, "host">): string {
  return `Exported from ${host} at ${at} by \`email-security export\`.`;
}

/** Formats the start of a file. */
export function headed(header: string): string {
  return `${yamlComment(header, 0)}version: ${SETTINGS_VERSION}\n\n`;
}

function buildDenyFiles(header: string, deny: readonly Declared<AllowDenyEntryRow>[]): [name: string, text: string][] {
  if (deny.length <= MAX_DENY_FILE_ENTRIES) return [["deny.yaml", headed(header) + entriesSection("deny", deny)]];
  const byType = Map.groupBy(deny, ({ element }) => getValueType(element["value"] ?? ""));
  return Object.entries(FILE_BY_TYPE).flatMap(([type, name]): [string, string][] => {
    const typeEntries = byType.get(type as EntryType);
    return typeEntries === undefined ? [] : [[name, headed(header) + entriesSection("deny", typeEntries)]];
  });
}

const FILE_BY_TYPE: Readonly<Record<EntryType, string>> = {
  domain: "deny-domains.yaml",
  email_address: "deny-mailboxes.yaml",
  ip: "deny-addresses.yaml",
};

function getValueType(value: string): EntryType {
  const parsed = parseEntryValue(value);
  return parsed.ok ? parsed.value.entryType : "domain";
}

/** Formats a section of entries, sorted, with their creators. */
export function entriesSection(section: "allow" | "deny", entries: readonly Declared<AllowDenyEntryRow>[]): string {
  const elements = sortBy(entries, ({ element }) => sortKey(element["value"] ?? "")).map(({ row, element, twins }) => {
    const notes = twins.map((twin) => `Twice at the service; the other: ${describeEntry(twin)}`);
    return renderElement(element, "value", madeBy("added", row.created_at, row.created_by), notes);
  });
  return renderYamlSection(section, elements);
}

/** Formats the section of VIPs, with automatically detected ones in a comment. */
export function vipsSection(
  vips: readonly Declared<VipEmployeeRow>[],
  automatic: readonly Declarable<VipEmployeeRow>[],
): string {
  const getMailboxSortKey = ({ row }: { readonly row: VipEmployeeRow }): string =>
    sortKey(canonicalMailbox(row.email ?? ""));
  const elements = sortBy(vips, getMailboxSortKey).map(({ row, element }) => {
    const creationText = isAutomatic(row) ? "by automatic detection" : madeBy("added", row.date_added, row.added_by);
    const comment = [person(row), creationText].filter((text) => text !== "").join("; ");
    return renderElement(element, "email", comment, []);
  });
  const automaticLines = sortBy(automatic, getMailboxSortKey).map(({ row }) => yamlComment(`  ${describeVip(row)}`, 0));
  const note = automaticLines.length === 0 ? "" : `\n${yamlComment(AUTOMATIC_VIPS_NOTE, 0)}${automaticLines.join("")}`;
  return renderYamlSection("vips", elements) + note;
}

const AUTOMATIC_VIPS_NOTE = `VIPs by automatic detection, which keeps them; so they are not declared. Before you write
\`mode: exclusive\` for VIPs, declare them, or ignore them: it would exclude them for good.`;

function renderYamlSection(section: string, elements: readonly string[]): string {
  return elements.length === 0 ? `${section}: []\n` : `${section}:\n${elements.join("")}`;
}

/** Formats an element with its creator on the first line and notes above. */
function renderElement(
  element: Element,
  subjectKey: ElementStyle["subjectKey"],
  comment: string,
  notes: readonly string[],
): string {
  const style: ElementStyle = {
    subjectKey,
    column: 2,
    dashWidth: 2,
    isShort: true,
    isFlow: false,
    quotes: {},
    isJson: false,
    lineEnd: "\n",
  };
  const text = blockElement(element, notes.length === 0 ? undefined : notes.join("\n"), style);
  if (comment === "") return text;
  const trailingComment = yamlComment(comment, 0);
  const elementStart = notes.length === 0 ? 0 : text.search(/^ {2}- /m);
  const lineEnd = text.indexOf("\n", elementStart);
  return `${text.slice(0, lineEnd)} ${trailingComment}${text.slice(lineEnd + 1)}`;
}

/** An entry or VIP that can't be declared. */
interface UndeclarableItem {
  readonly what: string;
  readonly reason: string;
  /** The pattern for `ignore`. */
  readonly pattern?: string;
}

function listUndeclarable<Row>(
  all: readonly Declarable<Row>[],
  patterns: readonly (string | undefined)[],
  describe: (row: Row) => string,
): UndeclarableItem[] {
  return all.flatMap((one, index): UndeclarableItem[] => {
    if (one.ok) return [];
    const pattern = patterns[index];
    const undeclarable = { what: describe(one.row), reason: one.reason };
    return [pattern === undefined ? undeclarable : { ...undeclarable, pattern }];
  });
}

function formatUndeclarable({ what, reason, pattern }: UndeclarableItem): string {
  const ignoredNote = pattern === undefined ? "" : " (the list ignores it)";
  return `${what}: ${reason}${ignoredNote}`;
}

/** Formats the own domains for a file. */
export function ownDomainsText({ named, likely }: Pick<Held, "named" | "likely">): string {
  const domains = [...named, ...likely];
  if (domains.length === 0) return "";
  const note = likely.length > 0 ? yamlComment(LIKELY_DOMAINS_NOTE, 0) : "";
  return `${note}ownDomains:\n${domains.map((one) => `  - ${yamlText(one)}\n`).join("")}\n`;
}

/** Formats the `ignore` patterns for what can't be declared. */
export function listsText({ left }: Pick<Held, "left">): string {
  const lists = [renderIgnoreOption("entries", left.entries), renderIgnoreOption("vips", left.vips)].join("");
  return lists === "" ? "" : `\nlists:\n${lists}`;
}

/**
 * Formats comments on what can't be declared.
 *
 * @param includesIgnored whether to include what a pattern can match. Default: false, because {@link listsText} includes it.
 */
export function undeclaredText({ left }: Pick<Held, "left">, includesIgnored = false): string {
  const items = [...left.entries, ...left.vips, ...left.nameless];
  const listedItems = includesIgnored
    ? items.map(({ what, reason }) => ({ what, reason }))
    : items.filter(({ pattern }) => pattern === undefined);
  if (listedItems.length === 0) return "";
  const lines = listedItems.map((one) => yamlComment(`  ${formatUndeclarable(one)}`, 0));
  return `\n${yamlComment("At the service, and not in these files: no file can declare it.", 0)}${lines.join("")}`;
}

/** Describes what can't be declared, one line each. */
export function leftLines({ left }: Pick<Held, "left">): string[] {
  return [...left.entries, ...left.vips, ...left.nameless].map(formatUndeclarable);
}

const LIKELY_DOMAINS_NOTE = `The domains that its VIPs' mailboxes share. By them a key of another tenant is told, and an entry for one of
them, or for what looks like one, as risky: take out what is not your own, and add what is missing.`;

function renderIgnoreOption(list: "entries" | "vips", undeclarable: readonly UndeclarableItem[]): string {
  const byPattern = Map.groupBy(
    undeclarable.filter(({ pattern }) => pattern !== undefined),
    ({ pattern = "" }) => pattern,
  );
  if (byPattern.size === 0) return "";
  const patterns = [...byPattern].map(
    ([pattern, all]) =>
      all.map(({ what, reason }) => yamlComment(`${what}: ${reason}`, 6)).join("") + `      - ${yamlText(pattern)}\n`,
  );
  return `  ${list}:\n    # At the service, and not declared: no file can.\n    ignore:\n${patterns.join("")}`;
}

function sortBy<T>(all: readonly T[], keyOf: (one: T) => string): T[] {
  return all
    .map((one) => ({ one, key: keyOf(one) }))
    .sort((a, b) => (a.key < b.key ? -1 : Number(a.key > b.key)))
    .map(({ one }) => one);
}

/** Verifies that the files parse to the actual state. */
function assertReadsBack(
  { files }: Exported,
  today: string,
  entries: readonly Declared<AllowDenyEntryRow>[],
  vips: readonly Declared<VipEmployeeRow>[],
): void {
  const readFile = (path: string): string => files.get(path) ?? "";
  let problem: string | undefined;
  try {
    const settings = readSettings(SETTINGS_FILE, { today, readFile });
    problem = findMismatch(settings.entries, entries) ?? findMismatch(settings.vips, vips);
  } catch (error) {
    if (!(error instanceof EmailSecurityError)) throw error;
    problem = error.message;
  }
  if (problem === undefined) return;
  throw new EmailSecurityError(
    "ERR_EXPORT",
    `The export does not read back as what the tenant holds, so nothing was written. This is a mistake of email-security; please report it: ${problem}`,
  );
}

interface KeyedText {
  readonly key: string;
  readonly text: string;
}

function findMismatch(actual: readonly KeyedText[], expected: readonly KeyedText[]): string | undefined {
  const texts = new Map(actual.map(({ key, text }) => [key, text]));
  const mismatch = expected.find(({ key, text }) => texts.get(key) !== text);
  if (mismatch !== undefined)
    return `${quote(mismatch.key)} reads ${quote(texts.get(mismatch.key))} and not ${quote(mismatch.text)}`;
  return texts.size === expected.length ? undefined : `it declares ${texts.size} and not ${expected.length}`;
}

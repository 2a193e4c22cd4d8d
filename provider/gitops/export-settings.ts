import type { AllowDenyEntryRow, VipEmployeeRow } from "../client";
import type { EntryType } from "../model/assumptions";
import type { SettingsElement } from "../model/entry-fields";
import { canonicalizeMailbox, parseEntryValue } from "../model/entry-value";
import { OwnDomains } from "../model/own-domains";
import type { ObservedState } from "../plan/observed-state";
import { assertOwnMailboxes, inferOwnDomains } from "../plan/tenant-mismatch";
import { type DeclarableResult, type DeclarableRow, isDeclarable } from "../resources/lifecycle/declarable";
import { type ElementStyle, formatBlockElement } from "../settings-files/edit-element";
import { SETTINGS_VERSION } from "../settings-files/settings-schema";
import { getValueSortKey } from "../settings-files/sort-key";
import { formatYamlComment, formatYamlText } from "../settings-files/yaml-text";
import { isAutoDetected } from "../tenant";
import { assertExportedState } from "./assert-exported-state";
import {
  buildEntryIgnorePatterns,
  buildVipIgnorePatterns,
  listDeclarableEntries,
  listDeclarableVips,
} from "./declarable-rows";
import { describeEntryRow, describeVipRow, formatCreator, formatPerson } from "./describe-service-rows";

export interface ExportOptions {
  readonly host: string;
  /**
   * The tenant's own domains, in canonical form; written to the files and used for risk checks. Default: the domains that its VIPs share,
   * with a note to review them.
   */
  readonly ownDomains?: readonly string[];
  /** Whether to declare VIPs from automatic detection. Default: false, because detection keeps them. */
  readonly includeAutomatic?: boolean;
}

export interface SettingsExport {
  /** The texts by file name; the file that includes the others is first. */
  readonly files: ReadonlyMap<string, string>;
  readonly entries: number;
  readonly vips: number;
  /** The number of risky entries, which are declared with a note to review them. */
  readonly risky: number;
  /** The number of VIPs left to automatic detection. */
  readonly automatic: number;
  /** Own domains that were inferred from the VIPs. */
  readonly likelyOwnDomains: readonly string[];
  /** Descriptions of what can't be declared, one line each; the files contain them as comments. */
  readonly undeclarable: readonly string[];
}

export const SETTINGS_FILE = "settings.yaml";

export const EXPORTED_FILES: readonly string[] = [
  SETTINGS_FILE,
  "vips.yaml",
  "allow.yaml",
  "deny.yaml",
  "deny-domains.yaml",
  "deny-mailboxes.yaml",
  "deny-addresses.yaml",
];

const EXPORT_ACCEPTANCE = "It existed at the service before the export of";

/** Returns whether an `acceptRisk` comes from an export and not from a person. */
export function isAcceptedByExport(acceptRisk: unknown): boolean {
  return typeof acceptRisk === "string" && acceptRisk.startsWith(EXPORT_ACCEPTANCE);
}

const MAX_DENY_FILE_ENTRIES = 1_000;

/**
 * Exports a tenant as settings files that declare exactly the actual state. The first `pulumi up` writes nothing, and a plan is empty.
 * Elements are sorted and have comments with their creator and time. Lists ignore what can't be declared, if a pattern can match it;
 * comments describe it in any case.
 *
 * @throws {OtherTenantError} if no mailbox of the tenant belongs to the own domains.
 * @throws {EmailSecurityError} (`ERR_EXPORT`) if the files don't parse to the actual state, which is a bug in this package.
 */
export function exportSettings(observed: ObservedState, options: ExportOptions): SettingsExport {
  const { ownDomains: namedDomains = [] } = options;
  assertOwnMailboxes(observed, namedDomains);
  const content = collectExportContent(observed, options);
  const { day, allow, deny, vips, automatic, entries } = content;

  const header = formatExportHeader(observed, options);
  const parts = new Map([
    ["vips.yaml", `${renderFileHeader(header)}${renderVipsSection(vips, automatic)}`],
    ["allow.yaml", `${renderFileHeader(header)}${renderEntriesSection("allow", allow)}`],
    ...buildDenyFiles(header, deny),
  ]);
  const top = [
    renderFileHeader(header),
    renderOwnDomains(content),
    `include:\n${[...parts.keys()].map((name) => `  - ${name}\n`).join("")}`,
    renderListOptions(content),
    renderUndeclarable(content),
  ].join("");
  const exported: SettingsExport = {
    files: new Map([[SETTINGS_FILE, top], ...parts]),
    entries: allow.length + deny.length,
    vips: vips.length,
    risky: entries.filter((entry) => entry.ok && entry.element["acceptRisk"] !== undefined).length,
    automatic: automatic.length,
    likelyOwnDomains: content.likelyOwnDomains,
    undeclarable: describeUndeclarable(content),
  };
  assertExportedState(exported.files, SETTINGS_FILE, day, [...allow, ...deny], vips);
  return exported;
}

export interface ExportContent {
  /** The day (UTC) of the snapshot. */
  readonly day: string;
  /** The given own domains, or those inferred from the VIPs. */
  readonly ownDomains: readonly string[];
  readonly likelyOwnDomains: readonly string[];
  readonly entries: readonly DeclarableResult<AllowDenyEntryRow>[];
  readonly allow: readonly DeclarableRow<AllowDenyEntryRow>[];
  readonly deny: readonly DeclarableRow<AllowDenyEntryRow>[];
  readonly vips: readonly DeclarableRow<VipEmployeeRow>[];
  /** The VIPs left to automatic detection. */
  readonly automatic: readonly DeclarableResult<VipEmployeeRow>[];
  readonly undeclarable: {
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
export function collectExportContent(
  observed: ObservedState,
  { ownDomains: namedDomains = [], includeAutomatic = false }: Omit<ExportOptions, "host">,
  knownDomains: readonly string[] = [],
): ExportContent {
  const likelyDomains =
    namedDomains.length > 0 ? [] : inferOwnDomains(observed).filter((domain) => !knownDomains.includes(domain));
  const day = observed.readAt.slice(0, 10);
  const acceptRisk = `${EXPORT_ACCEPTANCE} ${day}, and has to be reviewed.`;
  const entries = listDeclarableEntries(
    observed,
    new OwnDomains([...namedDomains, ...likelyDomains, ...knownDomains]),
    acceptRisk,
  );
  const allVips = listDeclarableVips(observed);
  const automatic = includeAutomatic ? [] : allVips.filter(({ row }) => isAutoDetected(row));
  const vips = includeAutomatic ? allVips : allVips.filter(({ row }) => !isAutoDetected(row));
  const mailboxlessItems = observed.mailboxlessVips.map(
    (row): UndeclarableItem => ({
      description: describeVipRow(row),
      reason: "has no mailbox that a file could declare; it stays a VIP",
    }),
  );
  return {
    day,
    ownDomains: namedDomains,
    likelyOwnDomains: likelyDomains,
    entries,
    allow: entries.filter(isDeclarable).filter(({ row }) => row.list === "allow"),
    deny: entries.filter(isDeclarable).filter(({ row }) => row.list === "deny"),
    vips: vips.filter(isDeclarable),
    automatic,
    undeclarable: {
      entries: listUndeclarable(entries, buildEntryIgnorePatterns(entries), describeEntryRow),
      vips: listUndeclarable(vips, buildVipIgnorePatterns(vips), describeVipRow),
      nameless: mailboxlessItems,
    },
  };
}

function formatExportHeader({ readAt }: Pick<ObservedState, "readAt">, { host }: Pick<ExportOptions, "host">): string {
  return `Exported from ${host} at ${readAt} by \`email-security export\`.`;
}

export function renderFileHeader(header: string): string {
  return `${formatYamlComment(header, 0)}version: ${SETTINGS_VERSION}\n\n`;
}

function buildDenyFiles(
  header: string,
  deny: readonly DeclarableRow<AllowDenyEntryRow>[],
): [name: string, text: string][] {
  if (deny.length <= MAX_DENY_FILE_ENTRIES)
    return [["deny.yaml", renderFileHeader(header) + renderEntriesSection("deny", deny)]];
  const byType = Map.groupBy(deny, ({ element }) => getValueType(element["value"] ?? ""));
  return Object.entries(FILE_BY_TYPE).flatMap(([type, name]): [string, string][] => {
    const typeEntries = byType.get(type as EntryType);
    return typeEntries === undefined
      ? []
      : [[name, renderFileHeader(header) + renderEntriesSection("deny", typeEntries)]];
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

export function renderEntriesSection(
  section: "allow" | "deny",
  entries: readonly DeclarableRow<AllowDenyEntryRow>[],
): string {
  const elements = sortBy(entries, ({ element }) => getValueSortKey(element["value"] ?? "")).map(
    ({ row, element, duplicates }) => {
      const notes = duplicates.map(
        (duplicate) => `Duplicate at the service; the other one: ${describeEntryRow(duplicate)}`,
      );
      return renderElement(element, "value", formatCreator("added", row.created_at, row.created_by), notes);
    },
  );
  return renderYamlSection(section, elements);
}

export function renderVipsSection(
  vips: readonly DeclarableRow<VipEmployeeRow>[],
  automatic: readonly DeclarableResult<VipEmployeeRow>[],
): string {
  const getMailboxSortKey = ({ row }: { readonly row: VipEmployeeRow }): string =>
    getValueSortKey(canonicalizeMailbox(row.email ?? ""));
  const elements = sortBy(vips, getMailboxSortKey).map(({ row, element }) => {
    const creationText = isAutoDetected(row)
      ? "from automatic detection"
      : formatCreator("added", row.date_added, row.added_by);
    const comment = [formatPerson(row), creationText].filter((text) => text !== "").join("; ");
    return renderElement(element, "email", comment, []);
  });
  const automaticLines = sortBy(automatic, getMailboxSortKey).map(({ row }) =>
    formatYamlComment(`  ${describeVipRow(row)}`, 0),
  );
  const note =
    automaticLines.length === 0 ? "" : `\n${formatYamlComment(AUTOMATIC_VIPS_NOTE, 0)}${automaticLines.join("")}`;
  return renderYamlSection("vips", elements) + note;
}

const AUTOMATIC_VIPS_NOTE = `VIPs from automatic detection, which maintains them, so they are not declared. Before you set
\`mode: exclusive\` for VIPs, declare or ignore them: otherwise it excludes them permanently.`;

function renderYamlSection(section: string, elements: readonly string[]): string {
  return elements.length === 0 ? `${section}: []\n` : `${section}:\n${elements.join("")}`;
}

/** Formats an element with its creator on the first line and notes above. */
function renderElement(
  element: SettingsElement,
  valueKey: ElementStyle["valueKey"],
  comment: string,
  notes: readonly string[],
): string {
  const style: ElementStyle = {
    valueKey,
    column: 2,
    dashWidth: 2,
    isShort: true,
    isFlow: false,
    quotes: {},
    isJson: false,
    lineEnd: "\n",
  };
  const text = formatBlockElement(element, notes.length === 0 ? undefined : notes.join("\n"), style);
  if (comment === "") return text;
  const trailingComment = formatYamlComment(comment, 0);
  const elementStart = notes.length === 0 ? 0 : text.search(/^ {2}- /m);
  const lineEnd = text.indexOf("\n", elementStart);
  return `${text.slice(0, lineEnd)} ${trailingComment}${text.slice(lineEnd + 1)}`;
}

interface UndeclarableItem {
  readonly description: string;
  readonly reason: string;
  readonly pattern?: string;
}

function listUndeclarable<Row>(
  all: readonly DeclarableResult<Row>[],
  patterns: readonly (string | undefined)[],
  describe: (row: Row) => string,
): UndeclarableItem[] {
  return all.flatMap((result, index): UndeclarableItem[] => {
    if (result.ok) return [];
    const pattern = patterns[index];
    const undeclarable = { description: describe(result.row), reason: result.reason };
    return [pattern === undefined ? undeclarable : { ...undeclarable, pattern }];
  });
}

function formatUndeclarable({ description, reason, pattern }: UndeclarableItem): string {
  const ignoredNote = pattern === undefined ? "" : " (the list ignores it)";
  return `${description}: ${reason}${ignoredNote}`;
}

export function renderOwnDomains({
  ownDomains,
  likelyOwnDomains,
}: Pick<ExportContent, "ownDomains" | "likelyOwnDomains">): string {
  const domains = [...ownDomains, ...likelyOwnDomains];
  if (domains.length === 0) return "";
  const note = likelyOwnDomains.length > 0 ? formatYamlComment(LIKELY_DOMAINS_NOTE, 0) : "";
  return `${note}ownDomains:\n${domains.map((domain) => `  - ${formatYamlText(domain)}\n`).join("")}\n`;
}

export function renderListOptions({ undeclarable }: Pick<ExportContent, "undeclarable">): string {
  const lists = [
    renderIgnoreOption("entries", undeclarable.entries),
    renderIgnoreOption("vips", undeclarable.vips),
  ].join("");
  return lists === "" ? "" : `\nlists:\n${lists}`;
}

/**
 * Formats comments on what can't be declared.
 *
 * @param includesIgnored whether to include what a pattern can match. Default: false, because {@link renderListOptions} includes it.
 */
export function renderUndeclarable(
  { undeclarable }: Pick<ExportContent, "undeclarable">,
  includesIgnored = false,
): string {
  const items = [...undeclarable.entries, ...undeclarable.vips, ...undeclarable.nameless];
  const listedItems = includesIgnored
    ? items.map(({ description, reason }) => ({ description, reason }))
    : items.filter(({ pattern }) => pattern === undefined);
  if (listedItems.length === 0) return "";
  const lines = listedItems.map((item) => formatYamlComment(`  ${formatUndeclarable(item)}`, 0));
  return `\n${formatYamlComment("At the service, but not in these files: it can't be declared.", 0)}${lines.join("")}`;
}

export function describeUndeclarable({ undeclarable }: Pick<ExportContent, "undeclarable">): string[] {
  return [...undeclarable.entries, ...undeclarable.vips, ...undeclarable.nameless].map(formatUndeclarable);
}

const LIKELY_DOMAINS_NOTE = `The domains of its VIPs' mailboxes. They reveal a key of another tenant, and entries for them or for look-alikes
count as risky. Remove domains that are not your own, and add missing ones.`;

function renderIgnoreOption(list: "entries" | "vips", undeclarable: readonly UndeclarableItem[]): string {
  const byPattern = Map.groupBy(
    undeclarable.filter(({ pattern }) => pattern !== undefined),
    ({ pattern = "" }) => pattern,
  );
  if (byPattern.size === 0) return "";
  const patterns = [...byPattern].map(
    ([pattern, all]) =>
      all.map(({ description, reason }) => formatYamlComment(`${description}: ${reason}`, 6)).join("") +
      `      - ${formatYamlText(pattern)}\n`,
  );
  return `  ${list}:\n    # At the service, but a file can't declare it.\n    ignore:\n${patterns.join("")}`;
}

function sortBy<T>(all: readonly T[], getKey: (item: T) => string): T[] {
  return all
    .map((item) => ({ item, key: getKey(item) }))
    .sort((a, b) => (a.key < b.key ? -1 : Number(a.key > b.key)))
    .map(({ item }) => item);
}

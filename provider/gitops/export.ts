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

/** How a tenant is exported. */
export interface ExportOptions {
  /** The service's host, for the files' first line. */
  readonly host: string;
  /**
   * The tenant's own domains, in canonical form: they go into the files, and tell what is risky. Default: those that its VIPs
   * share, with a remark that they are to be looked at.
   */
  readonly ownDomains?: readonly string[];
  /** Whether VIPs by automatic detection are declared too. Default: no, for detection keeps them. */
  readonly includeAutomatic?: boolean;
}

/** A tenant as settings files. */
export interface Exported {
  /** The text of each file by its name, the one that includes the others first. */
  readonly files: ReadonlyMap<string, string>;
  /** How many are declared. */
  readonly entries: number;
  readonly vips: number;
  /** How many were declared with the remark that their risk is to be reviewed. */
  readonly risky: number;
  /** How many VIPs were left to automatic detection. */
  readonly automatic: number;
  /** The own domains that stand in the files because the VIPs share them, and nobody named any. */
  readonly likelyOwnDomains: readonly string[];
  /** What no file can declare, in words, each on one line; it stands in the files as comments too. */
  readonly left: readonly string[];
}

/** The file that includes the others. */
export const SETTINGS_FILE = "settings.yaml";

/** Every name that a file of an export can have. */
export const EXPORTED_FILES: readonly string[] = [
  SETTINGS_FILE,
  "vips.yaml",
  "allow.yaml",
  "deny.yaml",
  "deny-domains.yaml",
  "deny-mailboxes.yaml",
  "deny-addresses.yaml",
];

const ACCEPTED_BY_EXPORT = "It stood at the service before the export of";

/** Whether an `acceptRisk` is what an export writes, and no person's reason. */
export function isAcceptedByExport(acceptRisk: unknown): boolean {
  return typeof acceptRisk === "string" && acceptRisk.startsWith(ACCEPTED_BY_EXPORT);
}

/** A longer deny list is split by what its values are. */
const LONGEST_DENY_FILE = 1_000;

/**
 * A tenant as settings files: what they declare is exactly what is there, so that a first `pulumi up` writes nothing and a
 * plan is empty. Sorted; who made each entry, and when, stands beside it in a comment. What no file can declare is ignored
 * by the lists where a pattern can name it, and stands in a comment in any case.
 *
 * @throws {OtherTenantError} when the tenant's people have mailboxes of none of the own domains.
 * @throws {EmailSecurityError} (`ERR_EXPORT`) when the files do not read back as what is there: a mistake of this package.
 */
export function exportSettings(observed: Observed, options: ExportOptions): Exported {
  const { ownDomains: named = [] } = options;
  refuseStrangers(observed, named);
  const held = heldBy(observed, options);
  const { day, allow, deny, vips, automatic, entries } = held;

  const header = headerOf(observed, options);
  const parts = new Map([
    ["vips.yaml", `${headed(header)}${vipsSection(vips, automatic)}`],
    ["allow.yaml", `${headed(header)}${entriesSection("allow", allow)}`],
    ...denyFiles(header, deny),
  ]);
  const top = [
    headed(header),
    ownDomainsText(held),
    `include:\n${[...parts.keys()].map((name) => `  - ${name}\n`).join("")}`,
    listsText(held),
    undeclaredText(held),
  ].join("");
  const exported: Exported = {
    files: new Map([[SETTINGS_FILE, top], ...parts]),
    entries: allow.length + deny.length,
    vips: vips.length,
    risky: entries.filter((one) => one.ok && one.element["acceptRisk"] !== undefined).length,
    automatic: automatic.length,
    likelyOwnDomains: held.likely,
    left: leftLines(held),
  };
  check(exported, day, [...allow, ...deny], vips);
  return exported;
}

/** What a tenant holds, as files declare it, and what no file can. */
export interface Held {
  /** The day (UTC) of the reading. */
  readonly day: string;
  /** The own domains that were named, and those that the VIPs share where none was. */
  readonly named: readonly string[];
  readonly likely: readonly string[];
  readonly entries: readonly Declarable<AllowDenyEntryRow>[];
  readonly allow: readonly Declared<AllowDenyEntryRow>[];
  readonly deny: readonly Declared<AllowDenyEntryRow>[];
  readonly vips: readonly Declared<VipEmployeeRow>[];
  /** The VIPs that are left to automatic detection. */
  readonly automatic: readonly Declarable<VipEmployeeRow>[];
  readonly left: {
    readonly entries: readonly Left[];
    readonly vips: readonly Left[];
    readonly nameless: readonly Left[];
  };
}

/**
 * What a tenant holds, for files.
 *
 * @param known own domains beside those that are named, by which too it is told what is risky.
 */
export function heldBy(
  observed: Observed,
  { ownDomains: named = [], includeAutomatic = false }: Omit<ExportOptions, "host">,
  known: readonly string[] = [],
): Held {
  const likely = named.length > 0 ? [] : ownDomainsSeen(observed).filter((domain) => !known.includes(domain));
  const day = observed.at.slice(0, 10);
  const acceptRisk = `${ACCEPTED_BY_EXPORT} ${day}, and is to be reviewed.`;
  const entries = entriesForFile(observed, new OwnDomains([...named, ...likely, ...known]), acceptRisk);
  const allVips = vipsForFile(observed);
  const automatic = includeAutomatic ? [] : allVips.filter(({ row }) => isAutomatic(row));
  const vips = includeAutomatic ? allVips : allVips.filter(({ row }) => !isAutomatic(row));
  const nameless = observed.namelessVips.map(
    (row): Left => ({
      what: describeVip(row),
      reason: "has no mailbox by which a file could name it; it stays a VIP",
    }),
  );
  return {
    day,
    named,
    likely,
    entries,
    allow: entries.filter(isDeclarable).filter(({ row }) => row.list === "allow"),
    deny: entries.filter(isDeclarable).filter(({ row }) => row.list === "deny"),
    vips: vips.filter(isDeclarable),
    automatic,
    left: {
      entries: leftOf(entries, patternsForEntries(entries), describeEntry),
      vips: leftOf(vips, patternsForVips(vips), describeVip),
      nameless,
    },
  };
}

/** The first line of a file that was made of a tenant. */
function headerOf({ at }: Pick<Observed, "at">, { host }: Pick<ExportOptions, "host">): string {
  return `Exported from ${host} at ${at} by \`email-security export\`.`;
}

/** How a file begins. */
export function headed(header: string): string {
  return `${yamlComment(header, 0)}version: ${SETTINGS_VERSION}\n\n`;
}

function denyFiles(
  header: string,
  deny: readonly Declared<AllowDenyEntryRow>[],
): [name: string, text: string][] {
  if (deny.length <= LONGEST_DENY_FILE) return [["deny.yaml", headed(header) + entriesSection("deny", deny)]];
  const byType = Map.groupBy(deny, ({ element }) => typeOf(element["value"] ?? ""));
  return Object.entries(FILE_OF_TYPE).flatMap(([type, name]): [string, string][] => {
    const some = byType.get(type as EntryType);
    return some === undefined ? [] : [[name, headed(header) + entriesSection("deny", some)]];
  });
}

const FILE_OF_TYPE: Readonly<Record<EntryType, string>> = {
  domain: "deny-domains.yaml",
  email_address: "deny-mailboxes.yaml",
  ip: "deny-addresses.yaml",
};

function typeOf(value: string): EntryType {
  const parsed = parseEntryValue(value);
  return parsed.ok ? parsed.value.entryType : "domain";
}

/** A section of entries, sorted, with who made each. */
export function entriesSection(
  section: "allow" | "deny",
  entries: readonly Declared<AllowDenyEntryRow>[],
): string {
  const elements = sortedBy(entries, ({ element }) => sortKey(element["value"] ?? "")).map(
    ({ row, element, twins }) => {
      const notes = twins.map((twin) => `Twice at the service; the other: ${describeEntry(twin)}`);
      return elementLines(element, "value", madeBy("added", row.created_at, row.created_by), notes);
    },
  );
  return sectionText(section, elements);
}

/** The section of VIPs, and those that are left to automatic detection in a comment. */
export function vipsSection(
  vips: readonly Declared<VipEmployeeRow>[],
  automatic: readonly Declarable<VipEmployeeRow>[],
): string {
  const byMailbox = ({ row }: { readonly row: VipEmployeeRow }): string =>
    sortKey(canonicalMailbox(row.email ?? ""));
  const elements = sortedBy(vips, byMailbox).map(({ row, element }) => {
    const made = isAutomatic(row) ? "by automatic detection" : madeBy("added", row.date_added, row.added_by);
    const about = [person(row), made].filter((text) => text !== "").join("; ");
    return elementLines(element, "email", about, []);
  });
  const others = sortedBy(automatic, byMailbox).map(({ row }) => yamlComment(`  ${describeVip(row)}`, 0));
  const note = others.length === 0 ? "" : `\n${yamlComment(NOT_DECLARED_AUTOMATIC, 0)}${others.join("")}`;
  return sectionText("vips", elements) + note;
}

const NOT_DECLARED_AUTOMATIC = `VIPs by automatic detection, which keeps them; so they are not declared. Before you write
\`mode: exclusive\` for VIPs, declare them, or ignore them: it would exclude them for good.`;

function sectionText(section: string, elements: readonly string[]): string {
  return elements.length === 0 ? `${section}: []\n` : `${section}:\n${elements.join("")}`;
}

/** An element with who made it beside its first line, and notes above. */
function elementLines(
  element: Element,
  subjectKey: ElementStyle["subjectKey"],
  about: string,
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
  if (about === "") return text;
  const beside = yamlComment(about, 0);
  const first = notes.length === 0 ? 0 : text.search(/^ {2}- /m);
  const lineEnd = text.indexOf("\n", first);
  return `${text.slice(0, lineEnd)} ${beside}${text.slice(lineEnd + 1)}`;
}

/** What can't be declared. */
interface Left {
  readonly what: string;
  readonly reason: string;
  /** Names it in `ignore`. */
  readonly pattern?: string;
}

function leftOf<Row>(
  all: readonly Declarable<Row>[],
  patterns: readonly (string | undefined)[],
  describe: (row: Row) => string,
): Left[] {
  return all.flatMap((one, at): Left[] => {
    if (one.ok) return [];
    const pattern = patterns[at];
    const left = { what: describe(one.row), reason: one.reason };
    return [pattern === undefined ? left : { ...left, pattern }];
  });
}

function leftText({ what, reason, pattern }: Left): string {
  const where = pattern === undefined ? "" : " (the list ignores it)";
  return `${what}: ${reason}${where}`;
}

/** The own domains that are to stand in a file. */
export function ownDomainsText({ named, likely }: Pick<Held, "named" | "likely">): string {
  const all = [...named, ...likely];
  if (all.length === 0) return "";
  const note = likely.length > 0 ? yamlComment(LIKELY_OWN, 0) : "";
  return `${note}ownDomains:\n${all.map((one) => `  - ${yamlText(one)}\n`).join("")}\n`;
}

/** What the lists ignore, as no file can declare it. */
export function listsText({ left }: Pick<Held, "left">): string {
  const lists = [ignoreText("entries", left.entries), ignoreText("vips", left.vips)].join("");
  return lists === "" ? "" : `\nlists:\n${lists}`;
}

/**
 * What no file can declare, in comments.
 *
 * @param isNamed whether also what a pattern can name is told. Default: no, {@link listsText} has it.
 */
export function undeclaredText({ left }: Pick<Held, "left">, isNamed = false): string {
  const all = [...left.entries, ...left.vips, ...left.nameless];
  const unnamed = isNamed
    ? all.map(({ what, reason }) => ({ what, reason }))
    : all.filter(({ pattern }) => pattern === undefined);
  if (unnamed.length === 0) return "";
  const lines = unnamed.map((one) => yamlComment(`  ${leftText(one)}`, 0));
  return `\n${yamlComment("At the service, and not in these files: no file can declare it.", 0)}${lines.join("")}`;
}

/** The same in words, each on one line. */
export function leftLines({ left }: Pick<Held, "left">): string[] {
  return [...left.entries, ...left.vips, ...left.nameless].map(leftText);
}

const LIKELY_OWN = `The domains that its VIPs' mailboxes share. By them a key of another tenant is told, and an entry for one of
them, or for what looks like one, as risky: take out what is not your own, and add what is missing.`;

function ignoreText(list: "entries" | "vips", left: readonly Left[]): string {
  const byPattern = Map.groupBy(
    left.filter(({ pattern }) => pattern !== undefined),
    ({ pattern = "" }) => pattern,
  );
  if (byPattern.size === 0) return "";
  const patterns = [...byPattern].map(
    ([pattern, all]) =>
      all.map(({ what, reason }) => yamlComment(`${what}: ${reason}`, 6)).join("") +
      `      - ${yamlText(pattern)}\n`,
  );
  return `  ${list}:\n    # At the service, and not declared: no file can.\n    ignore:\n${patterns.join("")}`;
}

function sortedBy<T>(all: readonly T[], keyOf: (one: T) => string): T[] {
  return all
    .map((one) => ({ one, key: keyOf(one) }))
    .sort((a, b) => (a.key < b.key ? -1 : Number(a.key > b.key)))
    .map(({ one }) => one);
}

/** Reads the files as a program will, and compares them with what is there. */
function check(
  { files }: Exported,
  today: string,
  entries: readonly Declared<AllowDenyEntryRow>[],
  vips: readonly Declared<VipEmployeeRow>[],
): void {
  const readFile = (path: string): string => files.get(path) ?? "";
  let wrong: string | undefined;
  try {
    const settings = readSettings(SETTINGS_FILE, { today, readFile });
    wrong = differs(settings.entries, entries) ?? differs(settings.vips, vips);
  } catch (error) {
    if (!(error instanceof EmailSecurityError)) throw error;
    wrong = error.message;
  }
  if (wrong === undefined) return;
  throw new EmailSecurityError(
    "ERR_EXPORT",
    `The export does not read back as what the tenant holds, so nothing was written. This is a mistake of email-security; please report it: ${wrong}`,
  );
}

interface Keyed {
  readonly key: string;
  readonly text: string;
}

function differs(read: readonly Keyed[], wanted: readonly Keyed[]): string | undefined {
  const texts = new Map(read.map(({ key, text }) => [key, text]));
  const missed = wanted.find(({ key, text }) => texts.get(key) !== text);
  if (missed !== undefined)
    return `${quote(missed.key)} reads ${quote(texts.get(missed.key))} and not ${quote(missed.text)}`;
  return texts.size === wanted.length ? undefined : `it declares ${texts.size} and not ${wanted.length}`;
}

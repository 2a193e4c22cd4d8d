import { createHash } from "node:crypto";
import type { AllowDenyEntryRow, VipEmployeeRow } from "../../client";
import { describeEntryRow, describeVipRow } from "../../gitops/describe-service-rows";
import { buildNaturalKey, canonicalizeMailbox, parseMailbox } from "../../model/entry-value";
import { OwnDomains } from "../../model/own-domains";
import { escapeUnprintableJson } from "../../model/text";
import type { ObservedState } from "../../plan/observed-state";
import { assertOwnMailboxes } from "../../plan/tenant-mismatch";
import {
  buildDeclarableEntries,
  buildDeclarableVip,
  type DeclarableResult,
  type DeclarableRow,
  isDeclarable,
} from "../../resources/lifecycle/declarable";
import { formatUniqueEntryName } from "../../resources/lifecycle/entry-name";
import { getResourceId } from "../../resources/lifecycle/entry-state";
import { IMPORT_RISK_REASON } from "../../resources/lifecycle/look-up-entry";
import { getNativeType } from "../../resources/resource-type";
import { isAutoDetected } from "../../tenant";

export interface PulumiImportOptions {
  /** The tenant's own domains in canonical form, which identify risky entries. Default: none. */
  readonly ownDomains?: readonly string[];
  /** Whether to import automatically detected VIPs too. Default: false, because detection maintains them. */
  readonly includeAutomatic?: boolean;
  /** Whether to import the two whole lists, instead of a resource for each entry and VIP. Default: false. */
  readonly wholeLists?: boolean;
}

/** A tenant in the format of `pulumi import --file`. */
export interface PulumiImportFile {
  readonly text: string;
  readonly resources: number;
  readonly entries: number;
  readonly vips: number;
  /** The number of imported entries with a note that their risk needs review. */
  readonly risky: number;
  /** The number of VIPs left to automatic detection. */
  readonly automatic: number;
  /** Descriptions of rows that no program can declare, one line each. */
  readonly undeclarable: readonly string[];
}

/**
 * Converts a tenant to the format of `pulumi import --file`. The output is sorted and deterministic.
 *
 * @throws {OtherTenantError} if the tenant has no mailbox in any of the own domains.
 */
export function buildPulumiImportFile(observed: ObservedState, options: PulumiImportOptions = {}): PulumiImportFile {
  const { ownDomains = [], includeAutomatic = false, wholeLists = false } = options;
  assertOwnMailboxes(observed, ownDomains);
  const ownDomainSet = new OwnDomains(ownDomains);
  const entries = buildDeclarableEntries(observed.rows, {
    ownDomains: ownDomainSet,
    acceptRisk: IMPORT_RISK_REASON,
  });
  const rows = [...observed.vips.values()];
  const automatic = includeAutomatic ? [] : rows.filter(isAutoDetected);
  const includedRows = includeAutomatic ? rows : rows.filter((row) => !isAutoDetected(row));
  const vips = includedRows.map((row) => (wholeLists ? buildDeclarableVip(row) : toDeclarableVip(row)));

  const declared = entries.filter(isDeclarable);
  const declaredVips = vips.filter(isDeclarable);
  const resources = wholeLists
    ? WHOLE_LISTS
    : [...buildEntryResources(declared, observed), ...buildVipResources(declaredVips)];
  return {
    text: formatImportFile(resources),
    resources: resources.length,
    entries: declared.length,
    vips: declaredVips.length,
    risky: declared.filter(({ element }) => element["acceptRisk"] !== undefined).length,
    automatic: automatic.length,
    undeclarable: [
      ...entries.flatMap((item) => describeNotImported(item, describeEntryRow)),
      ...vips.flatMap((item) => describeNotImported(item, describeVipRow)),
      ...observed.mailboxlessVips.map(
        (row) => `${describeVipRow(row)}: has no mailbox to identify it in a program; it stays a VIP`,
      ),
    ].sort(),
  };
}

interface ImportResource {
  readonly type: string;
  readonly name: string;
  readonly id: string;
}

const WHOLE_LISTS: readonly ImportResource[] = [
  { type: getNativeType("AllowDenyList"), name: "allow-deny-list", id: "allow-deny-list" },
  { type: getNativeType("VipList"), name: "vip-list", id: "vip-list" },
];

function buildEntryResources(
  entries: readonly DeclarableRow<AllowDenyEntryRow>[],
  { rows }: ObservedState,
): ImportResource[] {
  const byValue = Map.groupBy(rows, (row) => buildNaturalKey(row.entry_type, row.value));
  const ids = new Set(rows.map(({ id }) => id));
  const names = buildResourceNames(entries.map(({ row, key }) => `${row.list} ${key}`));
  const resources = entries.map(({ row, key }): ImportResource => {
    const importName = formatUniqueEntryName(row, byValue.get(buildNaturalKey(row.entry_type, row.value)) ?? []);
    return {
      type: getNativeType("AllowDenyEntry"),
      name: names.get(`${row.list} ${key}`) ?? "",
      // If the name equals another entry's id, the import would find that entry. Use the id instead.
      id: ids.has(importName) ? getResourceId(row) : importName,
    };
  });
  return sortResources(resources);
}

function buildVipResources(vips: readonly DeclarableRow<VipEmployeeRow>[]): ImportResource[] {
  const names = buildResourceNames(vips.map(({ key }) => `vip ${key}`));
  return sortResources(
    vips.map(({ key }) => ({
      type: getNativeType("VipEmployee"),
      name: names.get(`vip ${key}`) ?? "",
      id: key,
    })),
  );
}

/** Checks whether a separate resource can declare a VIP. Its mailbox decides; its comment doesn't matter. */
function toDeclarableVip(row: VipEmployeeRow): DeclarableResult<VipEmployeeRow> {
  const mailbox = parseMailbox(canonicalizeMailbox(row.email ?? ""));
  if (!mailbox.ok) return { row, ok: false, reason: mailbox.reason };
  return { row, ok: true, key: mailbox.value, text: "", element: { email: mailbox.value }, duplicates: [] };
}

/** Longer names are truncated. A digest distinguishes duplicates. */
const MAX_NAME_LENGTH = 80;

/**
 * Builds a resource name for each key, valid in every language, such as `deny-evil-example`. Duplicates get a digest of their key as a
 * suffix, so that no name depends on the order.
 */
function buildResourceNames(keys: readonly string[]): ReadonlyMap<string, string> {
  const byName = Map.groupBy(keys, formatPlainName);
  const hasPlainName = (key: string): boolean =>
    byName.get(formatPlainName(key))?.length === 1 && formatPlainName(key).length <= MAX_NAME_LENGTH;
  const names = new Map(keys.filter(hasPlainName).map((key) => [key, formatPlainName(key)]));
  const usedNames = new Set(names.values());
  for (const key of keys.filter((key) => !hasPlainName(key)).sort()) {
    const digest = createHash("sha256").update(key).digest("hex");
    let length = 8;
    const buildCandidate = (): string => `${formatPlainName(key).slice(0, MAX_NAME_LENGTH)}-${digest.slice(0, length)}`;
    while (usedNames.has(buildCandidate())) length += 4;
    names.set(key, buildCandidate());
    usedNames.add(buildCandidate());
  }
  return names;
}

function formatPlainName(key: string): string {
  return key
    .normalize("NFKD")
    .toLowerCase()
    .replace(/\p{M}+/gu, "")
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^-|-$/g, "");
}

function sortResources(resources: readonly ImportResource[]): ImportResource[] {
  return resources.toSorted((a, b) => (a.name < b.name ? -1 : 1));
}

/** Formats the file as JSON, with one line for each resource. */
function formatImportFile(resources: readonly ImportResource[]): string {
  const lines = resources.map((resource) => `    ${JSON.stringify(resource)}`);
  return escapeUnprintableJson(`{\n  "resources": [\n${lines.join(",\n")}${lines.length === 0 ? "" : "\n"}  ]\n}\n`);
}

function describeNotImported<Row>(item: DeclarableResult<Row>, formatRow: (row: Row) => string): string[] {
  if (!item.ok) return [`${formatRow(item.row)}: ${item.reason}`];
  return item.duplicates.map(
    (duplicate) => `${formatRow(duplicate)}: another entry with the same value and scope is already imported`,
  );
}

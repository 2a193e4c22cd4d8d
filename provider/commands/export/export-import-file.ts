import { createHash } from "node:crypto";
import type { AllowDenyEntryRow, VipEmployeeRow } from "../../client";
import { describeEntry, describeVip } from "../../gitops/describe-row";
import type { Observed } from "../../plan/observed";
import { refuseStrangers } from "../../plan/same-tenant";
import {
  type Declarable,
  type Declared,
  declarableEntries,
  declarableVip,
  isDeclarable,
} from "../../resources/lifecycle/declarable";
import { nameOfEntry } from "../../resources/lifecycle/entry-name";
import { resourceId } from "../../resources/lifecycle/entry-state";
import { IMPORTED_RISK } from "../../resources/lifecycle/look-up";
import { nativeType } from "../../resources/resource-type";
import { canonicalMailbox, naturalKey, parseMailbox } from "../../settings/entry-value";
import { OwnDomains } from "../../settings/own-domains";
import { printableJson } from "../../settings/text";
import { isAutomatic } from "../../tenant";

/** What an import file takes in. */
export interface ImportFileOptions {
  /** The tenant's own domains, in canonical form: they tell what is risky. Default: none. */
  readonly ownDomains?: readonly string[];
  /** Whether VIPs by automatic detection are imported too. Default: no, for detection keeps them. */
  readonly includeAutomatic?: boolean;
  /** Whether the two whole lists are imported, in place of a resource for each entry and VIP. */
  readonly wholeLists?: boolean;
}

/** A tenant as the file that `pulumi import --file` takes. */
export interface ImportFile {
  readonly text: string;
  /** How many resources it names. */
  readonly resources: number;
  /** How many of each they bring into a stack. */
  readonly entries: number;
  readonly vips: number;
  /** How many of the entries are imported with the remark that their risk is to be reviewed. */
  readonly risky: number;
  /** How many VIPs were left to automatic detection. */
  readonly automatic: number;
  /** What no program can declare, in words, each on one line. */
  readonly left: readonly string[];
}

/**
 * A tenant as the file that `pulumi import --file` takes: sorted, and the same for the same tenant.
 *
 * @throws {OtherTenantError} when the tenant's people have mailboxes of none of the own domains.
 */
export function importFile(observed: Observed, options: ImportFileOptions = {}): ImportFile {
  const { ownDomains = [], includeAutomatic = false, wholeLists = false } = options;
  refuseStrangers(observed, ownDomains);
  const ownDomainSet = new OwnDomains(ownDomains);
  const entries = declarableEntries(observed.rows, { own: ownDomainSet, acceptRisk: IMPORTED_RISK });
  const rows = [...observed.vips.values()];
  const automatic = includeAutomatic ? [] : rows.filter(isAutomatic);
  const includedRows = includeAutomatic ? rows : rows.filter((row) => !isAutomatic(row));
  const vips = includedRows.map((row) => (wholeLists ? declarableVip(row) : toDeclarableVip(row)));

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
    left: [
      ...entries.flatMap((item) => describeNotImported(item, describeEntry)),
      ...vips.flatMap((item) => describeNotImported(item, describeVip)),
      ...observed.namelessVips.map(
        (row) => `${describeVip(row)}: has no mailbox by which a program could name it; it stays a VIP`,
      ),
    ].sort(),
  };
}

/** One resource, as `pulumi import --file` reads it. */
interface ImportedResource {
  readonly type: string;
  readonly name: string;
  readonly id: string;
}

const WHOLE_LISTS: readonly ImportedResource[] = [
  { type: nativeType("AllowDenyList"), name: "allow-deny-list", id: "allow-deny-list" },
  { type: nativeType("VipList"), name: "vip-list", id: "vip-list" },
];

function buildEntryResources(
  entries: readonly Declared<AllowDenyEntryRow>[],
  { rows }: Observed,
): ImportedResource[] {
  const byValue = Map.groupBy(rows, (row) => naturalKey(row.entry_type, row.value));
  const ids = new Set(rows.map(({ id }) => id));
  const names = buildResourceNames(entries.map(({ row, key }) => `${row.list} ${key}`));
  const resources = entries.map(({ row, key }): ImportedResource => {
    const importName = nameOfEntry(row, byValue.get(naturalKey(row.entry_type, row.value)) ?? []);
    return {
      type: nativeType("AllowDenyEntry"),
      name: names.get(`${row.list} ${key}`) ?? "",
      // What is another entry's id is taken for that one.
      id: ids.has(importName) ? resourceId(row) : importName,
    };
  });
  return sortResources(resources);
}

function buildVipResources(vips: readonly Declared<VipEmployeeRow>[]): ImportedResource[] {
  const names = buildResourceNames(vips.map(({ key }) => `vip ${key}`));
  return sortResources(
    vips.map(({ key }) => ({
      type: nativeType("VipEmployee"),
      name: names.get(`vip ${key}`) ?? "",
      id: key,
    })),
  );
}

/** A VIP as a resource of its own can declare it: by its mailbox, whatever its comment says. */
function toDeclarableVip(row: VipEmployeeRow): Declarable<VipEmployeeRow> {
  const mailbox = parseMailbox(canonicalMailbox(row.email ?? ""));
  if (!mailbox.ok) return { row, ok: false, reason: mailbox.reason };
  return { row, ok: true, key: mailbox.value, text: "", element: { email: mailbox.value }, twins: [] };
}

/** A longer name is cut, and told apart as those that would be the same are. */
const MAX_NAME_LENGTH = 80;

/**
 * A name for each key: what can stand in one in every language, such as `deny-evil-example`. Those that would have the
 * same name have a digest of their key behind it, so that none depends on the order.
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
    const candidate = (): string =>
      `${formatPlainName(key).slice(0, MAX_NAME_LENGTH)}-${digest.slice(0, length)}`;
    while (usedNames.has(candidate())) length += 4;
    names.set(key, candidate());
    usedNames.add(candidate());
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

function sortResources(resources: readonly ImportedResource[]): ImportedResource[] {
  return resources.toSorted((one, otherResource) => (one.name < otherResource.name ? -1 : 1));
}

/** JSON with a line for each resource. */
function formatImportFile(resources: readonly ImportedResource[]): string {
  const lines = resources.map((resource) => `    ${JSON.stringify(resource)}`);
  return printableJson(`{\n  "resources": [\n${lines.join(",\n")}${lines.length === 0 ? "" : "\n"}  ]\n}\n`);
}

function describeNotImported<Row>(item: Declarable<Row>, formatRow: (row: Row) => string): string[] {
  if (!item.ok) return [`${formatRow(item.row)}: ${item.reason}`];
  return item.twins.map(
    (duplicate) => `${formatRow(duplicate)}: is imported already by another of the same value and scope`,
  );
}

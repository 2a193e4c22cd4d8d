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
  const own = new OwnDomains(ownDomains);
  const entries = declarableEntries(observed.rows, { own, acceptRisk: IMPORTED_RISK });
  const rows = [...observed.vips.values()];
  const automatic = includeAutomatic ? [] : rows.filter(isAutomatic);
  const wanted = includeAutomatic ? rows : rows.filter((row) => !isAutomatic(row));
  const vips = wanted.map((row) => (wholeLists ? declarableVip(row) : declarableAlone(row)));

  const declared = entries.filter(isDeclarable);
  const members = vips.filter(isDeclarable);
  const resources = wholeLists
    ? WHOLE_LISTS
    : [...entryResources(declared, observed), ...vipResources(members)];
  return {
    text: textOf(resources),
    resources: resources.length,
    entries: declared.length,
    vips: members.length,
    risky: declared.filter(({ element }) => element["acceptRisk"] !== undefined).length,
    automatic: automatic.length,
    left: [
      ...entries.flatMap((one) => leftOf(one, describeEntry)),
      ...vips.flatMap((one) => leftOf(one, describeVip)),
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

function entryResources(
  entries: readonly Declared<AllowDenyEntryRow>[],
  { rows }: Observed,
): ImportedResource[] {
  const byValue = Map.groupBy(rows, (row) => naturalKey(row.entry_type, row.value));
  const ids = new Set(rows.map(({ id }) => id));
  const names = namesOf(entries.map(({ row, key }) => `${row.list} ${key}`));
  const resources = entries.map(({ row, key }): ImportedResource => {
    const name = nameOfEntry(row, byValue.get(naturalKey(row.entry_type, row.value)) ?? []);
    return {
      type: nativeType("AllowDenyEntry"),
      name: names.get(`${row.list} ${key}`) ?? "",
      // What is another entry's id is taken for that one.
      id: ids.has(name) ? resourceId(row) : name,
    };
  });
  return sorted(resources);
}

function vipResources(vips: readonly Declared<VipEmployeeRow>[]): ImportedResource[] {
  const names = namesOf(vips.map(({ key }) => `vip ${key}`));
  return sorted(
    vips.map(({ key }) => ({
      type: nativeType("VipEmployee"),
      name: names.get(`vip ${key}`) ?? "",
      id: key,
    })),
  );
}

/** A VIP as a resource of its own can declare it: by its mailbox, whatever its comment says. */
function declarableAlone(row: VipEmployeeRow): Declarable<VipEmployeeRow> {
  const mailbox = parseMailbox(canonicalMailbox(row.email ?? ""));
  if (!mailbox.ok) return { row, ok: false, reason: mailbox.reason };
  return { row, ok: true, key: mailbox.value, text: "", element: { email: mailbox.value }, twins: [] };
}

/** A longer name is cut, and told apart as those that would be the same are. */
const LONGEST_NAME = 80;

/**
 * A name for each key: what can stand in one in every language, such as `deny-evil-example`. Those that would have the
 * same name have a digest of their key behind it, so that none depends on the order.
 */
function namesOf(keys: readonly string[]): ReadonlyMap<string, string> {
  const byName = Map.groupBy(keys, plainName);
  const isPlain = (key: string): boolean =>
    byName.get(plainName(key))?.length === 1 && plainName(key).length <= LONGEST_NAME;
  const names = new Map(keys.filter(isPlain).map((key) => [key, plainName(key)]));
  const taken = new Set(names.values());
  for (const key of keys.filter((one) => !isPlain(one)).sort()) {
    const digest = createHash("sha256").update(key).digest("hex");
    let length = 8;
    const candidate = (): string => `${plainName(key).slice(0, LONGEST_NAME)}-${digest.slice(0, length)}`;
    while (taken.has(candidate())) length += 4;
    names.set(key, candidate());
    taken.add(candidate());
  }
  return names;
}

function plainName(key: string): string {
  return key
    .normalize("NFKD")
    .toLowerCase()
    .replace(/\p{M}+/gu, "")
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^-|-$/g, "");
}

function sorted(resources: readonly ImportedResource[]): ImportedResource[] {
  return resources.toSorted((one, other) => (one.name < other.name ? -1 : 1));
}

/** JSON with a line for each resource. */
function textOf(resources: readonly ImportedResource[]): string {
  const lines = resources.map((one) => `    ${JSON.stringify(one)}`);
  return printableJson(`{\n  "resources": [\n${lines.join(",\n")}${lines.length === 0 ? "" : "\n"}  ]\n}\n`);
}

function leftOf<Row>(one: Declarable<Row>, describe: (row: Row) => string): string[] {
  if (!one.ok) return [`${describe(one.row)}: ${one.reason}`];
  return one.twins.map(
    (twin) => `${describe(twin)}: is imported already by another of the same value and scope`,
  );
}

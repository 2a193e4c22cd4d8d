import type { DeclaredEntry, DeclaredVip, Settings } from "../files/settings";
import { yamlComment, yamlText } from "../files/yaml-text";
import type { Observed } from "../plan/observed";
import { refuseStrangers } from "../plan/same-tenant";
import type { Declared } from "../resources/lifecycle/declarable";
import { type Element, isSameStanding } from "../settings/entry-fields";
import { prunes, prunesAny } from "../settings/list-mode";
import {
  entriesSection,
  headed,
  heldBy,
  leftLines,
  listsText,
  ownDomainsText,
  undeclaredText,
  vipsSection,
} from "./export";

export interface TenantFileOptions {
  /** The service's host, for the first line. */
  readonly host: string;
  /** The tenant's own domains, in canonical form. Default: the domains that its VIPs share. */
  readonly ownDomains?: readonly string[];
  /** The baseline of all tenants. Default: none. */
  readonly baseline?: Baseline;
  /** Metadata for all declarations in the file: ticket, owner, approvedBy, expires. */
  readonly facts?: Element;
}

/** The settings that all tenants share. */
export interface Baseline {
  /** The `include` path. */
  readonly include: string;
  /** The content of the baseline. */
  readonly settings: Settings;
}

/** A tenant as one settings file, without what its baseline declares. */
export interface TenantFile {
  readonly text: string;
  /** The numbers of entries and VIPs in the file. */
  readonly entries: number;
  readonly vips: number;
  /** The number of declarations that equal the baseline. */
  readonly shared: number;
  readonly risky: number;
  /** Entries on the other list than in the baseline; the file overrides them. */
  readonly moved: readonly Pick<DeclaredEntry, "list" | "value" | "place">[];
  /** The number of entries and VIPs whose comment differs from the baseline. */
  readonly otherComment: number;
  /** The number of VIPs left to automatic detection. */
  readonly automatic: number;
  /** Own domains that were inferred from the VIPs. */
  readonly likelyOwnDomains: readonly string[];
  /** Descriptions of what can't be declared. */
  readonly left: readonly string[];
}

/**
 * Creates one settings file for a tenant that, with its baseline, declares the actual state. It overrides the baseline where list or
 * comment differ.
 *
 * @throws {OtherTenantError} if no mailbox of the tenant belongs to the own domains.
 */
export function tenantFile(observed: Observed, options: TenantFileOptions): TenantFile {
  const { host, ownDomains = [], baseline, facts = {} } = options;
  const baselineSettings = baseline?.settings;
  const knownDomains = baselineSettings?.ownDomains ?? [];
  refuseStrangers(observed, [...ownDomains, ...knownDomains]);
  // A pruned list removes undeclared VIPs, including automatically detected ones.
  const getMode = (list: "entries" | "vips"): unknown => baselineSettings?.lists[list]?.mode;
  const includeAutomatic = prunes(getMode("vips"), undefined);
  const content = heldBy(observed, { ownDomains, includeAutomatic }, knownDomains);
  const entries = new Map(baselineSettings?.entries.map((one) => [one.key, one]));
  const vips = new Map(baselineSettings?.vips.map((one) => [one.key, one]));
  const differsFromBaseline = (row: object, one: DeclaredEntry | DeclaredVip | undefined): boolean =>
    one === undefined || !isSameStanding(row, one);
  const ownEntries = [...content.allow, ...content.deny].filter(({ key, row }) =>
    differsFromBaseline(row, entries.get(key)),
  );
  const ownVips = content.vips.filter(({ key, row }) => differsFromBaseline(row, vips.get(key)));
  const relisted = ownEntries.flatMap(({ key, row }) => {
    const one = entries.get(key);
    return one === undefined || one.list === row.list ? [] : [one];
  });
  const addDetails = <Row>(all: readonly Declared<Row>[]): Declared<Row>[] =>
    all.map((one) => ({ ...one, element: { ...one.element, ...facts } }));
  const selectList = (list: "allow" | "deny") => addDetails(ownEntries.filter(({ row }) => row.list === list));
  const writesIgnore = baseline === undefined || prunesAny(getMode("entries")) || prunesAny(getMode("vips"));
  const header = `Taken in from ${host} at ${observed.at} by \`email-security tenant add\`.`;
  const [allow, deny] = [selectList("allow"), selectList("deny")];
  const text = [
    headed(header),
    ownDomainsText(content),
    baseline === undefined ? "" : `include:\n  - ${yamlText(baseline.include)}\n\n`,
    renderRemoveSection(relisted),
    vipsSection(addDetails(ownVips), content.automatic),
    `\n${entriesSection("allow", allow)}`,
    `\n${entriesSection("deny", deny)}`,
    writesIgnore ? listsText(content) : "",
    undeclaredText(content, !writesIgnore),
  ].join("");
  return {
    text,
    entries: ownEntries.length,
    vips: ownVips.length,
    shared: content.allow.length + content.deny.length + content.vips.length - ownEntries.length - ownVips.length,
    risky: ownEntries.filter(({ element }) => element["acceptRisk"] !== undefined).length,
    moved: relisted,
    otherComment:
      ownEntries.filter(({ key, row }) => entries.get(key)?.list === row.list).length +
      ownVips.filter(({ key }) => vips.has(key)).length,
    automatic: content.automatic.length,
    likelyOwnDomains: content.likely,
    left: leftLines(content),
  };
}

/** Formats the removal of entries that the baseline has on the other list. */
function renderRemoveSection(relisted: Settings["entries"]): string {
  if (relisted.length === 0) return "";
  const byList = Map.groupBy(relisted, ({ list }) => list);
  const sections = [...byList].map(
    ([list, entries]) =>
      `  ${list}:\n${[...new Set(entries.map(({ value }) => value))].map((value) => `    - ${yamlText(value)}\n`).join("")}`,
  );
  return `${yamlComment("The baseline has these, and the tenant has them on the other list.", 0)}remove:\n${sections.join("")}\n`;
}

import {
  collectExportContent,
  describeUndeclarable,
  renderEntriesSection,
  renderFileHeader,
  renderListOptions,
  renderOwnDomains,
  renderUndeclarable,
  renderVipsSection,
  type SettingsExport,
} from "../../gitops/export-settings";
import { isSameEntryState, type SettingsElement } from "../../model/entry-fields";
import { canPrune, canPruneAny } from "../../model/list-mode";
import type { ObservedState } from "../../plan/observed-state";
import { assertOwnMailboxes } from "../../plan/tenant-mismatch";
import type { DeclarableRow } from "../../resources/lifecycle/declarable";
import type { DeclaredEntry, DeclaredVip, Settings } from "../../settings-files/settings-model";
import { formatYamlComment, formatYamlText } from "../../settings-files/yaml-text";

export interface TenantFileOptions {
  /** The service's host, for the first line. */
  readonly host: string;
  /** The tenant's own domains, in canonical form. Default: the domains that its VIPs share. */
  readonly ownDomains?: readonly string[];
  /** The baseline of all tenants. Default: none. */
  readonly baseline?: Baseline;
  /** Metadata for all declarations in the file: ticket, owner, approvedBy, expires. */
  readonly metadata?: SettingsElement;
}

export interface Baseline {
  readonly include: string;
  readonly settings: Settings;
}

/** A tenant as one settings file, without what its baseline declares. */
export interface TenantFile extends Omit<SettingsExport, "files"> {
  readonly text: string;
  /** The number of declarations that equal the baseline. */
  readonly sharedCount: number;
  /** Entries on the other list than in the baseline; the file overrides them. */
  readonly relistedEntries: readonly Pick<DeclaredEntry, "list" | "value" | "location">[];
  /** The number of entries and VIPs whose comment differs from the baseline. */
  readonly changedComments: number;
}

/**
 * Creates one settings file for a tenant that, with its baseline, declares the actual state. It overrides the baseline where list or
 * comment differ.
 *
 * @throws {OtherTenantError} if no mailbox of the tenant belongs to the own domains.
 */
export function buildTenantFile(observed: ObservedState, options: TenantFileOptions): TenantFile {
  const { host, ownDomains = [], baseline, metadata = {} } = options;
  const baselineSettings = baseline?.settings;
  const knownDomains = baselineSettings?.ownDomains ?? [];
  assertOwnMailboxes(observed, [...ownDomains, ...knownDomains]);
  // A pruned list removes undeclared VIPs, including automatically detected ones.
  const getMode = (list: "entries" | "vips"): unknown => baselineSettings?.lists[list]?.mode;
  const includeAutomatic = canPrune(getMode("vips"), undefined);
  const content = collectExportContent(observed, { ownDomains, includeAutomatic }, knownDomains);
  const entries = new Map(baselineSettings?.entries.map((entry) => [entry.key, entry]));
  const vips = new Map(baselineSettings?.vips.map((vip) => [vip.key, vip]));
  const differsFromBaseline = (row: object, item: DeclaredEntry | DeclaredVip | undefined): boolean =>
    item === undefined || !isSameEntryState(row, item);
  const ownEntries = [...content.allow, ...content.deny].filter(({ key, row }) =>
    differsFromBaseline(row, entries.get(key)),
  );
  const ownVips = content.vips.filter(({ key, row }) => differsFromBaseline(row, vips.get(key)));
  const relisted = ownEntries.flatMap(({ key, row }) => {
    const entry = entries.get(key);
    return entry === undefined || entry.list === row.list ? [] : [entry];
  });
  const addDetails = <Row>(all: readonly DeclarableRow<Row>[]): DeclarableRow<Row>[] =>
    all.map((row) => ({ ...row, element: { ...row.element, ...metadata } }));
  const selectList = (list: "allow" | "deny") => addDetails(ownEntries.filter(({ row }) => row.list === list));
  const writesIgnore = baseline === undefined || canPruneAny(getMode("entries")) || canPruneAny(getMode("vips"));
  const header = `Exported from ${host} at ${observed.readAt} by \`email-security tenant add\`.`;
  const [allow, deny] = [selectList("allow"), selectList("deny")];
  const text = [
    renderFileHeader(header),
    renderOwnDomains(content),
    baseline === undefined ? "" : `include:\n  - ${formatYamlText(baseline.include)}\n\n`,
    renderRemoveSection(relisted),
    renderVipsSection(addDetails(ownVips), content.automatic),
    `\n${renderEntriesSection("allow", allow)}`,
    `\n${renderEntriesSection("deny", deny)}`,
    writesIgnore ? renderListOptions(content) : "",
    renderUndeclarable(content, !writesIgnore),
  ].join("");
  return {
    text,
    entries: ownEntries.length,
    vips: ownVips.length,
    sharedCount: content.allow.length + content.deny.length + content.vips.length - ownEntries.length - ownVips.length,
    risky: ownEntries.filter(({ element }) => element["acceptRisk"] !== undefined).length,
    relistedEntries: relisted,
    changedComments:
      ownEntries.filter(({ key, row }) => entries.get(key)?.list === row.list).length +
      ownVips.filter(({ key }) => vips.has(key)).length,
    automatic: content.automatic.length,
    likelyOwnDomains: content.likelyOwnDomains,
    undeclarable: describeUndeclarable(content),
  };
}

function renderRemoveSection(relisted: Settings["entries"]): string {
  if (relisted.length === 0) return "";
  const byList = Map.groupBy(relisted, ({ list }) => list);
  const sections = [...byList].map(
    ([list, entries]) =>
      `  ${list}:\n${[...new Set(entries.map(({ value }) => value))].map((value) => `    - ${formatYamlText(value)}\n`).join("")}`,
  );
  return `${formatYamlComment("These are in the baseline, but on the other list at the tenant.", 0)}remove:\n${sections.join("")}\n`;
}

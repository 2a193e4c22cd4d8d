import { getSection } from "../../gitops/list-change";
import { DEFAULT_VERDICT_SCOPE, ENTRY_LISTS, type List } from "../../model/assumptions";
import { listCoveringValues } from "../../model/covering-values";
import { canonicalizeValue, getMailDomain, parseMailbox } from "../../model/entry-value";
import { type Pattern, parseListPattern } from "../../model/list-pattern";
import { isPublicSuffix, listDomainAndParents, OwnDomains } from "../../model/own-domains";
import { sanitizeLine } from "../../model/text";
import { collectEvidence, type TenantMailHistory } from "../../plan/evidence";
import type { ObservedState } from "../../plan/observed-state";
import type { Evidence } from "../../plan/plan";
import type { FileLocation } from "../../settings-files/finding";
import type { SectionName } from "../../settings-files/settings-editor";
import type { DeclaredEntry, Settings } from "../../settings-files/settings-model";
import { findOwnFile } from "../../settings-files/tenant-own-file";

export const DAY_MS = 24 * 60 * 60 * 1_000;

/** The number of days by which to extend an allow, unless the policy's maximum is shorter. */
const EXTENSION_DAYS = 90;

/** Lookups that all kinds of suggestions share. */
export class SuggestContext {
  readonly settings: Settings;
  readonly observed: ObservedState;
  readonly base: TenantMailHistory;
  readonly ownDomains: OwnDomains;
  /** The values on each list, in files or at the tenant. */
  readonly #lists: Record<List, Set<string>> = { allow: new Set(), deny: new Set() };
  /** Denied values that cover all mail. */
  readonly #deniedValues = new Set<string>();
  /** The domains at or above allowed values. */
  readonly #allowedParents = new Set<string>();
  readonly #excludedKeys: ReadonlySet<string>;
  readonly #expiredAllows: ReadonlyMap<string, readonly DeclaredEntry[]>;
  readonly #protectPatterns: readonly Pattern[];
  /** Pairs of a section and a file that declares something in it. */
  readonly #sectionFiles: ReadonlySet<string>;

  constructor(settings: Settings, observed: ObservedState, base: TenantMailHistory) {
    this.settings = settings;
    this.observed = observed;
    this.base = base;
    this.ownDomains = new OwnDomains(guessOwnDomains(settings, observed, base));
    const { entries, vips, expired, excluded, lists } = settings;
    this.#sectionFiles = new Set([...entries, ...vips].map((item) => `${getSection(item)} ${item.location.file}`));
    const expiredAllows = expired.filter((item) => item.kind === "entry").filter(({ list }) => list === "allow");
    this.#expiredAllows = Map.groupBy(expiredAllows, ({ value }) => value);
    for (const { list, value, verdictScope } of entries) this.#addEntry(list, value, verdictScope);
    for (const { list, value, verdict_scope } of [...observed.entries.values()].flat()) {
      const knownList = ENTRY_LISTS.find((item) => item === list);
      // An allow that expired in the files still exists until the next run, so it does not count.
      if (knownList === undefined || (list === "allow" && this.getExpiredAllows(canonicalizeValue(value)).length > 0))
        continue;
      this.#addEntry(knownList, canonicalizeValue(value), verdict_scope ?? DEFAULT_VERDICT_SCOPE);
    }
    // An expired allow doesn't argue against a deny.
    const expiredOthers = expired.filter((item) => item.kind === "vip" || item.list === "deny");
    const excludedItems = [...expiredOthers, ...excluded.map(({ declaration }) => declaration)];
    this.#excludedKeys = new Set(
      excludedItems.map((item) => `${item.kind} ${item.kind === "vip" ? item.email : item.value}`),
    );
    this.#protectPatterns = (lists.entries?.protect ?? []).flatMap((text) => {
      const pattern = parseListPattern(text);
      return pattern.ok ? [pattern.value] : [];
    });
  }

  #addEntry(list: List, value: string, scope: string): void {
    this.#lists[list].add(value);
    if (list === "deny" && scope === DEFAULT_VERDICT_SCOPE) this.#deniedValues.add(value);
    if (list === "allow")
      for (const parent of listDomainAndParents(getMailDomain(value))) this.#allowedParents.add(parent);
  }

  isListed(list: List, value: string): boolean {
    return this.#lists[list].has(value);
  }

  /** Returns whether the value, its domain, a parent domain or a matching wildcard is denied. */
  isDenied(value: string): boolean {
    return [value, ...listCoveringValues(value)].some((name) => this.#deniedValues.has(name));
  }

  /** Returns whether the domain itself, a parent domain or anything below it is allowed. */
  hasRelatedAllow(domain: string): boolean {
    const covering = [domain, ...listCoveringValues(domain)];
    return this.#allowedParents.has(domain) || covering.some((name) => this.isListed("allow", name));
  }

  getExpiredAllows(value: string): readonly DeclaredEntry[] {
    return this.#expiredAllows.get(value) ?? [];
  }

  /** Returns whether a person decided against the value: the files removed it, or its VIP or deny expired. */
  isExcluded(kind: "entry" | "vip", value: string): boolean {
    return this.#excludedKeys.has(`${kind} ${value}`);
  }

  isProtected({ list, value }: DeclaredEntry): boolean {
    return this.#protectPatterns.some((pattern) => pattern.matches({ list, value }));
  }

  getTargetFile(section: SectionName): string {
    return findOwnFile(section, this.settings, (file) => this.#sectionFiles.has(`${section} ${file}`));
  }

  /** Formats the window: "in the last 30 days", or the part that could be read. */
  get window(): string {
    const { days, from, complete } = this.base.summary;
    if (complete) return days === 1 ? "in the last day" : `in the last ${days} days`;
    const since = from === undefined ? "" : `, since ${sanitizeLine(from.slice(0, 10))}`;
    return `in the readable part of the last ${days} days${since}`;
  }

  /** Returns a note for declarations outside the tenant's own file. */
  formatIncludedNote({ file }: FileLocation): string {
    if (file === this.settings.files[0]) return "";
    return `${sanitizeLine(file)} is included; other tenants may include it too.`;
  }

  getEvidence({ value, entryType }: DeclaredEntry): Evidence | undefined {
    return collectEvidence(this.base, { kind: "entry", value, entryType });
  }

  getFutureDate(days: number): string {
    return new Date(Date.parse(this.settings.today) + days * DAY_MS).toISOString().slice(0, 10);
  }

  get extensionDate(): string {
    return this.getFutureDate(Math.min(EXTENSION_DAYS, this.settings.policy.maxDays ?? EXTENSION_DAYS));
  }
}

/** Returns the tenant's own domains. If the files name none, uses the domains of its VIPs and of the recipients of threats. */
function guessOwnDomains(
  { ownDomains }: Settings,
  observed: ObservedState,
  base: TenantMailHistory,
): readonly string[] {
  if (ownDomains.length > 0) return ownDomains;
  const mailboxes = [...observed.vips.keys(), ...(base.threats ?? []).map(({ recipient }) => recipient ?? "")];
  const domains = new Set(mailboxes.filter((mailbox) => parseMailbox(mailbox).ok).map(getMailDomain));
  return [...domains].filter((domain) => !isPublicSuffix(domain));
}

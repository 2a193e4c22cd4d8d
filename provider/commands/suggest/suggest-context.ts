import type { Section } from "../../files/edit";
import type { Place } from "../../files/finding";
import { ownFileFor } from "../../files/own-file";
import type { DeclaredEntry, Settings } from "../../files/settings";
import { sectionOf } from "../../gitops/list-change";
import { type EvidenceBase, evidenceOf } from "../../plan/evidence";
import type { Observed } from "../../plan/observed";
import type { Evidence } from "../../plan/plan";
import { domainsUp } from "../../plan/seen-mail";
import { DEFAULT_VERDICT_SCOPE, LISTS, type List } from "../../settings/assumptions";
import { coveringValues } from "../../settings/coverage";
import { canonicalValue, parseMailbox } from "../../settings/entry-value";
import { isPublicSuffix, OwnDomains } from "../../settings/own-domains";
import { type Pattern, parsePattern } from "../../settings/pattern";
import { printable } from "../../settings/text";

export const DAY_MS = 24 * 60 * 60 * 1_000;

/** How many days to extend an allow by, unless the policy's maximum is shorter. */
const EXTENSION_DAYS = 90;

/** Lookups that all kinds of suggestions share. */
export class Context {
  readonly settings: Settings;
  readonly observed: Observed;
  readonly base: EvidenceBase;
  readonly own: OwnDomains;
  /** The values on each list, in files or at the tenant. */
  readonly #lists: Record<List, Set<string>> = { allow: new Set(), deny: new Set() };
  /** Denied values that cover all mail. */
  readonly #denied = new Set<string>();
  /** The domains at or above allowed values. */
  readonly #allowedParents = new Set<string>();
  readonly #excluded: ReadonlySet<string>;
  readonly #expiredAllows: ReadonlyMap<string, readonly DeclaredEntry[]>;
  readonly #protected: readonly Pattern[];
  /** Pairs of a section and a file that declares something in it. */
  readonly #sectionFiles: ReadonlySet<string>;

  constructor(settings: Settings, observed: Observed, base: EvidenceBase) {
    this.settings = settings;
    this.observed = observed;
    this.base = base;
    this.own = new OwnDomains(guessOwnDomains(settings, observed, base));
    const { entries, vips, expired, excluded, lists } = settings;
    this.#sectionFiles = new Set([...entries, ...vips].map((item) => `${sectionOf(item)} ${item.place.file}`));
    const expiredAllows = expired.filter((item) => item.kind === "entry").filter(({ list }) => list === "allow");
    this.#expiredAllows = Map.groupBy(expiredAllows, ({ value }) => value);
    for (const { list, value, verdictScope } of entries) this.#addEntry(list, value, verdictScope);
    for (const { list, value, verdict_scope } of [...observed.entries.values()].flat()) {
      const knownList = LISTS.find((item) => item === list);
      // An allow that expired in the files still exists until the next run, so it does not count.
      if (knownList === undefined || (list === "allow" && this.endedAllows(canonicalValue(value)).length > 0)) continue;
      this.#addEntry(knownList, canonicalValue(value), verdict_scope ?? DEFAULT_VERDICT_SCOPE);
    }
    // An expired allow is no argument against a deny.
    const expiredOthers = expired.filter((item) => item.kind === "vip" || item.list === "deny");
    const excludedItems = [...expiredOthers, ...excluded.map(({ declared }) => declared)];
    this.#excluded = new Set(
      excludedItems.map((item) => `${item.kind} ${item.kind === "vip" ? item.email : item.value}`),
    );
    this.#protected = (lists.entries?.protect ?? []).flatMap((text) => {
      const pattern = parsePattern(text);
      return pattern.ok ? [pattern.value] : [];
    });
  }

  #addEntry(list: List, value: string, scope: string): void {
    this.#lists[list].add(value);
    if (list === "deny" && scope === DEFAULT_VERDICT_SCOPE) this.#denied.add(value);
    if (list === "allow") for (const parent of domainsUp(domainOf(value))) this.#allowedParents.add(parent);
  }

  isOn(list: List, value: string): boolean {
    return this.#lists[list].has(value);
  }

  /** Whether the value, its domain, a parent domain or a matching wildcard is denied. */
  isDenied(value: string): boolean {
    return [value, ...coveringValues(value)].some((name) => this.#denied.has(name));
  }

  /** Whether the domain itself, a parent domain or anything below it is allowed. */
  hasAllowAround(domain: string): boolean {
    const covering = [domain, ...coveringValues(domain)];
    return this.#allowedParents.has(domain) || covering.some((name) => this.isOn("allow", name));
  }

  /** Returns the declarations of a value's expired allows. */
  endedAllows(value: string): readonly DeclaredEntry[] {
    return this.#expiredAllows.get(value) ?? [];
  }

  /** Whether the files removed the value, or its VIP or deny expired: somebody decided that. */
  isTakenOut(kind: "entry" | "vip", value: string): boolean {
    return this.#excluded.has(`${kind} ${value}`);
  }

  isProtected({ list, value }: DeclaredEntry): boolean {
    return this.#protected.some((pattern) => pattern.matches({ list, value }));
  }

  /** Returns the file for a new entry of a section. */
  homeOf(section: Section): string {
    return ownFileFor(section, this.settings, (file) => this.#sectionFiles.has(`${section} ${file}`));
  }

  /** Formats the window: "in the last 30 days", or the part that could be read. */
  get window(): string {
    const { days, from, complete } = this.base.summary;
    if (complete) return days === 1 ? "in the last day" : `in the last ${days} days`;
    const since = from === undefined ? "" : `, since ${printable(from.slice(0, 10))}`;
    return `in what could be read of the last ${days} days${since}`;
  }

  /** Returns a note for declarations outside the tenant's own file. */
  includedNote({ file }: Place): string {
    if (file === this.settings.files[0]) return "";
    return `${printable(file)} is included; other tenants may include it too.`;
  }

  evidenceOf({ value, entryType }: DeclaredEntry): Evidence | undefined {
    return evidenceOf(this.base, { kind: "entry", value, entryType });
  }

  /** Returns the date that is this many days after today. */
  dayIn(days: number): string {
    return new Date(Date.parse(this.settings.today) + days * DAY_MS).toISOString().slice(0, 10);
  }

  /** The last day of an extended allow. */
  get goesOnUntil(): string {
    return this.dayIn(Math.min(EXTENSION_DAYS, this.settings.policy.maxDays ?? EXTENSION_DAYS));
  }
}

/** Returns the tenant's own domains. If the files name none, uses the domains of its VIPs and of the recipients of threats. */
function guessOwnDomains({ ownDomains }: Settings, observed: Observed, base: EvidenceBase): readonly string[] {
  if (ownDomains.length > 0) return ownDomains;
  const mailboxes = [...observed.vips.keys(), ...(base.threats ?? []).map(({ recipient }) => recipient ?? "")];
  const domains = new Set(mailboxes.filter((mailbox) => parseMailbox(mailbox).ok).map(domainOf));
  return [...domains].filter((domain) => !isPublicSuffix(domain));
}

/** Returns a mailbox's domain; returns a domain unchanged. */
export function domainOf(value: string): string {
  return value.slice(value.lastIndexOf("@") + 1);
}

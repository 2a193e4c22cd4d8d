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

/** A day, in milliseconds. */
export const DAY_MS = 24 * 60 * 60 * 1_000;

/** How long an allow is suggested to go on, in days; no longer than the policy lets it. */
const EXTENSION_DAYS = 90;

/** What every kind of suggestion looks things up in. */
export class Context {
  readonly settings: Settings;
  readonly observed: Observed;
  readonly base: EvidenceBase;
  readonly own: OwnDomains;
  /** On which list a value is, in a file or at the tenant. */
  readonly #lists: Record<List, Set<string>> = { allow: new Set(), deny: new Set() };
  /** The same of denies that are about all mail. */
  readonly #denied = new Set<string>();
  /** Each domain at or above what is allowed. */
  readonly #allowedParents = new Set<string>();
  readonly #excluded: ReadonlySet<string>;
  readonly #expiredAllows: ReadonlyMap<string, readonly DeclaredEntry[]>;
  readonly #protected: readonly Pattern[];
  /** Each section with each file that declares something in it. */
  readonly #sectionFiles: ReadonlySet<string>;

  constructor(settings: Settings, observed: Observed, base: EvidenceBase) {
    this.settings = settings;
    this.observed = observed;
    this.base = base;
    this.own = new OwnDomains(guessOwnDomains(settings, observed, base));
    const { entries, vips, expired, excluded, lists } = settings;
    this.#sectionFiles = new Set(
      [...entries, ...vips].map((item) => `${sectionOf(item)} ${item.place.file}`),
    );
    const expiredAllows = expired
      .filter((item) => item.kind === "entry")
      .filter(({ list }) => list === "allow");
    this.#expiredAllows = Map.groupBy(expiredAllows, ({ value }) => value);
    for (const { list, value, verdictScope } of entries) this.#addEntry(list, value, verdictScope);
    for (const { list, value, verdict_scope } of [...observed.entries.values()].flat()) {
      const knownList = LISTS.find((item) => item === list);
      // An allow that the files let end is there until the next run, and speaks for nobody.
      if (knownList === undefined || (list === "allow" && this.endedAllows(canonicalValue(value)).length > 0))
        continue;
      this.#addEntry(knownList, canonicalValue(value), verdict_scope ?? DEFAULT_VERDICT_SCOPE);
    }
    // That an allow has ended is no word against a deny.
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

  /** Whether it is denied, or its domain, or one above, or a wildcard that covers it. */
  isDenied(value: string): boolean {
    return [value, ...coveringValues(value)].some((name) => this.#denied.has(name));
  }

  /** Whether something of a domain is allowed: itself, what is above it, or what is below. */
  hasAllowAround(domain: string): boolean {
    const covering = [domain, ...coveringValues(domain)];
    return this.#allowedParents.has(domain) || covering.some((name) => this.isOn("allow", name));
  }

  /** The lines of a value's allows that have ended. */
  endedAllows(value: string): readonly DeclaredEntry[] {
    return this.#expiredAllows.get(value) ?? [];
  }

  /** Whether the files took it out, or let the VIP or the deny end: somebody has decided. */
  isTakenOut(kind: "entry" | "vip", value: string): boolean {
    return this.#excluded.has(`${kind} ${value}`);
  }

  isProtected({ list, value }: DeclaredEntry): boolean {
    return this.#protected.some((pattern) => pattern.matches({ list, value }));
  }

  /** The file that an addition goes into. */
  homeOf(section: Section): string {
    return ownFileFor(section, this.settings, (file) => this.#sectionFiles.has(`${section} ${file}`));
  }

  /** "in the last 30 days", or what of them could be read. */
  get window(): string {
    const { days, from, complete } = this.base.summary;
    if (complete) return days === 1 ? "in the last day" : `in the last ${days} days`;
    const since = from === undefined ? "" : `, since ${printable(from.slice(0, 10))}`;
    return `in what could be read of the last ${days} days${since}`;
  }

  /** Said of what is not in the tenant's own file. */
  includedNote({ file }: Place): string {
    if (file === this.settings.files[0]) return "";
    return `${printable(file)} is included; other tenants may include it too.`;
  }

  evidenceOf({ value, entryType }: DeclaredEntry): Evidence | undefined {
    return evidenceOf(this.base, { kind: "entry", value, entryType });
  }

  /** A day, so many after today. */
  dayIn(days: number): string {
    return new Date(Date.parse(this.settings.today) + days * DAY_MS).toISOString().slice(0, 10);
  }

  /** Until when an allow may go on. */
  get goesOnUntil(): string {
    return this.dayIn(Math.min(EXTENSION_DAYS, this.settings.policy.maxDays ?? EXTENSION_DAYS));
  }
}

/** The tenant's own domains; where the files name none, those of its VIPs and of those who got threats. */
function guessOwnDomains(
  { ownDomains }: Settings,
  observed: Observed,
  base: EvidenceBase,
): readonly string[] {
  if (ownDomains.length > 0) return ownDomains;
  const mailboxes = [
    ...observed.vips.keys(),
    ...(base.threats ?? []).map(({ recipient }) => recipient ?? ""),
  ];
  const domains = new Set(mailboxes.filter((mailbox) => parseMailbox(mailbox).ok).map(domainOf));
  return [...domains].filter((domain) => !isPublicSuffix(domain));
}

/** A mailbox's domain; a domain is its own. */
export function domainOf(value: string): string {
  return value.slice(value.lastIndexOf("@") + 1);
}

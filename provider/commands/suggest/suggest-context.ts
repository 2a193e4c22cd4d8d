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
const GOES_ON_DAYS = 90;

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
  readonly #aboveAllows = new Set<string>();
  readonly #takenOut: ReadonlySet<string>;
  readonly #endedAllows: ReadonlyMap<string, readonly DeclaredEntry[]>;
  readonly #protected: readonly Pattern[];
  /** Each section with each file that declares something in it. */
  readonly #homes: ReadonlySet<string>;

  constructor(settings: Settings, observed: Observed, base: EvidenceBase) {
    this.settings = settings;
    this.observed = observed;
    this.base = base;
    this.own = new OwnDomains(ownDomainsOf(settings, observed, base));
    const { entries, vips, expired, excluded, lists } = settings;
    this.#homes = new Set([...entries, ...vips].map((one) => `${sectionOf(one)} ${one.place.file}`));
    const ended = expired.filter((one) => one.kind === "entry").filter(({ list }) => list === "allow");
    this.#endedAllows = Map.groupBy(ended, ({ value }) => value);
    for (const { list, value, verdictScope } of entries) this.#know(list, value, verdictScope);
    for (const { list, value, verdict_scope } of [...observed.entries.values()].flat()) {
      const known = LISTS.find((one) => one === list);
      // An allow that the files let end is there until the next run, and speaks for nobody.
      if (known === undefined || (list === "allow" && this.endedAllows(canonicalValue(value)).length > 0))
        continue;
      this.#know(known, canonicalValue(value), verdict_scope ?? DEFAULT_VERDICT_SCOPE);
    }
    // That an allow has ended is no word against a deny.
    const over = expired.filter((one) => one.kind === "vip" || one.list === "deny");
    const out = [...over, ...excluded.map(({ declared }) => declared)];
    this.#takenOut = new Set(out.map((one) => `${one.kind} ${one.kind === "vip" ? one.email : one.value}`));
    this.#protected = (lists.entries?.protect ?? []).flatMap((text) => {
      const pattern = parsePattern(text);
      return pattern.ok ? [pattern.value] : [];
    });
  }

  #know(list: List, value: string, scope: string): void {
    this.#lists[list].add(value);
    if (list === "deny" && scope === DEFAULT_VERDICT_SCOPE) this.#denied.add(value);
    if (list === "allow") for (const above of domainsUp(domainOf(value))) this.#aboveAllows.add(above);
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
    return this.#aboveAllows.has(domain) || covering.some((name) => this.isOn("allow", name));
  }

  /** The lines of a value's allows that have ended. */
  endedAllows(value: string): readonly DeclaredEntry[] {
    return this.#endedAllows.get(value) ?? [];
  }

  /** Whether the files took it out, or let the VIP or the deny end: somebody has decided. */
  isTakenOut(kind: "entry" | "vip", value: string): boolean {
    return this.#takenOut.has(`${kind} ${value}`);
  }

  isProtected({ list, value }: DeclaredEntry): boolean {
    return this.#protected.some((pattern) => pattern.matches({ list, value }));
  }

  /** The file that an addition goes into. */
  homeOf(section: Section): string {
    return ownFileFor(section, this.settings, (file) => this.#homes.has(`${section} ${file}`));
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
    return this.dayIn(Math.min(GOES_ON_DAYS, this.settings.policy.maxDays ?? GOES_ON_DAYS));
  }
}

/** The tenant's own domains; where the files name none, those of its VIPs and of those who got threats. */
function ownDomainsOf({ ownDomains }: Settings, observed: Observed, base: EvidenceBase): readonly string[] {
  if (ownDomains.length > 0) return ownDomains;
  const people = [...observed.vips.keys(), ...(base.threats ?? []).map(({ recipient }) => recipient ?? "")];
  const domains = new Set(people.filter((one) => parseMailbox(one).ok).map(domainOf));
  return [...domains].filter((domain) => !isPublicSuffix(domain));
}

/** A mailbox's domain; a domain is its own. */
export function domainOf(value: string): string {
  return value.slice(value.lastIndexOf("@") + 1);
}

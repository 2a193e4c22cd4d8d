import { BadRequestError, type SettingsClient } from "../client";
import { THREAT_PAGE_SIZE } from "../settings/assumptions";
import { parseWildcard } from "../settings/coverage";
import { canonicalMailbox, canonicalValue } from "../settings/entry-value";
import type { Evidence, EvidenceSummary } from "./plan";
import { type NewestRead, readNewest } from "./read-newest";
import {
  instantOf,
  type SeenReport,
  type SeenThreat,
  type Sender,
  seenReport,
  seenThreat,
} from "./seen-mail";
import { recipientsOf, Tally } from "./tally";

/** Bounds on the mail that is read. */
export interface EvidenceOptions {
  readonly client: SettingsClient;
  /** The look-back window in days: a whole number, 1 or more. Default: 30. */
  readonly days?: number;
  /** The maximum number of pages of threats, of 100 each; half as many for reports. Default: 100. */
  readonly maxPages?: number;
  /** The end of the window. Default: now. */
  readonly now?: Date;
  /** The mailboxes of VIPs. Default: none. */
  readonly vips?: Iterable<string>;
  /** The total time budget in milliseconds. Default: 60,000. */
  readonly timeBudgetMs?: number;
  /** Returns a signal that aborts after the given milliseconds. Default: a timer that keeps no process alive. */
  readonly timer?: (ms: number) => AbortSignal;
}

const DEFAULT_DAYS = 30;
const DEFAULT_MAX_PAGES = 100;
const DEFAULT_TIME_BUDGET_MS = 60_000;
const MINUTES_A_DAY = 24 * 60;
const SHOWN_SENDERS = 5;

/** A tenant's mail, read once. */
export interface EvidenceBase {
  readonly summary: EvidenceSummary;
  /** Threats of the window; undefined if none could be read. */
  readonly threats: readonly SeenThreat[] | undefined;
  /** User reports of the window; undefined if none could be read. */
  readonly reports: readonly SeenReport[] | undefined;
  /** The mailboxes of VIPs, in canonical form. */
  readonly vips: ReadonlySet<string>;
}

/**
 * Reads the recent threats and phishing reports once, newest first, within the bounds, and keeps only the fields that evidence needs. Never
 * throws: the `missing` field of the summary lists what could not be read or exceeds a bound.
 *
 * Sends one request per page; threats and reports are read in parallel. When the time budget is used up, the client's own timeout ends a
 * pending request. API reference, sections "Threats" and "Phishing reports".
 */
export async function gatherEvidence(options: EvidenceOptions): Promise<EvidenceBase> {
  const { client, days = DEFAULT_DAYS, maxPages = DEFAULT_MAX_PAGES, now = new Date() } = options;
  const { timeBudgetMs = DEFAULT_TIME_BUDGET_MS, timer = (ms) => AbortSignal.timeout(ms) } = options;
  const timeIsUp = timer(timeBudgetMs);
  const minutes_ago = days * MINUTES_A_DAY;
  const identity = ({ id }: { readonly id: string }): string => id;
  const [threats, reports] = await Promise.all([
    readNewest({
      name: "threats",
      fetchPage: threatPages(client, minutes_ago),
      maxPages,
      identity,
      keep: seenThreat,
      timeIsUp,
    }),
    readNewest({
      name: "phishing reports",
      fetchPage: (page) => client.phishingReports.list({ minutes_ago, page }),
      maxPages: Math.ceil(maxPages / 2),
      identity,
      keep: seenReport,
      timeIsUp,
    }),
  ]);
  return {
    summary: summaryOf(threats, reports, days, now),
    threats: unlessNone(threats),
    reports: unlessNone(reports),
    vips: new Set([...(options.vips ?? [])].map(canonicalMailbox)),
  };
}

/** Returns the summary of the mail that the evidence is based on. */
export function evidenceSummary({ summary }: EvidenceBase): EvidenceSummary {
  return summary;
}

/** The subject of evidence: an entry or a VIP. */
export interface EvidenceSubject {
  readonly kind: "entry" | "vip";
  /** The value or mailbox. */
  readonly value: string;
  /** Only for entries. Default: inferred from the value. */
  readonly entryType?: string;
}

/**
 * Collects the evidence for one entry or VIP. Undefined if neither threats nor reports could be read.
 *
 * - Domain: mail from it and its subdomains. Mailbox: mail from it. Wildcard (`*.evil.example`, `*@evil.example`): mail from the senders
 *   that it matches.
 * - VIP: threats sent to it and reports made by it.
 *
 * The sender of a message is the mailbox in `sender_email`, its domain, and the `sender_domain` reported alongside. All three can be
 * forged.
 */
export function evidenceOf(base: EvidenceBase, subject: EvidenceSubject): Evidence | undefined {
  if (base.threats === undefined && base.reports === undefined) return undefined;
  if (subject.entryType === "ip") return { ...evidence(base, [], []), applies: false };
  const { threats, reports } = mailOf(base, subject);
  return evidence(base, threats, reports);
}

/** Returns the mail about one entry or VIP. Empty for an IP address, because the service doesn't report the address of a threat. */
export function mailOf(
  base: EvidenceBase,
  subject: EvidenceSubject,
): { readonly threats: readonly SeenThreat[]; readonly reports: readonly SeenReport[] } {
  if (subject.entryType === "ip") return { threats: [], reports: [] };
  const { threats, reports } = indexOf(base);
  if (subject.kind === "vip") {
    const mailbox = canonicalMailbox(subject.value);
    return { threats: threats.byPerson.get(mailbox) ?? [], reports: reports.byPerson.get(mailbox) ?? [] };
  }
  const { entryType } = subject;
  const isMailbox = entryType === undefined ? subject.value.includes("@") : entryType === "email_address";
  const value = isMailbox ? canonicalMailbox(subject.value) : canonicalValue(subject.value);
  const wildcard = parseWildcard(canonicalValue(subject.value));
  const from = <Seen extends FromSomebody>({ byMailbox, byDomain }: SeenIndex<Seen>): readonly Seen[] => {
    if (wildcard !== undefined) return byDomain.at(wildcard.domain, wildcard.isOfDomain ? "own" : "below");
    return isMailbox ? (byMailbox.get(value) ?? []) : byDomain.at(value, "all");
  };
  return { threats: from(threats), reports: from(reports) };
}

function evidence(
  { vips }: EvidenceBase,
  threats: readonly SeenThreat[],
  reports: readonly SeenReport[],
): Evidence {
  const verdicts = new Tally();
  const actions = new Tally();
  const recipients = new Tally();
  const senders = new Tally();
  const reportVerdicts = new Tally();
  for (const { verdict, action, recipient, sender } of threats) {
    verdicts.add(verdict);
    actions.add(action);
    recipients.add(recipient);
    senders.add(sender.mailbox ?? sender.domains[0]);
  }
  for (const { verdict } of reports) reportVerdicts.add(verdict);
  const last = latest(threats.map(({ detected }) => detected));
  const lastReport = latest(reports.map(({ time }) => time));
  return {
    applies: true,
    threats: threats.length,
    verdicts: verdicts.counts(),
    actions: actions.counts(),
    ...(last === undefined ? {} : { last }),
    ...recipientsOf(recipients, vips),
    reports: reports.length,
    reportVerdicts: reportVerdicts.counts(),
    ...(lastReport === undefined ? {} : { lastReport }),
    senders: senders.size <= SHOWN_SENDERS ? senders.counts() : [],
    senderCount: senders.size,
  };
}

/** Returns the latest valid time as it was reported; otherwise the first one, because the newest come first. */
function latest(times: readonly (string | undefined)[]): string | undefined {
  let best: { time: string; instant: number } | undefined;
  for (const time of times) {
    const instant = instantOf(time);
    if (time !== undefined && instant !== undefined && (best === undefined || instant > best.instant)) {
      best = { time, instant };
    }
  }
  return best?.time ?? times.find((time) => time !== undefined);
}

/** The reference doesn't document the page size parameter, so a rejected request is sent again without it. */
function threatPages(client: SettingsClient, minutes_ago: number) {
  let size: { page_size?: number } = { page_size: THREAT_PAGE_SIZE };
  return async (page: number) => {
    try {
      return await client.threats.list({ minutes_ago, page, ...size });
    } catch (error) {
      if (page > 1 || size.page_size === undefined || !(error instanceof BadRequestError)) throw error;
      size = {};
      return await client.threats.list({ minutes_ago, page });
    }
  };
}

function unlessNone<Seen>(read: NewestRead<Seen>): readonly Seen[] | undefined {
  return isNothing(read) ? undefined : read.items;
}

function isNothing({ items, missing }: NewestRead<unknown>): boolean {
  return items.length === 0 && missing !== undefined;
}

function summaryOf(
  threats: NewestRead<SeenThreat>,
  reports: NewestRead<SeenReport>,
  days: number,
  now: Date,
): EvidenceSummary {
  const missing = [threats.missing, reports.missing].filter((one) => one !== undefined);
  const start = new Date(now.getTime() - days * MINUTES_A_DAY * 60_000);
  const from = completeFrom(Number.isNaN(start.getTime()) ? undefined : start.toISOString(), [
    threats,
    reports,
  ]);
  return {
    days,
    threats: threats.items.length,
    reports: reports.items.length,
    ...(from === undefined ? {} : { from }),
    until: now.toISOString(),
    complete: missing.length === 0,
    missing,
  };
}

/** Returns the time from which all readable data is complete; undefined if unknown. */
function completeFrom(
  windowStart: string | undefined,
  reads: readonly NewestRead<unknown>[],
): string | undefined {
  const starts = reads
    .filter((read) => !isNothing(read))
    .map(({ from, missing }) => (missing === undefined ? windowStart : from));
  return starts.includes(undefined) ? undefined : latest(starts);
}

interface FromSomebody {
  readonly sender: Sender;
}

interface SeenIndex<Seen extends FromSomebody> {
  readonly byMailbox: ReadonlyMap<string, readonly Seen[]>;
  readonly byDomain: DomainIndex<Seen>;
  /** By the recipient of a threat, or the reporter of a report. */
  readonly byPerson: ReadonlyMap<string, readonly Seen[]>;
}

interface Index {
  readonly threats: SeenIndex<SeenThreat>;
  readonly reports: SeenIndex<SeenReport>;
}

const indexes = new WeakMap<EvidenceBase, Index>();

function indexOf(base: EvidenceBase): Index {
  let index = indexes.get(base);
  if (index === undefined) {
    index = {
      threats: indexed(base.threats ?? [], ({ recipient }) => recipient),
      reports: indexed(base.reports ?? [], ({ reporter }) => reporter),
    };
    indexes.set(base, index);
  }
  return index;
}

function indexed<Seen extends FromSomebody>(
  all: readonly Seen[],
  personOf: (seen: Seen) => string | undefined,
): SeenIndex<Seen> {
  return {
    byMailbox: Map.groupBy(
      all.filter(({ sender }) => sender.mailbox !== undefined),
      ({ sender }) => sender.mailbox ?? "",
    ),
    byDomain: new DomainIndex(all),
    byPerson: Map.groupBy(
      all.filter((seen) => personOf(seen) !== undefined),
      (seen) => personOf(seen) ?? "",
    ),
  };
}

/**
 * Indexes mail by sender domain, including subdomains. Sorting reversed domains (`example.evil.mail.`) keeps subdomains adjacent. An index
 * row per parent would let hostile domains with many labels use much memory.
 */
class DomainIndex<Seen extends FromSomebody> {
  readonly #rows: readonly { readonly domain: string; readonly seen: readonly Seen[] }[];

  constructor(all: readonly Seen[]) {
    const byDomain = new Map<string, Seen[]>();
    for (const seen of all) {
      for (const domain of seen.sender.domains) {
        const there = byDomain.get(domain);
        if (there === undefined) byDomain.set(domain, [seen]);
        else there.push(seen);
      }
    }
    this.#rows = Array.from(byDomain, ([domain, seen]) => ({ domain: fromTheTop(domain), seen })).sort(
      (one, other) => (one.domain < other.domain ? -1 : 1),
    );
  }

  /** @param part the domain itself, its subdomains, or both. */
  at(domain: string, part: "own" | "below" | "all"): readonly Seen[] {
    const top = domain === "" ? "" : fromTheTop(domain);
    // A message may match by both of its domains.
    const found = new Set<Seen>();
    for (let at = this.#firstFrom(top); this.#rows[at]?.domain.startsWith(top); at += 1) {
      const isOwn = this.#rows[at]?.domain === top;
      if (part !== "all" && isOwn !== (part === "own")) continue;
      for (const seen of this.#rows[at]?.seen ?? []) found.add(seen);
    }
    return [...found];
  }

  #firstFrom(wanted: string): number {
    let low = 0;
    let high = this.#rows.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#rows[middle]?.domain ?? "") < wanted) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

function fromTheTop(domain: string): string {
  return `${domain.split(".").reverse().join(".")}.`;
}

import { BadRequestError, type SettingsClient } from "../client";
import { THREAT_PAGE_SIZE } from "../settings/assumptions";
import { parseWildcard } from "../settings/coverage";
import { canonicalMailbox, canonicalValue } from "../settings/entry-value";
import type { Evidence, EvidenceSummary } from "./plan";
import { type NewestRead, readNewest } from "./read-newest";
import { instantOf, type SeenReport, type SeenThreat, type Sender, seenReport, seenThreat } from "./seen-mail";
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
const MINUTES_PER_DAY = 24 * 60;
const MAX_SENDERS = 5;

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
  const deadline = timer(timeBudgetMs);
  const minutes_ago = days * MINUTES_PER_DAY;
  const getId = ({ id }: { readonly id: string }): string => id;
  const [threats, reports] = await Promise.all([
    readNewest({
      name: "threats",
      fetchPage: createThreatPager(client, minutes_ago),
      maxPages,
      identity: getId,
      keep: seenThreat,
      timeIsUp: deadline,
    }),
    readNewest({
      name: "phishing reports",
      fetchPage: (page) => client.phishingReports.list({ minutes_ago, page }),
      maxPages: Math.ceil(maxPages / 2),
      identity: getId,
      keep: seenReport,
      timeIsUp: deadline,
    }),
  ]);
  return {
    summary: buildEvidenceSummary(threats, reports, days, now),
    threats: getReadItems(threats),
    reports: getReadItems(reports),
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
  if (subject.entryType === "ip") return { ...countEvidence(base, [], []), applies: false };
  const { threats, reports } = mailOf(base, subject);
  return countEvidence(base, threats, reports);
}

/** Returns the mail about one entry or VIP. Empty for an IP address, because the service doesn't report the address of a threat. */
export function mailOf(
  base: EvidenceBase,
  subject: EvidenceSubject,
): { readonly threats: readonly SeenThreat[]; readonly reports: readonly SeenReport[] } {
  if (subject.entryType === "ip") return { threats: [], reports: [] };
  const { threats, reports } = getIndex(base);
  if (subject.kind === "vip") {
    const mailbox = canonicalMailbox(subject.value);
    return { threats: threats.byPerson.get(mailbox) ?? [], reports: reports.byPerson.get(mailbox) ?? [] };
  }
  const { entryType } = subject;
  const isMailbox = entryType === undefined ? subject.value.includes("@") : entryType === "email_address";
  const value = isMailbox ? canonicalMailbox(subject.value) : canonicalValue(subject.value);
  const wildcard = parseWildcard(canonicalValue(subject.value));
  const selectMail = <Seen extends WithSender>({ byMailbox, byDomain }: MailIndex<Seen>): readonly Seen[] => {
    if (wildcard !== undefined) return byDomain.at(wildcard.domain, wildcard.isOfDomain ? "own" : "below");
    return isMailbox ? (byMailbox.get(value) ?? []) : byDomain.at(value, "all");
  };
  return { threats: selectMail(threats), reports: selectMail(reports) };
}

function countEvidence(
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
  const lastThreat = getLatestTime(threats.map(({ detected }) => detected));
  const lastReport = getLatestTime(reports.map(({ time }) => time));
  return {
    applies: true,
    threats: threats.length,
    verdicts: verdicts.counts(),
    actions: actions.counts(),
    ...(lastThreat === undefined ? {} : { last: lastThreat }),
    ...recipientsOf(recipients, vips),
    reports: reports.length,
    reportVerdicts: reportVerdicts.counts(),
    ...(lastReport === undefined ? {} : { lastReport }),
    senders: senders.size <= MAX_SENDERS ? senders.counts() : [],
    senderCount: senders.size,
  };
}

/** Returns the latest valid time as it was reported; otherwise the first one, because the newest come first. */
function getLatestTime(times: readonly (string | undefined)[]): string | undefined {
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
function createThreatPager(client: SettingsClient, minutes_ago: number) {
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

function getReadItems<Seen>(read: NewestRead<Seen>): readonly Seen[] | undefined {
  return isUnreadable(read) ? undefined : read.items;
}

function isUnreadable({ items, missing }: NewestRead<unknown>): boolean {
  return items.length === 0 && missing !== undefined;
}

function buildEvidenceSummary(
  threats: NewestRead<SeenThreat>,
  reports: NewestRead<SeenReport>,
  days: number,
  now: Date,
): EvidenceSummary {
  const missing = [threats.missing, reports.missing].filter((one) => one !== undefined);
  const start = new Date(now.getTime() - days * MINUTES_PER_DAY * 60_000);
  const completeSince = getCompleteSince(Number.isNaN(start.getTime()) ? undefined : start.toISOString(), [
    threats,
    reports,
  ]);
  return {
    days,
    threats: threats.items.length,
    reports: reports.items.length,
    ...(completeSince === undefined ? {} : { from: completeSince }),
    until: now.toISOString(),
    complete: missing.length === 0,
    missing,
  };
}

/** Returns the time from which all readable data is complete; undefined if unknown. */
function getCompleteSince(windowStart: string | undefined, reads: readonly NewestRead<unknown>[]): string | undefined {
  const starts = reads
    .filter((read) => !isUnreadable(read))
    .map(({ from, missing }) => (missing === undefined ? windowStart : from));
  return starts.includes(undefined) ? undefined : getLatestTime(starts);
}

interface WithSender {
  readonly sender: Sender;
}

interface MailIndex<Seen extends WithSender> {
  readonly byMailbox: ReadonlyMap<string, readonly Seen[]>;
  readonly byDomain: DomainIndex<Seen>;
  /** By the recipient of a threat, or the reporter of a report. */
  readonly byPerson: ReadonlyMap<string, readonly Seen[]>;
}

interface EvidenceIndex {
  readonly threats: MailIndex<SeenThreat>;
  readonly reports: MailIndex<SeenReport>;
}

const indexCache = new WeakMap<EvidenceBase, EvidenceIndex>();

function getIndex(base: EvidenceBase): EvidenceIndex {
  let index = indexCache.get(base);
  if (index === undefined) {
    index = {
      threats: buildMailIndex(base.threats ?? [], ({ recipient }) => recipient),
      reports: buildMailIndex(base.reports ?? [], ({ reporter }) => reporter),
    };
    indexCache.set(base, index);
  }
  return index;
}

function buildMailIndex<Seen extends WithSender>(
  mail: readonly Seen[],
  getOwnMailbox: (seen: Seen) => string | undefined,
): MailIndex<Seen> {
  return {
    byMailbox: Map.groupBy(
      mail.filter(({ sender }) => sender.mailbox !== undefined),
      ({ sender }) => sender.mailbox ?? "",
    ),
    byDomain: new DomainIndex(mail),
    byPerson: Map.groupBy(
      mail.filter((seen) => getOwnMailbox(seen) !== undefined),
      (seen) => getOwnMailbox(seen) ?? "",
    ),
  };
}

/**
 * Indexes mail by sender domain, including subdomains. Sorting reversed domains (`example.evil.mail.`) keeps subdomains adjacent. An index
 * row per parent would let hostile domains with many labels use much memory.
 */
class DomainIndex<Seen extends WithSender> {
  readonly #rows: readonly { readonly domain: string; readonly seen: readonly Seen[] }[];

  constructor(mail: readonly Seen[]) {
    const byDomain = new Map<string, Seen[]>();
    for (const seen of mail) {
      for (const domain of seen.sender.domains) {
        const existing = byDomain.get(domain);
        if (existing === undefined) byDomain.set(domain, [seen]);
        else existing.push(seen);
      }
    }
    this.#rows = Array.from(byDomain, ([domain, seen]) => ({ domain: reverseDomain(domain), seen })).sort(
      (one, other) => (one.domain < other.domain ? -1 : 1),
    );
  }

  /** @param part the domain itself, its subdomains, or both. */
  at(domain: string, part: "own" | "below" | "all"): readonly Seen[] {
    const reversedDomain = domain === "" ? "" : reverseDomain(domain);
    // A message may match by both of its domains.
    const matches = new Set<Seen>();
    for (
      let index = this.#findFirstIndex(reversedDomain);
      this.#rows[index]?.domain.startsWith(reversedDomain);
      index += 1
    ) {
      const isOwn = this.#rows[index]?.domain === reversedDomain;
      if (part !== "all" && isOwn !== (part === "own")) continue;
      for (const seen of this.#rows[index]?.seen ?? []) matches.add(seen);
    }
    return [...matches];
  }

  #findFirstIndex(prefix: string): number {
    let low = 0;
    let high = this.#rows.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#rows[middle]?.domain ?? "") < prefix) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

function reverseDomain(domain: string): string {
  return `${domain.split(".").reverse().join(".")}.`;
}

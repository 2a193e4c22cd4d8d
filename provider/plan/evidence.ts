import { BadRequestError, type SettingsClient } from "../client";
import { THREAT_PAGE_SIZE } from "../model/assumptions";
import { parseWildcard } from "../model/covering-values";
import { canonicalizeMailbox, canonicalizeValue } from "../model/entry-value";
import { countRecipients, FrequencyCounter } from "./frequency-counter";
import {
  type MessageSender,
  parseInstant,
  type ReportRecord,
  type ThreatRecord,
  toReportRecord,
  toThreatRecord,
} from "./mail-records";
import type { Evidence, EvidenceSummary } from "./plan";
import { type NewestItems, readNewestItems } from "./read-newest-items";

export interface EvidenceOptions {
  readonly client: SettingsClient;
  /** The look-back window in days: an integer, 1 or more. Default: 30. */
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

export interface TenantMailHistory {
  readonly summary: EvidenceSummary;
  /** Threats of the window; undefined if none could be read. */
  readonly threats: readonly ThreatRecord[] | undefined;
  /** User reports of the window; undefined if none could be read. */
  readonly reports: readonly ReportRecord[] | undefined;
  readonly vips: ReadonlySet<string>;
}

/**
 * Reads the recent threats and phishing reports once, newest first, within the bounds, and keeps only the fields that evidence needs. Never
 * throws: the `missing` field of the summary lists what could not be read or exceeds a bound.
 *
 * Sends one request per page; threats and reports are read in parallel. When the time budget is used up, the client's own timeout ends a
 * pending request. API reference, sections "Threats" and "Phishing reports".
 */
export async function readMailHistory(options: EvidenceOptions): Promise<TenantMailHistory> {
  const { client, days = DEFAULT_DAYS, maxPages = DEFAULT_MAX_PAGES, now = new Date() } = options;
  const { timeBudgetMs = DEFAULT_TIME_BUDGET_MS, timer = (ms) => AbortSignal.timeout(ms) } = options;
  const deadline = timer(timeBudgetMs);
  const minutes_ago = days * MINUTES_PER_DAY;
  const getId = ({ id }: { readonly id: string }): string => id;
  const [threats, reports] = await Promise.all([
    readNewestItems({
      name: "threats",
      fetchPage: createThreatPager(client, minutes_ago),
      maxPages,
      getId,
      transform: toThreatRecord,
      deadline,
    }),
    readNewestItems({
      name: "phishing reports",
      fetchPage: (page) => client.phishingReports.list({ minutes_ago, page }),
      maxPages: Math.ceil(maxPages / 2),
      getId,
      transform: toReportRecord,
      deadline,
    }),
  ]);
  return {
    summary: buildEvidenceSummary(threats, reports, days, now),
    threats: getReadItems(threats),
    reports: getReadItems(reports),
    vips: new Set([...(options.vips ?? [])].map(canonicalizeMailbox)),
  };
}

export function getEvidenceSummary({ summary }: TenantMailHistory): EvidenceSummary {
  return summary;
}

export interface EvidenceSubject {
  readonly kind: "entry" | "vip";
  /** The value or mailbox. */
  readonly value: string;
  /** Only for entries. An IP address has no evidence. */
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
export function collectEvidence(base: TenantMailHistory, subject: EvidenceSubject): Evidence | undefined {
  if (base.threats === undefined && base.reports === undefined) return undefined;
  if (subject.entryType === "ip") return { ...countEvidence(base, [], []), applies: false };
  const { threats, reports } = findMail(base, subject);
  return countEvidence(base, threats, reports);
}

/** Returns the mail about one entry or VIP. Empty for an IP address, because the service doesn't report the address of a threat. */
export function findMail(
  base: TenantMailHistory,
  subject: EvidenceSubject,
): { readonly threats: readonly ThreatRecord[]; readonly reports: readonly ReportRecord[] } {
  if (subject.entryType === "ip") return { threats: [], reports: [] };
  const { threats, reports } = getIndex(base);
  if (subject.kind === "vip") {
    const mailbox = canonicalizeMailbox(subject.value);
    return { threats: threats.byPerson.get(mailbox) ?? [], reports: reports.byPerson.get(mailbox) ?? [] };
  }
  const isMailbox = subject.value.includes("@");
  const value = isMailbox ? canonicalizeMailbox(subject.value) : canonicalizeValue(subject.value);
  const wildcard = parseWildcard(canonicalizeValue(subject.value));
  const selectMail = <Seen extends MessageWithSender>({ byMailbox, byDomain }: MailIndex<Seen>): readonly Seen[] => {
    if (wildcard !== undefined) return byDomain.find(wildcard.domain, wildcard.isDomainCovered ? "own" : "below");
    return isMailbox ? (byMailbox.get(value) ?? []) : byDomain.find(value, "all");
  };
  return { threats: selectMail(threats), reports: selectMail(reports) };
}

function countEvidence(
  { vips }: TenantMailHistory,
  threats: readonly ThreatRecord[],
  reports: readonly ReportRecord[],
): Evidence {
  const verdicts = new FrequencyCounter();
  const actions = new FrequencyCounter();
  const recipients = new FrequencyCounter();
  const senders = new FrequencyCounter();
  const reportVerdicts = new FrequencyCounter();
  for (const { verdict, action, recipient, sender } of threats) {
    verdicts.add(verdict);
    actions.add(action);
    recipients.add(recipient);
    senders.add(sender.mailbox ?? sender.domains[0]);
  }
  for (const { verdict } of reports) reportVerdicts.add(verdict);
  const lastThreat = getLatestTime(threats.map(({ detectedAt }) => detectedAt));
  const lastReportAt = getLatestTime(reports.map(({ time }) => time));
  return {
    applies: true,
    threats: threats.length,
    verdicts: verdicts.getCounts(),
    actions: actions.getCounts(),
    ...(lastThreat === undefined ? {} : { lastThreatAt: lastThreat }),
    ...countRecipients(recipients, vips),
    reports: reports.length,
    reportVerdicts: reportVerdicts.getCounts(),
    ...(lastReportAt === undefined ? {} : { lastReportAt }),
    senders: senders.size <= MAX_SENDERS ? senders.getCounts() : [],
    senderCount: senders.size,
  };
}

function getLatestTime(times: readonly (string | undefined)[]): string | undefined {
  let best: { time: string; instant: number } | undefined;
  for (const time of times) {
    const instant = parseInstant(time);
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

function getReadItems<Seen>(read: NewestItems<Seen>): readonly Seen[] | undefined {
  return isUnreadableMail(read) ? undefined : read.items;
}

function isUnreadableMail({ items, missing }: NewestItems<unknown>): boolean {
  return items.length === 0 && missing !== undefined;
}

function buildEvidenceSummary(
  threats: NewestItems<ThreatRecord>,
  reports: NewestItems<ReportRecord>,
  days: number,
  now: Date,
): EvidenceSummary {
  const missing = [threats.missing, reports.missing].filter((candidate) => candidate !== undefined);
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
function getCompleteSince(windowStart: string | undefined, reads: readonly NewestItems<unknown>[]): string | undefined {
  const starts = reads
    .filter((read) => !isUnreadableMail(read))
    .map(({ completeSince, missing }) => (missing === undefined ? windowStart : completeSince));
  return starts.includes(undefined) ? undefined : getLatestTime(starts);
}

interface MessageWithSender {
  readonly sender: MessageSender;
}

interface MailIndex<Seen extends MessageWithSender> {
  readonly byMailbox: ReadonlyMap<string, readonly Seen[]>;
  readonly byDomain: DomainIndex<Seen>;
  /** By the recipient of a threat, or the reporter of a report. */
  readonly byPerson: ReadonlyMap<string, readonly Seen[]>;
}

interface EvidenceIndex {
  readonly threats: MailIndex<ThreatRecord>;
  readonly reports: MailIndex<ReportRecord>;
}

const indexCache = new WeakMap<TenantMailHistory, EvidenceIndex>();

function getIndex(base: TenantMailHistory): EvidenceIndex {
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

function buildMailIndex<Seen extends MessageWithSender>(
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
class DomainIndex<Seen extends MessageWithSender> {
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
    this.#rows = Array.from(byDomain, ([domain, seen]) => ({ domain: reverseDomain(domain), seen })).sort((a, b) =>
      a.domain < b.domain ? -1 : 1,
    );
  }

  find(domain: string, part: "own" | "below" | "all"): readonly Seen[] {
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

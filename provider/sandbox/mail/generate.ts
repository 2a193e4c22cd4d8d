import type { Action, PhishingReportDetail, Threat, ThreatIndicator, Verdict } from "../schemas";
import { type Kind, kinds, ordinarySubjects } from "./kinds";
import { Random, type Weighted } from "./random";
import { type Sender, type Senders, sendersAround } from "./senders";

/** What a tenant's mail is made from. The same plan gives the same mail. */
export interface MailPlan {
  tenant: string;
  seed: number;
  /** The moment that the half year ends with, RFC 3339. */
  at: string;
  /** How many threats there are. */
  threats: number;
  recipients: Recipient[];
  /** Values of the deny list and of the allow list: some of the mail comes from them. */
  denied: string[];
  allowed: string[];
}

export interface Recipient {
  email: string;
  name: string;
  department: string;
  isVip: boolean;
  /** A shared mailbox. */
  isGroup: boolean;
}

export type GeneratedThreat = Omit<Threat, "threat_indicators"> & {
  internet_message_id: string;
  /** JSON. */
  threat_indicators: string;
};

export type GeneratedReport = PhishingReportDetail & {
  /** How long the analysis took; null while it goes on. */
  analysis_seconds: number | null;
};

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

const HALF_YEAR_DAYS = 182;

/** The latest messages, so that no window is empty that ends at the plan's moment, however short. */
const LATEST = [20 * SECOND, 45 * MINUTE, 7 * HOUR, 20 * HOUR];

/** Of the messages, those that somebody reports; and of the reports, those about mail that was no threat. */
const REPORTED = 0.12;
const REPORTED_FOR_NOTHING = 0.3;

const FROM_DENIED = 0.12;
const FROM_ALLOWED = 0.02;

/** Who pays is attacked. */
const finance = /financ|treasur|account|payroll|controlling/i;

interface Campaign {
  kind: Kind;
  verdict: Verdict;
  sender: Sender;
  subject: string;
  reasoning: string;
  indicators: string;
}

interface Message {
  time: number;
  campaign: Campaign;
  recipients: Recipient[];
}

/**
 * A company's mail of half a year: threats from the oldest to the newest, told to `onThreat` one by one so that a
 * hundred thousand never are in memory together, and then the phishing reports, from the oldest to the newest.
 */
export function generateMail(plan: MailPlan, onThreat: (threat: GeneratedThreat) => void): GeneratedReport[] {
  if (plan.threats === 0 || plan.recipients.length === 0) return [];
  const random = new Random(`${plan.seed} ${plan.tenant}`);
  const now = Date.parse(plan.at);
  const domain = domainOf(plan.recipients[0]?.email ?? "");
  const reports: GeneratedReport[] = [];

  const messages = planMessages(plan, random, now, domain);
  messages.forEach((message, index) => {
    const messageId = newMessageId(random, message.campaign.sender.domain);
    for (const recipient of message.recipients) {
      onThreat(threatOf(random, message, messageId, recipient, now));
    }
    const isNewest = index === messages.length - 1;
    if (isNewest || random.chance(REPORTED)) {
      reports.push(reportOf(random, message, messageId, domain, now, isNewest ? 5 * SECOND : undefined));
    }
  });

  const unfounded = Math.round((reports.length * REPORTED_FOR_NOTHING) / (1 - REPORTED_FOR_NOTHING));
  for (let n = 0; n < unfounded; n += 1) reports.push(unfoundedReport(random, plan, domain, now));
  return reports.filter(({ report_date }) => report_date <= plan.at).sort(byReportDate);
}

/** Every message with its recipients, oldest first: as many as make the threats that the plan asks for. */
function planMessages(plan: MailPlan, random: Random, now: number, domain: string): Message[] {
  const senders = sendersAround(random, domain, now);
  const leaders = plan.recipients.filter(({ isVip }) => isVip).map(({ name }) => name);
  const audiences = audiencesOf(plan.recipients);
  const messages: Message[] = [];
  let left = plan.threats;

  const send = (campaign: Campaign, time: number, most: number) => {
    const recipients = someOf(random, audiences[campaign.kind.audience], Math.min(most, left));
    left -= recipients.length;
    messages.push({ time, campaign, recipients });
  };
  const campaignAt = (time: number) => newCampaign(random, plan, senders, time, domain, leaders);

  for (const ago of LATEST) if (left > 0) send(campaignAt(now - ago), now - ago, 1);
  while (left > 0) {
    const start = workingMoment(random, now);
    const campaign = campaignAt(start);
    const size = Math.ceil(random.exponential(4));
    for (let n = 0, time = start; n < size && left > 0; n += 1, time += random.exponential(40 * MINUTE)) {
      const latest = now - MINUTE;
      send(campaign, Math.floor(Math.min(time, latest - random.number() * HOUR)), campaign.kind.recipients);
    }
  }
  return messages.sort((one, other) => one.time - other.time);
}

function newCampaign(
  random: Random,
  plan: MailPlan,
  senders: Senders,
  time: number,
  domain: string,
  leaders: string[],
): Campaign {
  const kind = random.weighted(weightedKinds);
  const leader = leaders.length > 0 ? random.pick(leaders) : "the managing director";
  const listed = listedSender(random, plan, senders);
  const verdict = listed?.verdict ?? random.weighted(kind.verdicts);
  const sender = listed?.sender ?? senders.ofStyle(kind.sender, time, leader);
  const indicators = [
    ...(listed ? [listed.indicator] : []),
    ...kind.indicators.slice(0, random.integer(1, kind.indicators.length)),
  ];

  const label = domain.split(".")[0] ?? domain;
  const words: Record<string, string> = {
    company: label.charAt(0).toUpperCase() + label.slice(1),
    domain,
    leader,
    number: String(random.integer(10_000, 99_999)),
    sender: sender.email,
    sender_domain: sender.domain,
  };
  const filled = (text: string) => text.replace(/\{(\w+)\}/g, (_, word: string) => words[word] ?? word);
  const filledIndicators: ThreatIndicator[] = indicators.map((indicator) => ({
    indicator_type: indicator.indicator_type,
    explanation: filled(indicator.explanation),
    grounding: filled(indicator.grounding),
  }));
  return {
    kind,
    verdict,
    sender,
    subject: filled(random.pick(kind.subjects)),
    reasoning: filled(random.pick(kind.reasonings)),
    indicators: JSON.stringify(filledIndicators),
  };
}

/** Now and then the sender stands on one of the lists, which settles the verdict. */
function listedSender(
  random: Random,
  plan: MailPlan,
  senders: Senders,
): { verdict: Verdict; sender: Sender | undefined; indicator: ThreatIndicator } | undefined {
  const luck = random.number();
  if (luck < FROM_DENIED && plan.denied.length > 0) {
    const value = random.pick(plan.denied);
    return {
      verdict: "denied",
      // An address of the network sends under any name.
      sender: isAddress(value) ? undefined : senders.ofEntry(value),
      indicator: {
        indicator_type: "deny_list",
        explanation: "An entry of the deny list covers the sender.",
        grounding: value,
      },
    };
  }
  const allowed = plan.allowed.filter((value) => !isAddress(value));
  if (luck < 1 - FROM_ALLOWED || allowed.length === 0) return undefined;
  const value = random.pick(allowed);
  return {
    verdict: "allowed",
    sender: senders.ofEntry(value),
    indicator: {
      indicator_type: "allow_list",
      explanation: "An entry of the allow list covers the sender.",
      grounding: value,
    },
  };
}

function threatOf(
  random: Random,
  { time, campaign }: Message,
  messageId: string,
  recipient: Recipient,
  now: number,
): GeneratedThreat {
  const { kind, sender, verdict } = campaign;
  const source = random.chance(0.9) ? "mail_flow" : "mailbox_scan";
  const found =
    time + (source === "mail_flow" ? random.integer(1, 20) * SECOND : random.exponential(2 * HOUR));
  const detected = Math.min(Math.floor(found), now);
  const action = random.weighted(actionsAfter[verdict]);
  const remediated = Math.min(
    detected + random.integer(500, 15_000) + Math.floor(delayOf(random, action)),
    now,
  );
  return {
    id: `thr_${random.hex(3)}`,
    action_taken: action,
    criticality: verdict === "safe" || verdict === "allowed" ? "low" : kind.criticality,
    verdict,
    detection_time: new Date(detected).toISOString(),
    time: new Date(time).toISOString(),
    remediation_time: action === "none" ? undefined : new Date(remediated).toISOString(),
    reasoning: campaign.reasoning,
    recipient_email: recipient.email,
    recipient_name: recipient.name,
    sender_email: sender.email,
    sender_name: sender.name,
    sender_domain: sender.domain,
    sender_registry_date: new Date(sender.registeredAt).toISOString().slice(0, 10),
    source,
    subject: campaign.subject,
    threat_type: kind.threatType,
    threat_indicators: campaign.indicators,
    internet_message_id: messageId,
  };
}

/** What one of the recipients reports: a person, unless the message went to shared mailboxes only. */
function reportOf(
  random: Random,
  { time, campaign, recipients }: Message,
  messageId: string,
  domain: string,
  now: number,
  delay = MINUTE + Math.floor(random.exponential(90 * MINUTE)),
): GeneratedReport {
  const reporter = recipients.find(({ isGroup }) => !isGroup) ?? recipients[0];
  return newReport(random, domain, now, time + delay, {
    original_email_internet_message_id: messageId,
    reasoning: campaign.reasoning,
    reporter: reporter?.email ?? "",
    sender: campaign.sender.email,
    subject: campaign.subject,
    verdict: campaign.verdict,
    to: recipients.slice(0, 2).map(({ email }) => email),
    cc: recipients.slice(2, 4).map(({ email }) => email),
    bcc: recipients.slice(4).map(({ email }) => email),
  });
}

/** Somebody was careful about a colleague's, a partner's or a newsletter's mail. */
function unfoundedReport(random: Random, plan: MailPlan, domain: string, now: number): GeneratedReport {
  const people = plan.recipients.filter(({ isGroup }) => !isGroup);
  const all = people.length > 0 ? people : plan.recipients;
  const reporter = random.pick(all);
  const sender = random.chance(0.5) ? random.pick(all).email : "office@partner.example.com";
  const verdict = random.weighted(unfoundedVerdicts);
  const others = [random.pick(all), random.pick(all)].filter(({ email }) => email !== reporter.email);
  return newReport(random, domain, now, workingMoment(random, now), {
    original_email_internet_message_id: newMessageId(random, domainOf(sender)),
    reasoning: verdict === "safe" ? "Ordinary mail from a known sender." : "Nothing speaks for an attack.",
    reporter: reporter.email,
    sender,
    subject: random.pick(ordinarySubjects).replace("{number}", String(random.integer(10_000, 99_999))),
    verdict,
    to: [reporter.email],
    cc: [...new Set(others.map(({ email }) => email))],
    bcc: [],
  });
}

function newReport(
  random: Random,
  domain: string,
  now: number,
  reportedAt: number,
  report: Omit<
    GeneratedReport,
    | "id"
    | "report_internet_message_id"
    | "report_date"
    | "email_content_url"
    | "response_content_url"
    | "analysis_seconds"
  >,
): GeneratedReport {
  const id = `rep_${random.hex(3)}`;
  const seconds = Math.min(900, Math.round(random.logNormal(45, 0.8) * 10) / 10 + 4);
  const isFinished = reportedAt + seconds * SECOND <= now;
  return {
    id,
    ...report,
    ...(!isFinished && { verdict: "no_analysis", reasoning: "The analysis has not finished." }),
    report_internet_message_id: newMessageId(random, domain),
    report_date: new Date(reportedAt).toISOString(),
    email_content_url: `https://reports.example.com/${id}/email.eml`,
    response_content_url: `https://reports.example.com/${id}/response.html`,
    analysis_seconds: isFinished ? seconds : null,
  };
}

const weightedKinds: readonly Weighted<Kind>[] = kinds.map((kind) => [kind.weight, kind]);

const actionsAfter: Record<Verdict, readonly Weighted<Action>[]> = {
  malicious: [
    [58, "quarantined"],
    [40, "moved_to_trash"],
    [2, "none"],
  ],
  denied: [
    [70, "quarantined"],
    [30, "moved_to_trash"],
  ],
  spam: [
    [88, "moved_to_spam"],
    [12, "moved_to_trash"],
  ],
  graymail: [
    [60, "moved_to_graymail"],
    [40, "moved_to_promotions"],
  ],
  safe: [
    [50, "released_from_quarantine"],
    [30, "restored"],
    [20, "none"],
  ],
  unknown: [
    [40, "quarantined"],
    [60, "none"],
  ],
  allowed: [[1, "none"]],
  simulation: [[1, "none"]],
  no_analysis: [[1, "none"]],
};

const unfoundedVerdicts: readonly Weighted<Verdict>[] = [
  [60, "safe"],
  [20, "graymail"],
  [12, "unknown"],
  [8, "simulation"],
];

/** Somebody has to look before a message is given back. */
function delayOf(random: Random, action: Action): number {
  return action === "restored" || action === "released_from_quarantine" ? random.exponential(3 * HOUR) : 0;
}

type Audiences = Record<Kind["audience"], readonly Weighted<Recipient>[]>;

function audiencesOf(recipients: Recipient[]): Audiences {
  const weighted = (weightOf: (recipient: Recipient, isFinance: boolean) => number) =>
    recipients.map(
      (recipient): Weighted<Recipient> => [
        weightOf(recipient, finance.test(recipient.department)),
        recipient,
      ],
    );
  return {
    anyone: weighted(({ isVip }, isFinance) => (isVip ? 3 : isFinance ? 2.5 : 1)),
    leaders: weighted(({ isVip }, isFinance) => (isVip ? 20 : isFinance ? 4 : 1)),
    finance: weighted(({ isVip }, isFinance) => (isFinance ? 20 : isVip ? 6 : 1)),
  };
}

/** One to `most` recipients, each once. */
function someOf(random: Random, audience: Audiences["anyone"], most: number): Recipient[] {
  const chosen = new Set<Recipient>();
  for (let left = random.integer(1, most); left > 0; left -= 1) chosen.add(random.weighted(audience));
  return [...chosen];
}

/** A moment of the half year, mostly when people work. */
function workingMoment(random: Random, now: number): number {
  for (;;) {
    const time = now - random.number() * HALF_YEAR_DAYS * DAY;
    const date = new Date(time);
    const isWeekend = date.getUTCDay() % 6 === 0;
    const isNight = date.getUTCHours() < 6 || date.getUTCHours() >= 20;
    if (!random.chance((isWeekend ? 0.25 : 1) * (isNight ? 0.2 : 1))) continue;
    if (time < now - MINUTE) return Math.floor(time);
  }
}

/** Message ids hold what RFC 5322 lets them hold, which is more than a path likes. */
function newMessageId(random: Random, domain: string): string {
  const unique = random.hex(2);
  switch (random.integer(0, 3)) {
    case 0:
      return `<${unique}.${random.integer(1, 9_999)}@${domain}>`;
    case 1:
      return `<CA+${unique}=${random.hex(1)}@mail.${domain}>`;
    case 2:
      return `<${unique}/${random.hex(1)}+${random.integer(0, 9)}%${random.integer(10, 99)}@${domain}>`;
    default:
      return `<${random.integer(1, 99)}$${unique}#${random.hex(1)}?{x}&'~@${domain}>`;
  }
}

function byReportDate(one: GeneratedReport, other: GeneratedReport): number {
  return one.report_date < other.report_date ? -1 : one.report_date > other.report_date ? 1 : 0;
}

function isAddress(value: string): boolean {
  return /^[\d.]+$/.test(value) || value.includes(":");
}

function domainOf(email: string): string {
  return email.slice(email.lastIndexOf("@") + 1);
}

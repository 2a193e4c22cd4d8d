import type { SandboxPhishingReportDetail, SandboxVerdict } from "../contract/schemas";
import { ordinarySubjects } from "./mail-kinds";
import type { MailPlan } from "./mail-plan";
import { generateMessageId, getAddressDomain, type Message } from "./message";
import type { Random, WeightedChoice } from "./random";
import { MINUTE, pickWorkingTime, SECOND } from "./time";

export type GeneratedReport = SandboxPhishingReportDetail & {
  /** The duration of the analysis; null while it is in progress. */
  analysis_seconds: number | null;
};

/** Creates the report of one recipient. The reporter is a person, unless only shared mailboxes received the message. */
export function generateReport(
  random: Random,
  { time, campaign, recipients }: Message,
  messageId: string,
  domain: string,
  now: number,
  delay = MINUTE + Math.floor(random.exponential(90 * MINUTE)),
): GeneratedReport {
  const reporter = recipients.find(({ isGroup }) => !isGroup) ?? recipients[0];
  return assembleReport(random, domain, now, time + delay, {
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

/** Creates a false report about harmless mail from a colleague, a partner or a newsletter. */
export function generateUnfoundedReport(random: Random, plan: MailPlan, domain: string, now: number): GeneratedReport {
  const individuals = plan.recipients.filter(({ isGroup }) => !isGroup);
  const candidates = individuals.length > 0 ? individuals : plan.recipients;
  const reporter = random.pick(candidates);
  const sender = random.chance(0.5) ? random.pick(candidates).email : "office@partner.example.com";
  const verdict = random.weighted(unfoundedVerdicts);
  const others = [random.pick(candidates), random.pick(candidates)].filter(({ email }) => email !== reporter.email);
  return assembleReport(random, domain, now, pickWorkingTime(random, now), {
    original_email_internet_message_id: generateMessageId(random, getAddressDomain(sender)),
    reasoning: verdict === "safe" ? "Ordinary mail from a known sender." : "Nothing indicates an attack.",
    reporter: reporter.email,
    sender,
    subject: random.pick(ordinarySubjects).replace("{number}", String(random.integer(10_000, 99_999))),
    verdict,
    to: [reporter.email],
    cc: [...new Set(others.map(({ email }) => email))],
    bcc: [],
  });
}

function assembleReport(
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
    report_internet_message_id: generateMessageId(random, domain),
    report_date: new Date(reportedAt).toISOString(),
    email_content_url: `https://reports.example.com/${id}/email.eml`,
    response_content_url: `https://reports.example.com/${id}/response.html`,
    analysis_seconds: isFinished ? seconds : null,
  };
}

const unfoundedVerdicts: readonly WeightedChoice<SandboxVerdict>[] = [
  [60, "safe"],
  [20, "graymail"],
  [12, "unknown"],
  [8, "simulation"],
];

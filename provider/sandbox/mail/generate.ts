import { buildAudiences, pickRecipients } from "./audience";
import { type Campaign, generateCampaign } from "./campaign";
import type { MailPlan } from "./mail-plan";
import { generateMessageId, getAddressDomain, type Message } from "./message";
import { type GeneratedReport, generateReport, generateUnfoundedReport } from "./phishing-report";
import { Random } from "./random";
import { createSenderGenerator } from "./sender-generator";
import { type GeneratedThreat, generateThreat } from "./threat";
import { HOUR, MINUTE, pickWorkingTime, SECOND } from "./time";

/** Ages of the latest messages. They ensure that even a short period that ends at the plan's time contains mail. */
const LATEST_AGES_MS = [20 * SECOND, 45 * MINUTE, 7 * HOUR, 20 * HOUR];

/** The share of messages that recipients report, and the share of reports that concern harmless mail. */
const REPORT_RATE = 0.12;
const UNFOUNDED_RATE = 0.3;

/**
 * Generates half a year of a company's mail. Threats go to `onThreat` one by one, oldest first, because a hundred
 * thousand of them would need too much memory.
 *
 * @returns the phishing reports, oldest first.
 */
export function generateMail(plan: MailPlan, onThreat: (threat: GeneratedThreat) => void): GeneratedReport[] {
  if (plan.threats === 0 || plan.recipients.length === 0) return [];
  const random = new Random(`${plan.seed} ${plan.tenant}`);
  const now = Date.parse(plan.at);
  const domain = getAddressDomain(plan.recipients[0]?.email ?? "");
  const reports: GeneratedReport[] = [];

  const messages = planMessages(plan, random, now, domain);
  messages.forEach((message, index) => {
    const messageId = generateMessageId(random, message.campaign.sender.domain);
    for (const recipient of message.recipients) {
      onThreat(generateThreat(random, message, messageId, recipient, now));
    }
    const isNewest = index === messages.length - 1;
    if (isNewest || random.chance(REPORT_RATE)) {
      reports.push(generateReport(random, message, messageId, domain, now, isNewest ? 5 * SECOND : undefined));
    }
  });

  const unfoundedCount = Math.round((reports.length * UNFOUNDED_RATE) / (1 - UNFOUNDED_RATE));
  for (let n = 0; n < unfoundedCount; n += 1) reports.push(generateUnfoundedReport(random, plan, domain, now));
  return reports.filter(({ report_date }) => report_date <= plan.at).sort(compareReportDates);
}

/** Plans messages and their recipients, oldest first, until they make up the number of threats in the plan. */
function planMessages(plan: MailPlan, random: Random, now: number, domain: string): Message[] {
  const senders = createSenderGenerator(random, domain, now);
  const leaders = plan.recipients.filter(({ isVip }) => isVip).map(({ name }) => name);
  const audiences = buildAudiences(plan.recipients);
  const messages: Message[] = [];
  let remaining = plan.threats;

  const send = (campaign: Campaign, time: number, maxRecipients: number) => {
    const recipients = pickRecipients(random, audiences[campaign.kind.audience], Math.min(maxRecipients, remaining));
    remaining -= recipients.length;
    messages.push({ time, campaign, recipients });
  };
  const createCampaignAt = (time: number) => generateCampaign(random, plan, senders, time, domain, leaders);

  for (const age of LATEST_AGES_MS) if (remaining > 0) send(createCampaignAt(now - age), now - age, 1);
  while (remaining > 0) {
    const start = pickWorkingTime(random, now);
    const campaign = createCampaignAt(start);
    const size = Math.ceil(random.exponential(4));
    for (let n = 0, time = start; n < size && remaining > 0; n += 1, time += random.exponential(40 * MINUTE)) {
      const latest = now - MINUTE;
      send(campaign, Math.floor(Math.min(time, latest - random.number() * HOUR)), campaign.kind.recipients);
    }
  }
  return messages.sort((a, b) => a.time - b.time);
}

function compareReportDates(a: GeneratedReport, b: GeneratedReport): number {
  return a.report_date < b.report_date ? -1 : a.report_date > b.report_date ? 1 : 0;
}

import type { SandboxThreatIndicator, SandboxVerdict } from "../contract/schemas";
import { type MailKind, mailKinds } from "./mail-kinds";
import type { MailPlan } from "./mail-plan";
import type { Random, WeightedChoice } from "./random";
import type { GeneratedSender, SenderGenerator } from "./sender-generator";

const DENIED_SHARE = 0.12;
const ALLOWED_SHARE = 0.02;

export interface Campaign {
  kind: MailKind;
  verdict: SandboxVerdict;
  sender: GeneratedSender;
  subject: string;
  reasoning: string;
  indicators: string;
}

export function generateCampaign(
  random: Random,
  plan: MailPlan,
  senders: SenderGenerator,
  time: number,
  domain: string,
  leaders: string[],
): Campaign {
  const kind = random.weighted(weightedKinds);
  const leader = leaders.length > 0 ? random.pick(leaders) : "the managing director";
  const listedMatch = pickListedSender(random, plan, senders);
  const verdict = listedMatch?.verdict ?? random.weighted(kind.verdicts);
  const sender = listedMatch?.sender ?? senders.generateForStyle(kind.sender, time, leader);
  const indicators = [
    ...(listedMatch ? [listedMatch.indicator] : []),
    ...kind.indicators.slice(0, random.integer(1, kind.indicators.length)),
  ];

  const label = domain.split(".")[0] ?? domain;
  const placeholders: Record<string, string> = {
    company: label.charAt(0).toUpperCase() + label.slice(1),
    domain,
    leader,
    number: String(random.integer(10_000, 99_999)),
    sender: sender.email,
    sender_domain: sender.domain,
  };
  const fillTemplate = (text: string) => text.replace(/\{(\w+)\}/g, (_, word: string) => placeholders[word] ?? word);
  const filledIndicators: SandboxThreatIndicator[] = indicators.map((indicator) => ({
    indicator_type: indicator.indicator_type,
    explanation: fillTemplate(indicator.explanation),
    grounding: fillTemplate(indicator.grounding),
  }));
  return {
    kind,
    verdict,
    sender,
    subject: fillTemplate(random.pick(kind.subjects)),
    reasoning: fillTemplate(random.pick(kind.reasonings)),
    indicators: JSON.stringify(filledIndicators),
  };
}

function pickListedSender(
  random: Random,
  plan: MailPlan,
  senders: SenderGenerator,
): { verdict: SandboxVerdict; sender: GeneratedSender | undefined; indicator: SandboxThreatIndicator } | undefined {
  const roll = random.number();
  if (roll < DENIED_SHARE && plan.denied.length > 0) {
    const value = random.pick(plan.denied);
    return {
      verdict: "denied",
      sender: isAddress(value) ? undefined : senders.generateForEntry(value),
      indicator: {
        indicator_type: "deny_list",
        explanation: "An entry of the deny list covers the sender.",
        grounding: value,
      },
    };
  }
  const allowed = plan.allowed.filter((value) => !isAddress(value));
  if (roll < 1 - ALLOWED_SHARE || allowed.length === 0) return undefined;
  const value = random.pick(allowed);
  return {
    verdict: "allowed",
    sender: senders.generateForEntry(value),
    indicator: {
      indicator_type: "allow_list",
      explanation: "An entry of the allow list covers the sender.",
      grounding: value,
    },
  };
}

const weightedKinds: readonly WeightedChoice<MailKind>[] = mailKinds.map((kind) => [kind.weight, kind]);

function isAddress(value: string): boolean {
  return /^[\d.]+$/.test(value) || value.includes(":");
}

import type { Action, SandboxThreat, SandboxVerdict } from "../contract/schemas";
import type { MailRecipient } from "./mail-plan";
import type { Message } from "./message";
import type { Random, WeightedChoice } from "./random";
import { HOUR, SECOND } from "./time";

export type GeneratedThreat = Omit<SandboxThreat, "threat_indicators"> & {
  internet_message_id: string;
  threat_indicators: string;
};

export function generateThreat(
  random: Random,
  { time, campaign }: Message,
  messageId: string,
  recipient: MailRecipient,
  now: number,
): GeneratedThreat {
  const { kind, sender, verdict } = campaign;
  const source = random.chance(0.9) ? "mail_flow" : "mailbox_scan";
  const rawDetectionTime =
    time + (source === "mail_flow" ? random.integer(1, 20) * SECOND : random.exponential(2 * HOUR));
  const detectionTime = Math.min(Math.floor(rawDetectionTime), now);
  const action = random.weighted(actionsByVerdict[verdict]);
  const remediationTime = Math.min(
    detectionTime + random.integer(500, 15_000) + Math.floor(getRemediationDelay(random, action)),
    now,
  );
  return {
    id: `thr_${random.hex(3)}`,
    action_taken: action,
    criticality: verdict === "safe" || verdict === "allowed" ? "low" : kind.criticality,
    verdict,
    detection_time: new Date(detectionTime).toISOString(),
    time: new Date(time).toISOString(),
    remediation_time: action === "none" ? undefined : new Date(remediationTime).toISOString(),
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

const actionsByVerdict: Record<SandboxVerdict, readonly WeightedChoice<Action>[]> = {
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

/** Restoring or releasing a message takes hours, because a person reviews it first. */
function getRemediationDelay(random: Random, action: Action): number {
  return action === "restored" || action === "released_from_quarantine" ? random.exponential(3 * HOUR) : 0;
}

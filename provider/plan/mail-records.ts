import type { PhishingReport, Threat } from "../client";
import { canonicalizeMailbox, canonicalizeValue, getMailDomain } from "../model/entry-value";

/** The data kept of a threat. All text comes from strangers: it is truncated here and must be escaped when shown. */
export interface ThreatRecord {
  readonly id: string;
  /** When the message arrived, otherwise when it was detected, as reported by the service. */
  readonly time?: string;
  /** When it was detected, otherwise when it arrived. */
  readonly detectedAt?: string;
  readonly sender: MessageSender;
  /** In canonical form. */
  readonly recipient?: string;
  /** `unknown` if the service reports none. */
  readonly verdict: string;
  readonly action: string;
  /** At most 200 characters. */
  readonly subject?: string;
  /** The registration date of the sender's domain, as reported by the service. */
  readonly senderDomainRegisteredAt?: string;
}

export interface ReportRecord {
  readonly id: string;
  readonly time?: string;
  readonly sender: MessageSender;
  /** In canonical form. */
  readonly reporter?: string;
  readonly verdict: string;
}

/** The claimed sender of a message. */
export interface MessageSender {
  /** In canonical form. */
  readonly mailbox?: string;
  /** The domain of the mailbox and the sender domain reported by the service, in canonical form. */
  readonly domains: readonly string[];
}

const UNKNOWN = "unknown";
const MAX_NAME_LENGTH = 100;
const MAX_SUBJECT_LENGTH = 200;
/** The maximum length of a mailbox: 64 bytes before the @ and 253 characters after it. */
const MAX_ADDRESS_LENGTH = 318;

export function toThreatRecord(threat: Threat): ThreatRecord {
  const time = threat.time ?? threat.detection_time;
  const detectedAt = threat.detection_time ?? threat.time;
  const recipient = canonicalizeSender(threat.recipient_email);
  return {
    id: copyShortened(threat.id, MAX_NAME_LENGTH),
    ...(time === undefined ? {} : { time: copyShortened(time, MAX_NAME_LENGTH) }),
    ...(detectedAt === undefined ? {} : { detectedAt: copyShortened(detectedAt, MAX_NAME_LENGTH) }),
    sender: buildMessageSender(threat.sender_email, threat.sender_domain),
    ...(recipient === undefined ? {} : { recipient }),
    verdict: getShortName(threat.verdict),
    action: getShortName(threat.action_taken),
    ...(threat.subject === undefined ? {} : { subject: copyShortened(threat.subject, MAX_SUBJECT_LENGTH) }),
    ...(threat.sender_registry_date === undefined
      ? {}
      : { senderDomainRegisteredAt: copyShortened(threat.sender_registry_date, MAX_NAME_LENGTH) }),
  };
}

export function toReportRecord(report: PhishingReport): ReportRecord {
  const reporter = canonicalizeSender(report.reporter);
  return {
    id: copyShortened(report.id, MAX_NAME_LENGTH),
    ...(report.report_date === undefined ? {} : { time: copyShortened(report.report_date, MAX_NAME_LENGTH) }),
    sender: buildMessageSender(report.sender, undefined),
    ...(reporter === undefined ? {} : { reporter }),
    verdict: getShortName(report.verdict),
  };
}

/**
 * Returns the outcome of a message: stopped; delivered, because it stayed in the mailbox or was put back; or unknown, for actions that this
 * release doesn't know.
 */
export function getDeliveryOutcome({ action }: Pick<ThreatRecord, "action">): "stopped" | "delivered" | "unknown" {
  if (action.startsWith("moved_to_") || action === "quarantined") return "stopped";
  return DELIVERED_ACTIONS.has(action) ? "delivered" : "unknown";
}

const DELIVERED_ACTIONS: ReadonlySet<string> = new Set(["none", "restored", "released_from_quarantine"]);

/** Returns whether the threat would do harm in a mailbox. Safe, allowed and simulated mail does not. */
export function isHarmful({ verdict }: ThreatRecord): boolean {
  return !HARMLESS_VERDICTS.has(verdict);
}

const HARMLESS_VERDICTS: ReadonlySet<string> = new Set(["safe", "allowed", "simulation"]);

export function parseInstant(time: string | undefined): number | undefined {
  const instant = Date.parse(time ?? "");
  return Number.isNaN(instant) ? undefined : instant;
}

function buildMessageSender(email: string | undefined, domain: string | undefined): MessageSender {
  const senderAddress = canonicalizeSender(email);
  const isMailbox = senderAddress?.includes("@") ?? false;
  const mailboxDomain = senderAddress && getMailDomain(senderAddress);
  const namedDomain = canonicalizeSender(domain?.replace(/^@/, ""));
  const domains = new Set(
    [mailboxDomain, namedDomain].filter((candidate) => candidate !== undefined && candidate !== ""),
  );
  return {
    ...(isMailbox && senderAddress !== undefined ? { mailbox: senderAddress } : {}),
    domains: [...domains] as string[],
  };
}

/** Returns a mailbox or domain in canonical form; accepts `Jane Doe <jane.doe@company.example>`. */
function canonicalizeSender(rawAddress: string | undefined): string | undefined {
  if (rawAddress === undefined) return undefined;
  const [, bracketedAddress] = /<([^<>]{1,1000})>\s*$/.exec(rawAddress.slice(-2000)) ?? [];
  // Longer text isn't an address and would be slow to compare.
  const text = (bracketedAddress ?? rawAddress.slice(0, 2000)).trim();
  if (text === "") return undefined;
  return copyShortened(text.includes("@") ? canonicalizeMailbox(text) : canonicalizeValue(text), MAX_ADDRESS_LENGTH);
}

function getShortName(text: string | undefined): string {
  return text === undefined || text === "" ? UNKNOWN : copyShortened(text, MAX_NAME_LENGTH);
}

/** Truncates a text. Copies it, because a substring would keep the whole string in memory. */
function copyShortened(text: string, limit: number): string {
  return text.length <= limit ? text : Buffer.from(text.slice(0, limit).toWellFormed()).toString();
}

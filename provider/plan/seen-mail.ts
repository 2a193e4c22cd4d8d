import type { PhishingReport, Threat } from "../client";
import { canonicalMailbox, canonicalValue } from "../settings/entry-value";

/** The data kept of a threat. All text comes from strangers: it is truncated here and must be escaped when shown. */
export interface SeenThreat {
  readonly id: string;
  /** When the message arrived, otherwise when it was detected, as reported by the service. */
  readonly time?: string;
  /** When it was detected, otherwise when it arrived. */
  readonly detected?: string;
  readonly sender: Sender;
  /** In canonical form. */
  readonly recipient?: string;
  /** `unknown` if the service reports none. */
  readonly verdict: string;
  readonly action: string;
  /** At most 200 characters. */
  readonly subject?: string;
  /** The registration date of the sender's domain, as reported by the service. */
  readonly registered?: string;
}

/** The data kept of a phishing report, with the same rules. */
export interface SeenReport {
  readonly id: string;
  readonly time?: string;
  readonly sender: Sender;
  /** In canonical form. */
  readonly reporter?: string;
  readonly verdict: string;
}

/** The claimed sender of a message. */
export interface Sender {
  /** In canonical form. */
  readonly mailbox?: string;
  /** The domain of the mailbox and the sender domain reported by the service, in canonical form. */
  readonly domains: readonly string[];
}

const UNKNOWN = "unknown";
const LONGEST_NAME = 100;
const LONGEST_SUBJECT = 200;
/** The maximum length of a mailbox: 64 bytes before the @ and 253 characters after it. */
const LONGEST_ADDRESS = 318;

export function seenThreat(threat: Threat): SeenThreat {
  const time = threat.time ?? threat.detection_time;
  const detected = threat.detection_time ?? threat.time;
  const recipient = address(threat.recipient_email);
  return {
    id: short(threat.id, LONGEST_NAME),
    ...(time === undefined ? {} : { time: short(time, LONGEST_NAME) }),
    ...(detected === undefined ? {} : { detected: short(detected, LONGEST_NAME) }),
    sender: senderOf(threat.sender_email, threat.sender_domain),
    ...(recipient === undefined ? {} : { recipient }),
    verdict: named(threat.verdict),
    action: named(threat.action_taken),
    ...(threat.subject === undefined ? {} : { subject: short(threat.subject, LONGEST_SUBJECT) }),
    ...(threat.sender_registry_date === undefined
      ? {}
      : { registered: short(threat.sender_registry_date, LONGEST_NAME) }),
  };
}

export function seenReport(report: PhishingReport): SeenReport {
  const reporter = address(report.reporter);
  return {
    id: short(report.id, LONGEST_NAME),
    ...(report.report_date === undefined ? {} : { time: short(report.report_date, LONGEST_NAME) }),
    sender: senderOf(report.sender, undefined),
    ...(reporter === undefined ? {} : { reporter }),
    verdict: named(report.verdict),
  };
}

/** Returns a domain and its parents: `mail.evil.example`, `evil.example`, `example`. */
export function domainsUp(domain: string): string[] {
  const domains = [domain];
  for (let dot = domain.indexOf("."); dot >= 0; dot = domain.indexOf(".", dot + 1)) {
    domains.push(domain.slice(dot + 1));
  }
  return domains;
}

/**
 * Returns the outcome of a message: stopped; delivered, because it stayed in the mailbox or was put back; or unknown, for actions that this
 * release doesn't know.
 */
export function fateOf({ action }: Pick<SeenThreat, "action">): "stopped" | "delivered" | "unknown" {
  if (action.startsWith("moved_to_") || action === "quarantined") return "stopped";
  return DELIVERED.has(action) ? "delivered" : "unknown";
}

const DELIVERED: ReadonlySet<string> = new Set(["none", "restored", "released_from_quarantine"]);

/** Returns whether the threat would do harm in a mailbox. Safe, allowed and simulated mail does not. */
export function isHarmful({ verdict }: SeenThreat): boolean {
  return !HARMLESS.has(verdict);
}

const HARMLESS: ReadonlySet<string> = new Set(["safe", "allowed", "simulation"]);

/** Parses a time for comparison; undefined if it isn't a valid date. */
export function instantOf(time: string | undefined): number | undefined {
  const instant = Date.parse(time ?? "");
  return Number.isNaN(instant) ? undefined : instant;
}

function senderOf(email: string | undefined, domain: string | undefined): Sender {
  const from = address(email);
  const isMailbox = from?.includes("@") ?? false;
  const ofMailbox = isMailbox ? from?.slice(from.lastIndexOf("@") + 1) : from;
  const told = address(domain?.replace(/^@/, ""));
  const domains = new Set([ofMailbox, told].filter((one) => one !== undefined && one !== ""));
  return {
    ...(isMailbox && from !== undefined ? { mailbox: from } : {}),
    domains: [...domains] as string[],
  };
}

/** Returns a mailbox or domain in canonical form; accepts `Jane Doe <jane.doe@company.example>`. */
function address(written: string | undefined): string | undefined {
  if (written === undefined) return undefined;
  const [, inBrackets] = /<([^<>]{1,1000})>\s*$/.exec(written.slice(-2000)) ?? [];
  // Longer text isn't an address and would be slow to compare.
  const text = (inBrackets ?? written.slice(0, 2000)).trim();
  if (text === "") return undefined;
  return short(text.includes("@") ? canonicalMailbox(text) : canonicalValue(text), LONGEST_ADDRESS);
}

function named(text: string | undefined): string {
  return text === undefined || text === "" ? UNKNOWN : short(text, LONGEST_NAME);
}

/** Truncates a text. Copies it, because a substring would keep the whole string in memory. */
function short(text: string, limit: number): string {
  return text.length <= limit ? text : Buffer.from(text.slice(0, limit).toWellFormed()).toString();
}

import type { PhishingReport, Threat } from "../client";
import { canonicalMailbox, canonicalValue } from "../settings/entry-value";

/** What is kept of a threat. All text in it is a stranger's: short, and to be made printable by who shows it. */
export interface SeenThreat {
  readonly id: string;
  /** When the message came, else when it was detected, as the service tells it. */
  readonly time?: string;
  /** When it was detected, else when it came. */
  readonly detected?: string;
  readonly sender: Sender;
  /** In canonical form. */
  readonly recipient?: string;
  /** `unknown` where the service tells none. */
  readonly verdict: string;
  readonly action: string;
  /** At most 200 characters. */
  readonly subject?: string;
  /** Since when the sender's domain is registered, as the service tells it. */
  readonly registered?: string;
}

/** What is kept of a phishing report, in the same way. */
export interface SeenReport {
  readonly id: string;
  readonly time?: string;
  readonly sender: Sender;
  /** In canonical form. */
  readonly reporter?: string;
  readonly verdict: string;
}

/** Whom a message says that it is from. */
export interface Sender {
  /** In canonical form. */
  readonly mailbox?: string;
  /** The mailbox's domain, and what else the service names as the sender's domain, in canonical form. */
  readonly domains: readonly string[];
}

const UNKNOWN = "unknown";
const LONGEST_NAME = 100;
const LONGEST_SUBJECT = 200;
/** The longest mailbox: 64 bytes before its @, and 253 characters after it. */
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

/** `mail.evil.example`: itself, `evil.example`, `example`. */
export function domainsUp(domain: string): string[] {
  const domains = [domain];
  for (let dot = domain.indexOf("."); dot >= 0; dot = domain.indexOf(".", dot + 1)) {
    domains.push(domain.slice(dot + 1));
  }
  return domains;
}

/**
 * What became of a message: kept from its recipient; in the mailbox, where it stayed or was put back; or not known, as
 * of an action that nobody knows yet.
 */
export function fateOf({ action }: Pick<SeenThreat, "action">): "stopped" | "delivered" | "unknown" {
  if (action.startsWith("moved_to_") || action === "quarantined") return "stopped";
  return DELIVERED.has(action) ? "delivered" : "unknown";
}

const DELIVERED: ReadonlySet<string> = new Set(["none", "restored", "released_from_quarantine"]);

/** Whether it would do harm in a mailbox: not what is safe, was allowed on purpose, or is a training's. */
export function isHarmful({ verdict }: SeenThreat): boolean {
  return !HARMLESS.has(verdict);
}

const HARMLESS: ReadonlySet<string> = new Set(["safe", "allowed", "simulation"]);

/** When something was, for comparing; undefined for what can't be read as a date. */
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

/** A mailbox or domain in canonical form, also out of `Jane Doe <jane.doe@company.example>`. */
function address(written: string | undefined): string | undefined {
  if (written === undefined) return undefined;
  const [, inBrackets] = /<([^<>]{1,1000})>\s*$/.exec(written.slice(-2000)) ?? [];
  // Beyond this it is nobody's address, and only what is short is worth comparing.
  const text = (inBrackets ?? written.slice(0, 2000)).trim();
  if (text === "") return undefined;
  return short(text.includes("@") ? canonicalMailbox(text) : canonicalValue(text), LONGEST_ADDRESS);
}

function named(text: string | undefined): string {
  return text === undefined || text === "" ? UNKNOWN : short(text, LONGEST_NAME);
}

/** A text's beginning. It is a copy: a part of a string would keep the whole in memory. */
function short(text: string, limit: number): string {
  return text.length <= limit ? text : Buffer.from(text.slice(0, limit).toWellFormed()).toString();
}

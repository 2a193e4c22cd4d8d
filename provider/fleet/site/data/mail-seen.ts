import { type EvidenceBase, evidenceOf, mailOf } from "../../../plan/evidence";
import { counted } from "../../../render/words";
import { excerpt } from "../../../settings/text";

/** What the mail of one tenant says of its entries, by their numbers. */
export interface MailSeen {
  /** How many days were looked at. */
  readonly days: number;
  readonly threats: number;
  readonly reports: number;
  /** What of the mail could not be looked at, a sentence each. */
  readonly missing: readonly string[];
  /** Of those that any mail speaks of, what it says; of all others it says nothing. */
  readonly seen: readonly (readonly [entry: number, told: string])[];
}

/** So many kinds of verdicts are named. */
const MOST_VERDICTS = 3;

/**
 * What the mail says of an entry or a VIP, on one line; undefined where there is none.
 *
 * @param list `allow`, `deny` or `vip`.
 */
export function mailSeenOf(base: EvidenceBase, list: string, value: string): string | undefined {
  const subject = { kind: list === "vip" ? "vip" : "entry", value } as const;
  const { threats, reports } = mailOf(base, subject);
  const evidence = threats.length + reports.length === 0 ? undefined : evidenceOf(base, subject);
  if (evidence === undefined) return undefined;
  const { verdicts, last, recipientCount, vipCount } = evidence;
  const named = verdicts.slice(0, MOST_VERDICTS).map(({ name, count }) => `${count} ${excerpt(name, 40)}`);
  const others = verdicts.length - named.length;
  const parts = [
    ...(evidence.threats === 0
      ? []
      : [
          `${counted(evidence.threats, "threat")}: ${named.join(", ")}${others > 0 ? ` and ${counted(others, "other verdict")}` : ""}`,
          ...(list === "vip"
            ? []
            : [
                `to ${counted(recipientCount, "mailbox", "mailboxes")}${vipCount > 0 ? ` (${counted(vipCount, "VIP")})` : ""}`,
              ]),
          ...(last === undefined ? [] : [`the last on ${excerpt(last.slice(0, 10), 40)}`]),
        ]),
    ...(evidence.reports === 0 ? [] : [counted(evidence.reports, "report")]),
  ];
  return parts.join("; ");
}

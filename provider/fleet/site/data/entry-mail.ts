import { excerpt } from "../../../model/text";
import { collectEvidence, findMail, type TenantMailHistory } from "../../../plan/evidence";
import { formatCount } from "../../../render/safe-text";

/** The evidence from one tenant's mail about its entries, by entry number. */
export interface EntryMailEvidence {
  readonly days: number;
  readonly threats: number;
  readonly reports: number;
  /** The parts of the mail that could not be searched, one sentence each. */
  readonly missing: readonly string[];
  /** The evidence about entries that occur in the mail. All other entries don't occur in it. */
  readonly entries: readonly (readonly [entry: number, text: string])[];
}

const MAX_VERDICTS = 3;

/**
 * Describes the mail evidence about an entry or VIP on one line. Undefined if there is none.
 *
 * @param list `allow`, `deny` or `vip`.
 */
export function describeEntryMail(base: TenantMailHistory, list: string, value: string): string | undefined {
  const subject = { kind: list === "vip" ? "vip" : "entry", value } as const;
  const { threats, reports } = findMail(base, subject);
  const evidence = threats.length + reports.length === 0 ? undefined : collectEvidence(base, subject);
  if (evidence === undefined) return undefined;
  const { verdicts, lastThreatAt, recipientCount, vipCount } = evidence;
  const verdictTexts = verdicts.slice(0, MAX_VERDICTS).map(({ name, count }) => `${count} ${excerpt(name, 40)}`);
  const otherCount = verdicts.length - verdictTexts.length;
  const parts = [
    ...(evidence.threats === 0
      ? []
      : [
          `${formatCount(evidence.threats, "threat")}: ${verdictTexts.join(", ")}${otherCount > 0 ? ` and ${formatCount(otherCount, "other verdict")}` : ""}`,
          ...(list === "vip"
            ? []
            : [
                `to ${formatCount(recipientCount, "mailbox", "mailboxes")}${vipCount > 0 ? ` (${formatCount(vipCount, "VIP")})` : ""}`,
              ]),
          ...(lastThreatAt === undefined ? [] : [`the last on ${excerpt(lastThreatAt.slice(0, 10), 40)}`]),
        ]),
    ...(evidence.reports === 0 ? [] : [formatCount(evidence.reports, "report")]),
  ];
  return parts.join("; ");
}

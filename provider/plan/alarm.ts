import type { Finding } from "../files/finding";
import { DEFAULT_VERDICT_SCOPE, KNOWN_VERDICTS } from "../settings/assumptions";
import { RISKS } from "../settings/risk";
import { withoutUndefined } from "../settings/without-undefined";
import type { BacktestAllow, Change, Count, Evidence } from "./plan";

/** A change without findings, evidence and alarm. */
export type BareChange = Omit<Change, "findings" | "evidence" | "alarm">;

/** Verdicts of harmless or test mail. */
const HARMLESS_VERDICTS: ReadonlySet<string> = new Set(["safe", "allowed", "simulation", "no_analysis"]);

/**
 * Returns whether mail with this verdict makes an allow dangerous: malicious, or unknown to this release. Spam and graymail are only a
 * nuisance.
 */
function isDangerous(verdict: string): boolean {
  return verdict === "malicious" || !KNOWN_VERDICTS.some((known) => known === verdict);
}

/** Rates how bad a change looks. A danger or warning with an `acceptRisk` reason counts as an accepted risk. */
export function alarmOf(
  change: BareChange,
  findings: readonly Finding[],
  evidence: Evidence | undefined,
  backtestResult: BacktestAllow | undefined,
): Pick<Change, "alarm" | "accepted"> {
  // An entry scoped to graymail is expected to match graymail.
  const isExpectedVerdict = (verdict: string): boolean =>
    change.verdictScope !== DEFAULT_VERDICT_SCOPE && change.verdictScope === verdict;
  const getHarmfulNames = (verdicts: readonly Count[] = []): string[] =>
    verdicts.flatMap(({ name, count }) =>
      count > 0 && !HARMLESS_VERDICTS.has(name) && !isExpectedVerdict(name) ? [name] : [],
    );
  const harmfulVerdicts = getHarmfulNames(evidence?.verdicts);
  // A new allow and a removed deny both let blocked mail through.
  const letsMailIn = change.kind === "entry" && (beginsAllow(change) || endsDeny(change));
  const isRisk = findings.some(({ code }) => Object.hasOwn(RISKS, code));
  const isDanger =
    isRisk ||
    (letsMailIn &&
      (harmfulVerdicts.includes("malicious") || getHarmfulNames(backtestResult?.verdicts).some(isDangerous)));
  const isDoubtful = isDanger || (letsMailIn && harmfulVerdicts.length > 0);
  const accepted = isDoubtful ? (change.accepted ?? change.after?.acceptRisk) : undefined;
  const isWarned = findings.some(({ level }) => level !== "note");
  const losesVip = change.kind === "vip" && change.sign === "remove";
  if (isDanger && accepted === undefined) return { alarm: "danger" };
  const acceptedField = withoutUndefined({ accepted });
  if (isWarned || losesVip || (isDoubtful && accepted === undefined)) return { ...acceptedField, alarm: "warning" };
  return { ...acceptedField, alarm: accepted === undefined ? "none" : "accepted" };
}

export function beginsAllow({ before, after }: Pick<Change, "before" | "after">): boolean {
  return after?.list === "allow" && before?.list !== "allow";
}

function endsDeny({ sign, before, after }: BareChange): boolean {
  return before?.list === "deny" && (sign === "remove" || after?.list === "allow");
}

import { DEFAULT_VERDICT_SCOPE, KNOWN_VERDICTS } from "../model/assumptions";
import { omitUndefined } from "../model/omit-undefined";
import { RISKS } from "../model/risk";
import type { Finding } from "../settings-files/finding";
import type { BacktestAllow, Evidence, NamedCount, PlanChange } from "./plan";

/** A change without findings, evidence and severity. */
export type UnratedChange = Omit<PlanChange, "findings" | "evidence" | "severity">;

const HARMLESS_VERDICTS: ReadonlySet<string> = new Set(["safe", "allowed", "simulation", "no_analysis"]);

/**
 * Returns whether mail with this verdict makes an allow dangerous: malicious, or unknown to this release. Spam and graymail are only a
 * nuisance.
 */
function isDangerousVerdict(verdict: string): boolean {
  return verdict === "malicious" || !KNOWN_VERDICTS.some((known) => known === verdict);
}

/** Rates how bad a change looks. A danger or warning with an `acceptRisk` reason counts as an accepted risk. */
export function rateChange(
  change: UnratedChange,
  findings: readonly Finding[],
  evidence: Evidence | undefined,
  backtestResult: BacktestAllow | undefined,
): Pick<PlanChange, "severity" | "acceptedRiskReason"> {
  // An entry scoped to graymail is expected to match graymail.
  const isExpectedVerdict = (verdict: string): boolean =>
    change.verdictScope !== DEFAULT_VERDICT_SCOPE && change.verdictScope === verdict;
  const getHarmfulNames = (verdicts: readonly NamedCount[] = []): string[] =>
    verdicts.flatMap(({ name, count }) =>
      count > 0 && !HARMLESS_VERDICTS.has(name) && !isExpectedVerdict(name) ? [name] : [],
    );
  const harmfulVerdicts = getHarmfulNames(evidence?.verdicts);
  // A new allow and a removed deny both let blocked mail through.
  const letsMailIn = change.kind === "entry" && (isNewAllow(change) || endsDeny(change));
  const isRisk = findings.some(({ code }) => Object.hasOwn(RISKS, code));
  const isDanger =
    isRisk ||
    (letsMailIn &&
      (harmfulVerdicts.includes("malicious") || getHarmfulNames(backtestResult?.verdicts).some(isDangerousVerdict)));
  const isDoubtful = isDanger || (letsMailIn && harmfulVerdicts.length > 0);
  const acceptedRiskReason = isDoubtful ? (change.acceptedRiskReason ?? change.after?.acceptRisk) : undefined;
  const isWarned = findings.some(({ level }) => level !== "note");
  const losesVip = change.kind === "vip" && change.operation === "remove";
  if (isDanger && acceptedRiskReason === undefined) return { severity: "danger" };
  const acceptedField = omitUndefined({ acceptedRiskReason });
  if (isWarned || losesVip || (isDoubtful && acceptedRiskReason === undefined))
    return { ...acceptedField, severity: "warning" };
  return { ...acceptedField, severity: acceptedRiskReason === undefined ? "none" : "accepted" };
}

export function isNewAllow({ before, after }: Pick<PlanChange, "before" | "after">): boolean {
  return after?.list === "allow" && before?.list !== "allow";
}

function endsDeny({ operation, before, after }: UnratedChange): boolean {
  return before?.list === "deny" && (operation === "remove" || after?.list === "allow");
}

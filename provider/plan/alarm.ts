import type { Finding } from "../files/finding";
import { DEFAULT_VERDICT_SCOPE, KNOWN_VERDICTS } from "../settings/assumptions";
import { RISKS } from "../settings/risk";
import { withoutUndefined } from "../settings/without-undefined";
import type { BacktestAllow, Change, Count, Evidence } from "./plan";

/** A change without findings, evidence and alarm. */
export type BareChange = Omit<Change, "findings" | "evidence" | "alarm">;

/** Verdicts of harmless or test mail. */
const HARMLESS: ReadonlySet<string> = new Set(["safe", "allowed", "simulation", "no_analysis"]);

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
  through: BacktestAllow | undefined,
): Pick<Change, "alarm" | "accepted"> {
  // An entry scoped to graymail is expected to match graymail.
  const isMeant = (verdict: string): boolean =>
    change.verdictScope !== DEFAULT_VERDICT_SCOPE && change.verdictScope === verdict;
  const names = (verdicts: readonly Count[] = []): string[] =>
    verdicts.flatMap(({ name, count }) => (count > 0 && !HARMLESS.has(name) && !isMeant(name) ? [name] : []));
  const seen = names(evidence?.verdicts);
  // A new allow and a removed deny both let blocked mail through.
  const opens = change.kind === "entry" && (beginsAllow(change) || endsDeny(change));
  const isRisk = findings.some(({ code }) => Object.hasOwn(RISKS, code));
  const isDanger =
    isRisk || (opens && (seen.includes("malicious") || names(through?.verdicts).some(isDangerous)));
  const isDoubtful = isDanger || (opens && seen.length > 0);
  const accepted = isDoubtful ? (change.accepted ?? change.after?.acceptRisk) : undefined;
  const isWarned = findings.some(({ level }) => level !== "note");
  const losesVip = change.kind === "vip" && change.sign === "remove";
  if (isDanger && accepted === undefined) return { alarm: "danger" };
  const told = withoutUndefined({ accepted });
  if (isWarned || losesVip || (isDoubtful && accepted === undefined)) return { ...told, alarm: "warning" };
  return { ...told, alarm: accepted === undefined ? "none" : "accepted" };
}

export function beginsAllow({ before, after }: Pick<Change, "before" | "after">): boolean {
  return after?.list === "allow" && before?.list !== "allow";
}

function endsDeny({ sign, before, after }: BareChange): boolean {
  return before?.list === "deny" && (sign === "remove" || after?.list === "allow");
}

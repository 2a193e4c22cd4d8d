import type { Finding } from "../files/finding";
import { DEFAULT_VERDICT_SCOPE, KNOWN_VERDICTS } from "../settings/assumptions";
import { RISKS } from "../settings/risk";
import { withoutUndefined } from "../settings/without-undefined";
import type { BacktestAllow, Change, Count, Evidence } from "./plan";

/** A change before it is judged. */
export type BareChange = Omit<Change, "findings" | "evidence" | "alarm">;

/** Verdicts that say that nothing is wrong, or that it was a test. */
const HARMLESS: ReadonlySet<string> = new Set(["safe", "allowed", "simulation", "no_analysis"]);

/**
 * Verdicts that make an allow dangerous where mail with them would come through: what the service found malicious, and what
 * it calls by a name that nobody knows yet. Spam and graymail are a nuisance.
 */
function isDangerous(verdict: string): boolean {
  return verdict === "malicious" || !KNOWN_VERDICTS.some((known) => known === verdict);
}

/** How bad a change looks; where a reviewed file says why that is meant, it is an accepted risk, and told as one. */
export function alarmOf(
  change: BareChange,
  findings: readonly Finding[],
  evidence: Evidence | undefined,
  through: BacktestAllow | undefined,
): Pick<Change, "alarm" | "accepted"> {
  // What an entry for graymail alone is about is what it is there for.
  const isMeant = (verdict: string): boolean =>
    change.verdictScope !== DEFAULT_VERDICT_SCOPE && change.verdictScope === verdict;
  const names = (verdicts: readonly Count[] = []): string[] =>
    verdicts.flatMap(({ name, count }) => (count > 0 && !HARMLESS.has(name) && !isMeant(name) ? [name] : []));
  const seen = names(evidence?.verdicts);
  // Both let in what was kept out: a new allow, and the end of a deny.
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

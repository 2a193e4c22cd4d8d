import type { Finding } from "../files/finding";
import type { EntryType } from "../settings/assumptions";
import { OwnDomains } from "../settings/own-domains";
import { RISKS, risksOf } from "../settings/risk";
import { quote } from "../settings/text";
import { withoutUndefined } from "../settings/without-undefined";
import { alarmOf, type BareChange } from "./alarm";
import type { Desired } from "./desired";
import type { Backtest, Change, Evidence } from "./plan";

/** Returns a function that adds findings, evidence and the alarm to a change. Indexes findings and the backtest once for all changes. */
export function judgeOf(
  { findings, ownDomains }: Desired,
  backtest: Backtest | undefined,
): (change: BareChange, evidence: Evidence | undefined) => Change {
  const ownDomainSet = new OwnDomains(ownDomains);
  const bySubject = Map.groupBy(
    // Accepted risks are reported separately.
    findings.filter(({ code }) => !ACCEPTED_CODES.has(code)),
    ({ subject }) => `${subject?.kind} ${subject?.key}`,
  );
  const allowResults = new Map((backtest?.allows ?? []).map((allow) => [allow.key, allow]));
  return (change, evidence) => {
    const changeFindings = [
      ...(bySubject.get(`${change.kind} ${change.key}`) ?? []),
      ...findRisks(change, ownDomainSet),
    ];
    return {
      ...change,
      findings: changeFindings,
      ...withoutUndefined({ evidence }),
      ...alarmOf(change, changeFindings, evidence, allowResults.get(change.key)),
    };
  };
}

/** The lint codes for an `acceptRisk`. */
const ACCEPTED_CODES: ReadonlySet<string> = new Set(["accepted-risk", "accepted-mail"]);

function findRisks(change: BareChange, ownDomainSet: OwnDomains): Finding[] {
  const { after, entryType, value, place } = change;
  if (after?.list === undefined || entryType === undefined) return [];
  const acceptanceText = after.acceptRisk === undefined ? "" : ` Accepted, because: ${quote(after.acceptRisk, 500)}`;
  return risksOf({ list: after.list, value, entryType: entryType as EntryType }, ownDomainSet).map(({ code }) => ({
    code,
    level: after.acceptRisk === undefined ? "warning" : "note",
    message: `${RISKS[code].title}. ${RISKS[code].why}${acceptanceText}`,
    ...withoutUndefined({ place }),
  }));
}

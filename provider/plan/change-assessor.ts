import type { EntryType } from "../model/assumptions";
import { omitUndefined } from "../model/omit-undefined";
import { OwnDomains } from "../model/own-domains";
import { findEntryRisks, RISKS } from "../model/risk";
import { quote } from "../model/text";
import type { Finding } from "../settings-files/finding";
import { rateChange, type UnratedChange } from "./change-rating";
import type { DesiredState } from "./desired-state";
import type { Backtest, Evidence, PlanChange } from "./plan";

/** Returns a function that adds findings, evidence and the severity to a change. Indexes findings and the backtest once for all changes. */
export function createChangeAssessor(
  { findings, ownDomains }: DesiredState,
  backtest: Backtest | undefined,
): (change: UnratedChange, evidence: Evidence | undefined) => PlanChange {
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
      ...omitUndefined({ evidence }),
      ...rateChange(change, changeFindings, evidence, allowResults.get(change.key)),
    };
  };
}

const ACCEPTED_CODES: ReadonlySet<string> = new Set(["accepted-risk", "accepted-mail"]);

function findRisks(change: UnratedChange, ownDomainSet: OwnDomains): Finding[] {
  const { after, entryType, value, place } = change;
  if (after?.list === undefined || entryType === undefined) return [];
  const acceptanceText = after.acceptRisk === undefined ? "" : ` Accepted: ${quote(after.acceptRisk, 500)}`;
  return findEntryRisks({ list: after.list, value, entryType: entryType as EntryType }, ownDomainSet).map(
    ({ code }) => ({
      code,
      level: after.acceptRisk === undefined ? "warning" : "note",
      message: `${RISKS[code].title}. ${RISKS[code].explanation}${acceptanceText}`,
      ...omitUndefined({ place }),
    }),
  );
}

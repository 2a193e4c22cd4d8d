import { encodeEntryKey } from "../model/encoded-list";
import { runBacktest } from "./backtest";
import { collectEvidence, getEvidenceSummary, type TenantMailHistory } from "./evidence";
import type { MailEvidence } from "./make-plan";

export function buildMailEvidence(base: TenantMailHistory): MailEvidence {
  return {
    summary: getEvidenceSummary(base),
    mailboxes: [
      ...(base.threats ?? []).flatMap(({ recipient = [] }) => recipient),
      ...(base.reports ?? []).flatMap(({ reporter = [] }) => reporter),
    ],
    getEvidence: (subject) => collectEvidence(base, subject),
    runBacktest: (entries, changed) =>
      base.threats === undefined
        ? undefined
        : runBacktest(base, {
            entries: entries.map((entry) => ({ ...entry, key: encodeEntryKey(entry) })),
            changedKeys: changed.map(({ key }) => key),
          }),
  };
}

export function buildEmptyEvidence(until: string, reason: string, days = 0): MailEvidence {
  return {
    isEmpty: true,
    summary: { days, threats: 0, reports: 0, until, complete: false, missing: [reason] },
    mailboxes: [],
    getEvidence: () => undefined,
    runBacktest: () => undefined,
  };
}

import { keyOfEntry } from "../settings/keyed-list";
import { backtest } from "./backtest";
import { type EvidenceBase, evidenceOf, evidenceSummary } from "./evidence";
import type { MailEvidence } from "./make-plan";

/** Adapts the mail of a tenant to the evidence that a plan needs. */
export function mailEvidence(base: EvidenceBase): MailEvidence {
  return {
    summary: evidenceSummary(base),
    mailboxes: [
      ...(base.threats ?? []).flatMap(({ recipient = [] }) => recipient),
      ...(base.reports ?? []).flatMap(({ reporter = [] }) => reporter),
    ],
    of: (subject) => evidenceOf(base, subject),
    backtest: (entries, changed) =>
      base.threats === undefined
        ? undefined
        : backtest(base, {
            entries: entries.map((entry) => ({ ...entry, key: keyOfEntry(entry) })),
            changed: changed.map(({ key }) => key),
          }),
  };
}

/** Returns empty evidence with the reason. */
export function withoutEvidence(until: string, reason: string, days = 0): MailEvidence {
  return {
    isNone: true,
    summary: { days, threats: 0, reports: 0, until, complete: false, missing: [reason] },
    mailboxes: [],
    of: () => undefined,
    backtest: () => undefined,
  };
}

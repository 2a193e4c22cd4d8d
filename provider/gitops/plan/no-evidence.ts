import type { MailEvidence } from "./make-plan";

/** No evidence at all, and why. */
export function withoutEvidence(until: string, why: string, days = 0): MailEvidence {
  return {
    summary: { days, threats: 0, reports: 0, until, complete: false, missing: [why] },
    of: () => undefined,
    backtest: () => undefined,
  };
}

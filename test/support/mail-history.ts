import type { PhishingReport, Threat } from "../../provider/client";
import type { TenantMailHistory } from "../../provider/plan/evidence";
import { toReportRecord, toThreatRecord } from "../../provider/plan/mail-records";

/** The threat fields that a test sets; the others are missing, as the service permits. */
export type ThreatFields = Partial<Threat>;

/** Builds evidence from exactly this mail, newest first, over the 30 days before 21 November 2026. */
export function buildEvidenceBase(mail: {
  readonly threats?: readonly ThreatFields[];
  readonly reports?: readonly Partial<PhishingReport>[];
  readonly vips?: readonly string[];
  readonly missing?: readonly string[];
}): TenantMailHistory {
  const { threats = [], reports = [], vips = [], missing = [] } = mail;
  return {
    summary: {
      days: 30,
      threats: threats.length,
      reports: reports.length,
      from: "2026-10-22T12:00:00.000Z",
      until: "2026-11-21T12:00:00.000Z",
      complete: missing.length === 0,
      missing,
    },
    threats: threats.map((threat, index) => toThreatRecord({ id: `t${index}`, ...threat } as Threat)),
    reports: reports.map((report, index) => toReportRecord({ id: `r${index}`, ...report } as PhishingReport)),
    vips: new Set(vips),
  };
}

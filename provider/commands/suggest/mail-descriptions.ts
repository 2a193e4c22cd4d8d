import { sanitizeLine } from "../../model/text";
import { FrequencyCounter } from "../../plan/frequency-counter";
import { getDeliveryOutcome, type ThreatRecord } from "../../plan/mail-records";
import type { Evidence, NamedCount } from "../../plan/plan";
import { formatCount } from "../../render/safe-text";
import type { SuggestContext } from "./suggest-context";

/** The evidence from mail and its window, such as "in the last 30 days". */
export type MailContext = Pick<SuggestContext, "base" | "window">;

export function describeMail(context: MailContext, evidence: Evidence | undefined): string {
  const { reports = 0, reportVerdicts = [] } = evidence ?? {};
  const reportText = `Users reported mail from it ${formatCount(reports, "time")}${formatNamedCounts(reportVerdicts)}.`;
  return joinSentences(describeDetections(context, evidence), reports === 0 ? "" : reportText);
}

export function describeDetections({ base, window }: MailContext, evidence: Evidence | undefined): string {
  if (evidence === undefined || base.threats === undefined) {
    return "The service's detections could not be read.";
  }
  if (!evidence.applies) return "The service doesn't report which mail came from an IP address.";
  const { threats, verdicts, actions } = evidence;
  if (threats === 0) {
    return `No mail that the service detected came from it ${window}; the service doesn't report other mail.`;
  }
  const deliveredCount = actions
    .filter(({ name }) => getDeliveryOutcome({ action: name }) === "delivered")
    .reduce((sum, { count }) => sum + count, 0);
  return `The service detected threats in ${formatCount(threats, "message")} from it ${window}${formatNamedCounts(verdicts)}; ${deliveredCount === 0 ? "none" : deliveredCount} of them stayed in a mailbox.`;
}

/** Formats the verdicts of threats, such as ": 9 malicious, 5 unknown". */
export function formatVerdicts(threats: readonly ThreatRecord[]): string {
  const counter = new FrequencyCounter();
  for (const { verdict } of threats) counter.add(verdict);
  return formatNamedCounts(counter.getCounts());
}

/** Formats counts with names, such as ": 9 malicious, 5 unknown". */
function formatNamedCounts(counts: readonly NamedCount[]): string {
  if (counts.length === 0) return "";
  return `: ${counts.map(({ name, count }) => `${count} ${sanitizeLine(name)}`).join(", ")}`;
}

export function getWasOrWere(count: number): string {
  return count === 1 ? "was" : "were";
}

export function joinSentences(...texts: readonly (string | undefined)[]): string {
  return texts.filter((text) => text !== undefined && text !== "").join(" ");
}

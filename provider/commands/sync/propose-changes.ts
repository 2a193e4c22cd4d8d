import type { SourceProposals } from "../../gitops/source-proposals";
import { describeProposal, isProposalComplete } from "../../gitops/source-pull-request";
import { EmailSecurityError } from "../../model/email-security-error";
import type { SyncedSource } from "../../sources/sync-outcome";
import type { SourceReport } from "../../sources/sync-report";
import { renderSourceMarkdown } from "./sync-markdown";

export interface ProposedSources {
  readonly reports: readonly SourceReport[];
  /** Whether no person has to do anything but review. */
  readonly isComplete: boolean;
}

/**
 * Proposes the change of each source as a pull request. A source that fails is reported, and doesn't keep others from being proposed.
 */
export async function proposeChanges(
  results: readonly SyncedSource[],
  proposals: SourceProposals,
): Promise<ProposedSources> {
  const reports: SourceReport[] = [];
  let isComplete = true;
  for (const { report, text } of results) {
    try {
      const result =
        text === undefined ? undefined : await proposals.propose(report.file, text, renderDescription(report));
      if (result === undefined) {
        reports.push(report);
        continue;
      }
      const { branch, update, pullRequest } = result;
      isComplete &&= isProposalComplete(result);
      const proposal = {
        branch,
        state: update.state,
        ...(pullRequest?.url === undefined ? {} : { url: pullRequest.url }),
      };
      reports.push({ ...report, notes: [...report.notes, ...describeProposal(result)], proposal });
    } catch (error) {
      if (!(error instanceof EmailSecurityError)) throw error;
      const { code, message } = error;
      reports.push({ ...report, outcome: "blocked", problem: { code, message } });
    }
  }
  return { reports, isComplete };
}

/** GitHub allows 65,536 characters in a description. */
const MAX_DESCRIPTION_BYTES = 60_000;

function renderDescription(report: SourceReport): string {
  const texts = [200, 50, 10].map((maxValues) => renderSourceMarkdown(report, maxValues));
  return texts.find((text) => Buffer.byteLength(text) <= MAX_DESCRIPTION_BYTES) ?? texts.at(-1) ?? "";
}

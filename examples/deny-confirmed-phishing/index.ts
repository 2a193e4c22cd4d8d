import * as pulumi from "@pulumi/pulumi";
import { AllowDenyEntry, getAllowDenyEntries, getPhishingReports } from "pulumi-email-security";

const config = new pulumi.Config();
const days = config.getNumber("days") ?? 30;
/** Your own domains: a message that claims to come from them is no reason to deny them. */
const ownDomains = config.getObject<string[]>("ownDomains") ?? [];

/**
 * Denies the senders of what users reported and the analysis found malicious.
 *
 * Safe to run as often as you like: a sender that is on a list already stays as a colleague put it there, and an entry
 * stays on the service when its report grows older than the window (`retainOnDelete`).
 */
async function denySenders(): Promise<string[]> {
  const [{ reports }, { entries }] = await Promise.all([
    getPhishingReports({ minutesAgo: days * 24 * 60 }),
    getAllowDenyEntries(),
  ]);

  const senders = new Map<string, string>();
  for (const report of reports) {
    const sender = /[^\s<>"]+@[^\s<>"]+/.exec(report.sender ?? "")?.[0].toLowerCase();
    if (report.verdict === "malicious" && sender !== undefined) senders.set(sender, report.id);
  }

  const denied: string[] = [];
  for (const [sender, report] of [...senders].sort()) {
    if (ownDomains.some((domain) => sender.endsWith(`@${domain.toLowerCase()}`))) {
      await pulumi.log.warn(`${sender} claims to be one of your own; it is not denied (report ${report})`);
      continue;
    }
    const known = entries.find((entry) => entry.value.toLowerCase() === sender);
    if (known?.list === "allow") {
      await pulumi.log.warn(`${sender} is on the allow list (${known.comment}); look at report ${report}`);
      continue;
    }
    new AllowDenyEntry(
      sender,
      {
        list: "deny",
        value: sender,
        verdictScope: known?.verdictScope,
        comment: known === undefined ? `Confirmed phishing, report ${report}` : known.comment,
      },
      { retainOnDelete: true },
    );
    denied.push(sender);
  }
  return denied;
}

export const denied = denySenders();

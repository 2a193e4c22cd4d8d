import * as pulumi from "@pulumi/pulumi";
import { AllowDenyEntry, getAllowDenyEntries, getPhishingReports, parseMailbox } from "pulumi-email-security";

const config = new pulumi.Config();
const days = config.getNumber("days") ?? 30;
/** Your own domains: never deny them because of phishing that claims to come from them. Required, for safety. */
const ownDomains = config.requireObject<string[]>("ownDomains").map((domain) => domain.toLowerCase());

/**
 * Returns the canonical mailbox of a mail's sender, or undefined if it is ambiguous. The attacker controls this text: a display
 * name may contain somebody else's address.
 */
function extractMailbox(sender: string): string | undefined {
  const inBrackets = /<([^<>]*)>\s*$/.exec(sender)?.[1];
  const parsed = parseMailbox((inBrackets ?? sender).trim());
  return parsed.ok ? parsed.value : undefined;
}

function isOwn(mailbox: string): boolean {
  const domain = mailbox.slice(mailbox.lastIndexOf("@") + 1);
  return ownDomains.some((own) => domain === own || domain.endsWith(`.${own}`));
}

/**
 * Denies the senders of mail that users reported and the analysis found malicious.
 *
 * You can run it repeatedly. It doesn't change senders that are already on a list. An entry stays at the service when its report is
 * older than the window (`retainOnDelete`). It skips a sender that can't be denied, with a warning.
 */
async function denySenders(): Promise<string[]> {
  const [{ reports }, { entries }] = await Promise.all([
    getPhishingReports({ minutesAgo: days * 24 * 60 }),
    getAllowDenyEntries(),
  ]);

  const senders = new Map<string, string>();
  for (const report of reports) {
    if (report.verdict !== "malicious") continue;
    const sender = extractMailbox(report.sender ?? "");
    if (sender === undefined) {
      await pulumi.log.warn(`report ${report.id} names no sender that could be denied; look at it`);
    } else if (isOwn(sender)) {
      await pulumi.log.warn(`${sender} claims to be one of your own; it is not denied (report ${report.id})`);
    } else {
      senders.set(sender, report.id);
    }
  }

  const denied: string[] = [];
  for (const [sender, report] of [...senders].sort()) {
    const known = entries.filter((entry) => entry.value.toLowerCase() === sender);
    if (known.some((entry) => entry.list === "allow")) {
      await pulumi.log.warn(`${sender} is on the allow list; look at report ${report}`);
      continue;
    }
    // An entry of another scope doesn't deny everything, so it stays next to the new one.
    const entry = known.find((candidate) => (candidate.verdictScope ?? "global") === "global");
    const comment = entry === undefined ? `Confirmed phishing, report ${report}` : entry.comment;
    new AllowDenyEntry(
      sender,
      { list: "deny", value: sender, comment },
      { retainOnDelete: true, ignoreChanges: ["comment"] },
    );
    denied.push(sender);
  }
  return denied;
}

export const denied = denySenders();

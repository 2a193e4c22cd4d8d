import * as pulumi from "@pulumi/pulumi";
import { AllowDenyEntry, getAllowDenyEntries, getPhishingReports, parseMailbox } from "pulumi-email-security";

const config = new pulumi.Config();
const days = config.getNumber("days") ?? 30;
/** Your own domains: phishing that claims to come from them is no reason to deny them. Required, for safety. */
const ownDomains = config.requireObject<string[]>("ownDomains").map((domain) => domain.toLowerCase());

/**
 * The mailbox of a sender as a mail names it, in its canonical form; undefined where it can't be told for certain. The
 * text is the attacker's: a display name may hold somebody else's address.
 */
function mailboxOf(sender: string): string | undefined {
  const inBrackets = /<([^<>]*)>\s*$/.exec(sender)?.[1];
  const parsed = parseMailbox((inBrackets ?? sender).trim());
  return parsed.ok ? parsed.value : undefined;
}

function isOwn(mailbox: string): boolean {
  const domain = mailbox.slice(mailbox.lastIndexOf("@") + 1);
  return ownDomains.some((own) => domain === own || domain.endsWith(`.${own}`));
}

/**
 * Denies the senders of what users reported and the analysis found malicious.
 *
 * Safe to run as often as you like: a sender that is on a list already stays as a colleague put it there, and an entry
 * stays on the service when its report grows older than the window (`retainOnDelete`). A sender that can't be denied is
 * passed over with a warning.
 */
async function denySenders(): Promise<string[]> {
  const [{ reports }, { entries }] = await Promise.all([
    getPhishingReports({ minutesAgo: days * 24 * 60 }),
    getAllowDenyEntries(),
  ]);

  const senders = new Map<string, string>();
  for (const report of reports) {
    if (report.verdict !== "malicious") continue;
    const sender = mailboxOf(report.sender ?? "");
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
    // An entry of another scope does not deny everything; it stands beside.
    const entry = known.find((one) => (one.verdictScope ?? "global") === "global");
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

import * as pulumi from "@pulumi/pulumi";
import { getThreats, getTopTargetedEntities, getVipEmployees, VipEmployee } from "pulumi-email-security";

const config = new pulumi.Config();
const days = config.getNumber("days") ?? 30;
/** Mailboxes that shall not be VIPs. The service does not tell whom a colleague has excluded, so say it here too. */
const exclude = new Set(config.getObject<string[]>("exclude")?.map((mailbox) => mailbox.toLowerCase()));

/**
 * Makes the people VIPs whom most threats of the last days were aimed at.
 *
 * Safe to run as often as you like: who is a VIP already keeps the comment a colleague wrote, now and later, and who
 * falls out of the ranking stays a VIP (`onDelete: "keep"`), for deleting would exclude the mailbox for good.
 */
async function mostTargeted(): Promise<string[]> {
  const [{ entities }, { threats }, { vipEmployees }] = await Promise.all([
    getTopTargetedEntities({ days, entityType: "user" }),
    getThreats({ minutesAgo: days * 24 * 60 }),
    getVipEmployees(),
  ]);

  const mailboxes: string[] = [];
  for (const { fullName } of entities) {
    // The ranking names people; their mailbox stands in the threats they received.
    const received = threats.filter((threat) => fullName !== undefined && threat.recipientName === fullName);
    const addresses = new Set(received.map((threat) => threat.recipientEmail?.toLowerCase() ?? ""));
    addresses.delete("");
    const [email, another] = addresses;
    if (email === undefined || another !== undefined) {
      await pulumi.log.warn(
        `${fullName} has ${addresses.size} mailboxes among the threats; nobody was made a VIP for it`,
      );
      continue;
    }
    if (exclude.has(email)) continue;
    const vip = vipEmployees.find((row) => row.email?.toLowerCase() === email);
    const comment = vip === undefined ? "Among the most targeted" : vip.comment;
    new VipEmployee(email, { email, comment, onDelete: "keep" }, { ignoreChanges: ["comment"] });
    mailboxes.push(email);
  }
  return mailboxes;
}

export const mailboxes = mostTargeted();

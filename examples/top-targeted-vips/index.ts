import * as pulumi from "@pulumi/pulumi";
import { getThreats, getTopTargetedEntities, getVipEmployees, VipEmployee } from "pulumi-email-security";

const config = new pulumi.Config();
const days = config.getNumber("days") ?? 30;
/** Mailboxes that must not become VIPs. The service doesn't report exclusions, so list them here too. */
const exclude = new Set(config.getObject<string[]>("exclude")?.map((mailbox) => mailbox.toLowerCase()));

/**
 * Makes VIPs of the people who received the most threats in the last days.
 *
 * You can run it repeatedly. Existing VIPs keep the comment that a colleague wrote. A person who leaves the ranking stays a VIP
 * (`onDelete: "keep"`), because a deletion would exclude the mailbox for good.
 */
async function listMostTargeted(): Promise<string[]> {
  const [{ entities }, { threats }, { vipEmployees }] = await Promise.all([
    getTopTargetedEntities({ days, entityType: "user" }),
    getThreats({ minutesAgo: days * 24 * 60 }),
    getVipEmployees(),
  ]);

  const mailboxes: string[] = [];
  for (const { fullName } of entities) {
    // The ranking names people. The threats that they received have their mailbox.
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

export const mailboxes = listMostTargeted();

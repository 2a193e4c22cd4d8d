import * as azuread from "@pulumi/azuread";
import * as pulumi from "@pulumi/pulumi";
import { VipList } from "pulumi-email-security";

const groupName = new pulumi.Config().get("group") ?? "Executive Leadership";

const group = azuread.getGroupOutput({ displayName: groupName, includeTransitiveMembers: true });
// Nested groups are members too, but not users.
const { users } = azuread.getUsersOutput({ objectIds: group.members, ignoreMissing: true });

/** The members who have a mailbox in this organization and an enabled account, by mailbox. */
const members = users.apply((all) =>
  Object.fromEntries(
    all
      .filter(
        ({ accountEnabled, mail, userPrincipalName }) => accountEnabled && mail && !userPrincipalName.includes("#EXT#"),
      )
      .map(({ displayName, mail }) => [mail.toLowerCase(), `Member of ${groupName}: ${displayName}`]),
  ),
);

// Removing a VIP would exclude the mailbox for good, so people who leave the group stay VIPs.
new VipList("executives", { members, onDelete: "keep" });

export const mailboxes = members.apply((vips) => Object.keys(vips).sort());

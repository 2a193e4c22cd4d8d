import pulumi
import pulumi_azuread as azuread
import pulumi_email_security as email_security

group_name = pulumi.Config().get("group") or "Executive Leadership"

group = azuread.get_group_output(display_name=group_name, include_transitive_members=True)
# Nested groups are members too, but not users.
found = azuread.get_users_output(object_ids=group.members, ignore_missing=True)


def list_members(users):
    """Returns the members who have a mailbox in this organization and an enabled account, by mailbox."""
    return {
        user.mail.lower(): f"Member of {group_name}: {user.display_name}"
        for user in users
        if user.account_enabled and user.mail and "#EXT#" not in user.user_principal_name
    }


members = found.users.apply(list_members)

# Removing a VIP would exclude the mailbox for good, so people who leave the group stay VIPs.
email_security.VipList("executives", members=members, on_delete=email_security.OnDelete.KEEP)

pulumi.export("mailboxes", members.apply(sorted))

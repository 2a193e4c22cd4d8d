import type { Entry } from "ldapts";
import { type GroupPeople, parseProxyAddresses } from "./group-people";

/** The attributes of groups and people that a read needs. Servers ignore those that they don't know. */
export const PERSON_ATTRIBUTES: readonly string[] = [
  "objectClass",
  "cn",
  "displayName",
  "mail",
  "proxyAddresses",
  "member",
  "uniqueMember",
  "memberUid",
  "memberURL",
  "userAccountControl",
  "nsAccountLock",
  "pwdAccountLockedTime",
];

const GROUP_CLASSES = ["group", "groupofnames", "groupofuniquenames", "groupofmembers", "groupofurls", "posixgroup"];
const PERSON_CLASSES = ["person", "user", "inetorgperson", "organizationalperson", "account", "posixaccount"];

/** Returns the values of an attribute, whose name servers may write in another case. */
export function getValues(entry: Entry | undefined, attribute: string): string[] {
  if (entry === undefined) return [];
  const name = Object.keys(entry).find((key) => key.toLowerCase() === attribute.toLowerCase());
  const value = name === undefined ? [] : (entry[name] ?? []);
  return (Array.isArray(value) ? value : [value]).map(String).filter((text) => text !== "");
}

function hasClass(entry: Entry, classes: readonly string[]): boolean {
  return getValues(entry, "objectClass").some((name) => classes.includes(name.toLowerCase()));
}

export function isGroup(entry: Entry): boolean {
  return hasClass(entry, GROUP_CLASSES);
}

/** Returns the distinguished names of a group's members. Undefined if the group lists its members in another way. */
export function listMemberNames(group: Entry): string[] | undefined {
  if (getValues(group, "memberUid").length > 0 || getValues(group, "memberURL").length > 0) return undefined;
  // A unique member may have a bit string after its name (RFC 4517, section 3.3.21).
  const uniqueNames = getValues(group, "uniqueMember").map((name) => name.replace(/#'[01]*'B$/, ""));
  return [...getValues(group, "member"), ...uniqueNames];
}

export function addPerson(people: GroupPeople, entry: Entry, mailAttribute: string): void {
  const isContact = hasClass(entry, ["contact"]);
  if (!isContact && !hasClass(entry, PERSON_CLASSES)) {
    people.skip("not a person", entry.dn);
    return;
  }
  const [mailbox, ...furtherAddresses] = getValues(entry, mailAttribute);
  const { primary, aliases } = parseProxyAddresses(getValues(entry, "proxyAddresses"));
  people.add({
    // With another attribute, the administrator has decided which address counts.
    mailbox: mailAttribute === "mail" ? (primary ?? mailbox) : mailbox,
    aliases: [...furtherAddresses, ...aliases],
    name: getValues(entry, "displayName")[0] ?? getValues(entry, "cn")[0],
    label: entry.dn,
    isDisabled: isDisabled(entry),
    // A contact of Active Directory is an address outside the organization.
    isOutside: isContact,
  });
}

const ACCOUNT_DISABLED = 2;
/** The time with which the password policies of OpenLDAP mark an account that is locked for good. */
const LOCKED_FOR_GOOD = "000001010000Z";

function isDisabled(entry: Entry): boolean {
  const [userAccountControl = "0"] = getValues(entry, "userAccountControl");
  return (
    (Number(userAccountControl) & ACCOUNT_DISABLED) !== 0 ||
    getValues(entry, "nsAccountLock")[0]?.toLowerCase() === "true" ||
    getValues(entry, "pwdAccountLockedTime")[0] === LOCKED_FOR_GOOD
  );
}

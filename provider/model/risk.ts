import ipaddr from "ipaddr.js";
import { type AddressRange, parseAddressRange } from "./address-range";
import type { EntryType, List } from "./assumptions";
import { parseWildcard } from "./covering-values";
import { getMailDomain } from "./entry-value";
import { isFreeMail, isLargeFreeMail } from "./free-mail";
import { isPublicSuffix, NO_OWN_DOMAINS, type OwnDomains } from "./own-domains";
import { quote } from "./text";

/** A description of one kind of risky entry, for people and for tools. */
export interface RiskKind {
  readonly title: string;
  /** A sentence that explains why the entry is rejected. */
  readonly explanation: string;
}

/** Every kind of risky entry, by its code. A released code never changes its meaning. */
export const RISKS = {
  "allow-public-suffix": {
    title: "allows a public suffix",
    explanation: "Anyone can register a domain under it, so an allow lets everyone's mail through.",
  },
  "allow-free-mail": {
    title: "allows a whole free-mail domain",
    explanation:
      "Anyone can create a mailbox there, so an allow lets everyone's mail through. Allow the single mailbox instead.",
  },
  "allow-private-address": {
    title: "allows a private or special address",
    explanation:
      "It doesn't identify a single sender on the internet. Many senders can have or forge a private, local, shared or reserved address.",
  },
  "allow-own-domain": {
    title: "allows your own domain",
    explanation:
      "External mail that claims to come from you is the most common type of fraud, and an allow lets it through unchecked.",
  },
  "allow-look-alike": {
    title: "allows a look-alike of your own domain",
    explanation: "Fraud against you often comes from a domain that looks like yours.",
  },
  "deny-own-domain": {
    title: "denies your own domain",
    explanation: "It blocks mail from your own people. Fraud in your name isn't a reason to deny your own domain.",
  },
  "deny-free-mail": {
    title: "denies a whole free-mail domain",
    explanation:
      "Millions of people write from there, including applicants and customers. Deny the single mailbox instead.",
  },
} as const satisfies Record<string, RiskKind>;

/** The code of a kind of risky entry. */
export type RiskCode = keyof typeof RISKS;

/** One risk of an entry. */
export interface Risk {
  readonly code: RiskCode;
  /** The own domain that the risk concerns. */
  readonly ownDomain?: string;
}

/** The properties of an entry that determine its risks. */
export interface RiskSubject {
  readonly list: List;
  /** In canonical form. */
  readonly value: string;
  readonly entryType: EntryType;
}

/**
 * Lists the risks of an entry: it could allow or block mail that nobody intended. This is a pure function. Without own domains, it skips
 * the checks that depend on them. Only a service can hold ranges and wildcards; their risks are those of everything that they cover.
 */
export function findEntryRisks(
  { list, value, entryType }: RiskSubject,
  ownDomains: OwnDomains = NO_OWN_DOMAINS,
): Risk[] {
  if (entryType === "ip") {
    return list === "allow" && !isSingleSender(value) ? [{ code: "allow-private-address" }] : [];
  }
  const risks: Risk[] = [];
  const wildcard = parseWildcard(value);
  const domain = wildcard?.domain ?? getMailDomain(value);
  const isWholeDomain = entryType === "domain" || wildcard !== undefined;
  if (list === "allow" && wildcard?.domain === "") return [{ code: "allow-public-suffix" }];
  if (list === "allow" && isWholeDomain && isPublicSuffix(domain)) risks.push({ code: "allow-public-suffix" });
  if (list === "allow" && isWholeDomain && isFreeMail(domain)) risks.push({ code: "allow-free-mail" });
  if (list === "deny" && isWholeDomain && isLargeFreeMail(domain)) risks.push({ code: "deny-free-mail" });
  const ownDomain =
    ownDomains.findOwnDomain(domain) ?? (isWholeDomain ? ownDomains.findOwnSubdomain(domain) : undefined);
  if (ownDomain !== undefined) return [...risks, { code: `${list}-own-domain`, ownDomain }];
  const imitatedDomain = list === "allow" ? ownDomains.findLookAlike(domain) : undefined;
  return imitatedDomain === undefined ? risks : [...risks, { code: "allow-look-alike", ownDomain: imitatedDomain }];
}

/** Returns why an entry is rejected until a person accepts its risk. Undefined if it has no risk. */
export function describeRisks(entry: RiskSubject, ownDomains: OwnDomains = NO_OWN_DOMAINS): string | undefined {
  const risks = findEntryRisks(entry, ownDomains);
  if (risks.length === 0) return undefined;
  const reasons = risks.map(({ code, ownDomain }) => {
    const domainText = ownDomain === undefined || ownDomain === entry.value ? "" : `, ${ownDomain}`;
    return `(${code}${domainText}): ${RISKS[code].explanation}`;
  });
  return `is ${quote(entry.value)}, which is refused ${reasons.join(" And ")} If it is intended, give the reason with the entry: acceptRisk: "…"`;
}

/** Returns whether an address can belong to a single sender on the public internet. */
export function isSingleSender(value: string): boolean {
  const range = parseAddressRange(value);
  if (range !== undefined) return !SPECIAL_RANGES.some((special) => isOverlappingRange(range, special));
  if (!ipaddr.isValid(value)) return true;
  // Converts an IPv4-mapped IPv6 address to IPv4.
  const address = ipaddr.process(value);
  const isInRange = ([network, bits]: CidrRange): boolean =>
    address.kind() === network.kind() && address.match(network, bits);
  const isGlobal = address.range() === "unicast" && (address.kind() === "ipv4" || isInRange(GLOBAL_UNICAST));
  return isGlobal || DOCUMENTATION.some(isInRange);
}

/** The private and special address ranges, including the unallocated parts of IPv6. */
const SPECIAL_RANGES = [
  "0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 192.168.0.0/16 198.18.0.0/15",
  "224.0.0.0/3 ::/3 2001::/32 2002::/16 4000::/2 8000::/1",
]
  .flatMap((line) => line.split(" ").map(parseAddressRange))
  .filter((range) => range !== undefined);

function isOverlappingRange(a: AddressRange, b: AddressRange): boolean {
  return a.width === b.width && a.first <= b.last && b.first <= a.last;
}

type CidrRange = ReturnType<typeof ipaddr.parseCIDR>;

/** The allocated part of IPv6. */
const GLOBAL_UNICAST = ipaddr.parseCIDR("2000::/3");

/** The documentation ranges (RFC 5737, RFC 3849). They appear only in examples, so they are harmless. */
const DOCUMENTATION = ["192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24", "2001:db8::/32"].map((range) =>
  ipaddr.parseCIDR(range),
);

import { OwnDomains } from "../../settings/own-domains";
import { describeRisks, RISKS, type RiskCode, type RiskSubject } from "../../settings/risk";
import type { Explanation } from "./explanation";

/** Details that extend the general description of a risk. */
interface RiskDetails {
  /** A sample entry with this risk, for a tenant with the own domain acme.example. */
  readonly sample: RiskSubject;
  readonly causes: readonly string[];
  readonly alternative: string;
}

const EXAMPLE_OWN_DOMAINS = new OwnDomains(["acme.example"]);

const RISK_DETAILS: Readonly<Record<RiskCode, RiskDetails>> = {
  "allow-public-suffix": {
    sample: { list: "allow", value: "co.uk", entryType: "domain" },
    causes: ["a domain that was cut off in front", "a host of many customers, such as github.io, taken for a sender"],
    alternative: "Allow the sender's own domain, below it.",
  },
  "allow-free-mail": {
    sample: { list: "allow", value: "gmail.com", entryType: "domain" },
    causes: ["one person's mailbox there was meant"],
    alternative: "Allow the one mailbox.",
  },
  "allow-private-address": {
    sample: { list: "allow", value: "10.0.0.7", entryType: "ip" },
    causes: ["the inner address of a mail server, from a header, in the place of its outer one"],
    alternative: "Allow the address by which its mail comes in from the internet.",
  },
  "allow-own-domain": {
    sample: { list: "allow", value: "acme.example", entryType: "domain" },
    causes: ["a newsletter or a tool that sends in your name"],
    alternative: "Have that sender authenticated by SPF and DKIM, or allow the address that it sends from.",
  },
  "allow-look-alike": {
    sample: { list: "allow", value: "acrne.example", entryType: "domain" },
    causes: ["a domain of fraud that somebody reported as blocked", "a domain of your own that is not in `ownDomains`"],
    alternative: "Where it is yours, add it to `ownDomains`.",
  },
  "deny-own-domain": {
    sample: { list: "deny", value: "acme.example", entryType: "domain" },
    causes: ["fraud that claims to come from you"],
    alternative: "Leave it out: what forges your domain fails SPF and DKIM, which is for the service's own checks.",
  },
  "deny-free-mail": {
    sample: { list: "deny", value: "gmail.com", entryType: "domain" },
    causes: ["one sender of phishing there was meant"],
    alternative: "Deny the one mailbox.",
  },
};

export const RISK_CODES = Object.keys(RISK_DETAILS) as RiskCode[];

/** Builds the explanation of a risk code from the check that refuses such entries. */
export function buildRiskExplanation(code: RiskCode): Explanation {
  const { title, why } = RISKS[code];
  const { sample, causes, alternative } = RISK_DETAILS[code];
  return {
    means: `An entry ${title}. ${why}`,
    example: `value ${describeRisks(sample, EXAMPLE_OWN_DOMAINS)}`,
    causes,
    remedies: [alternative, "Where it is meant, say why with the entry: `acceptRisk`, in words for who reviews it."],
    next: "email-security lint",
  };
}

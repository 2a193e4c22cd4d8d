import { OwnDomains } from "../../model/own-domains";
import { describeRisks, RISKS, type RiskCode, type RiskSubject } from "../../model/risk";
import type { Explanation } from "./explanation";

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
    causes: [
      "a domain that lost its first part",
      "a shared hosting domain, such as github.io, that was mistaken for a sender",
    ],
    alternative: "Allow the sender's own domain below it.",
  },
  "allow-free-mail": {
    sample: { list: "allow", value: "gmail.com", entryType: "domain" },
    causes: ["only one person's mailbox at this domain was intended"],
    alternative: "Allow only that mailbox.",
  },
  "allow-private-address": {
    sample: { list: "allow", value: "10.0.0.7", entryType: "ip" },
    causes: ["the internal address of a mail server, from a header, instead of its external address"],
    alternative: "Allow the address from which its mail arrives from the internet.",
  },
  "allow-own-domain": {
    sample: { list: "allow", value: "acme.example", entryType: "domain" },
    causes: ["a newsletter or a tool that sends in your name"],
    alternative: "Have that sender authenticate with SPF and DKIM, or allow the address that it sends from.",
  },
  "allow-look-alike": {
    sample: { list: "allow", value: "acrne.example", entryType: "domain" },
    causes: [
      "a fraudulent domain whose mail somebody reported as wrongly blocked",
      "a domain of yours that is missing from `ownDomains`",
    ],
    alternative:
      "If it is yours, add it to `ownDomains`, and remove the allow: an allow of your own domain is a risk too.",
  },
  "deny-own-domain": {
    sample: { list: "deny", value: "acme.example", entryType: "domain" },
    causes: ["fraud that claims to come from you"],
    alternative: "Remove it: mail that forges your domain fails SPF and DKIM, which the service's own checks handle.",
  },
  "deny-free-mail": {
    sample: { list: "deny", value: "gmail.com", entryType: "domain" },
    causes: ["only one phishing sender at this domain was intended"],
    alternative: "Deny only that mailbox.",
  },
};

export const RISK_CODES = Object.keys(RISK_DETAILS) as RiskCode[];

/** Builds the explanation of a risk code from the check that refuses such entries. */
export function buildRiskExplanation(code: RiskCode): Explanation {
  const { title, explanation } = RISKS[code];
  const { sample, causes, alternative } = RISK_DETAILS[code];
  return {
    meaning: `An entry ${title}. ${explanation}`,
    example: `value ${describeRisks(sample, EXAMPLE_OWN_DOMAINS)}`,
    causes,
    remedies: [
      alternative,
      "If it is intended, give the reason in the entry: `acceptRisk`, in words that a reviewer understands.",
    ],
    nextCommand: "email-security lint",
  };
}

import type { SenderStyle } from "./mail-kinds";
import type { Random } from "./random";

export interface GeneratedSender {
  email: string;
  name: string;
  domain: string;
  /** When the domain was registered, in milliseconds. */
  registeredAt: number;
}

/**
 * The senders that write to one company. Their domains are those that RFC 2606 reserves. A domain always has the same
 * registration date.
 */
export interface SenderGenerator {
  /** Returns a sender of that style whose domain is already registered at that time. */
  generateForStyle(style: SenderStyle, at: number, leader: string): GeneratedSender;
  generateForEntry(value: string): GeneratedSender;
}

const DAY = 86_400_000;

const firstNames = ["Anna", "Carlos", "Emma", "Farid", "Julia", "Kenji", "Laura", "Milan", "Nadia", "Peter"];
const lastNames = ["Berg", "Costa", "Fischer", "Ivanov", "Jensen", "Keller", "Lopez", "Moore", "Rossi", "Singh"];
const roles = ["billing", "helpdesk", "it-support", "no-reply", "notifications", "security", "service"];
const freeMailDomains = ["mail.example", "webmail.example", "freemail.test", "inbox.example.net"];
const strangerDomains = [
  "shipping-notice.test",
  "order-desk.example",
  "growth-leads.example.com",
  "cheap-domains.test",
  "bulk.example.org",
  "docs-share.example.net",
  "supplier-portal.test",
  "xn--mller-kva.example",
];
const newsletterDomains = ["news.example.com", "offers.example.org", "digest.example", "training.example.net"];

export function createSenderGenerator(random: Random, companyDomain: string, now: number): SenderGenerator {
  const registrations = new Map<string, number>();
  const getRegistration = (domain: string, oldestDays: number, youngestDays: number) => {
    const existing = registrations.get(domain);
    if (existing !== undefined) return existing;
    const date = Math.floor(now / DAY) * DAY - random.integer(youngestDays, oldestDays) * DAY;
    registrations.set(domain, date);
    return date;
  };
  // Half of the look-alikes are registered during the half year, the others before it.
  const lookAlikes = listLookAlikes(companyDomain);
  lookAlikes.forEach((domain, index) => {
    if (index % 2 === 0) getRegistration(domain, 420, 200);
    else getRegistration(domain, 180, 5);
  });
  for (const domain of [...freeMailDomains, ...strangerDomains, ...newsletterDomains])
    getRegistration(domain, 5_000, 250);

  const createPersonName = () => `${random.pick(firstNames)} ${random.pick(lastNames)}`;
  const createSender = (local: string, name: string, domain: string): GeneratedSender => ({
    email: `${local}@${domain}`,
    name,
    domain,
    registeredAt: getRegistration(domain, 900, 250),
  });
  const toLocalPart = (name: string) =>
    name
      .normalize("NFD")
      .replace(/[^A-Za-z ]/g, "")
      .toLowerCase()
      .replace(/ +/g, ".");

  return {
    generateForStyle(style, at, leader) {
      switch (style) {
        case "look-alike": {
          const role = random.pick(roles);
          const domains = lookAlikes.filter((domain) => getRegistration(domain, 0, 0) < at);
          return createSender(role, toTitleCase(role), random.pick(domains));
        }
        case "impersonation":
          return createSender(
            `${toLocalPart(leader)}.${random.pick(["office", "private", "ceo", "mobile"])}`,
            leader,
            random.pick(freeMailDomains),
          );
        case "stranger": {
          const name = createPersonName();
          return createSender(toLocalPart(name), name, random.pick(strangerDomains));
        }
        case "bulk":
          return createSender(
            "news",
            toTitleCase(random.pick(["weekly", "daily", "news"])),
            random.pick(newsletterDomains),
          );
      }
    },
    generateForEntry(value) {
      const separator = value.lastIndexOf("@");
      const local = separator < 0 ? random.pick(roles) : value.slice(0, separator);
      return createSender(local, toTitleCase(local), value.slice(separator + 1));
    },
  };
}

function listLookAlikes(companyDomain: string): string[] {
  const label = companyDomain.split(".")[0] ?? companyDomain;
  const confusable = label.replace("m", "rn").replace("l", "1").replace("o", "0");
  const names = [
    `${label}-login.example`,
    `${label}-sso.test`,
    `${label}-payroll.test`,
    `${label}-hr.example`,
    `my-${label}.example.com`,
    `${label}.example.net`,
    `${label}-documents.example.org`,
    `${confusable}.example`,
    `${label}.test`,
    `secure-${label}.test`,
  ];
  return names.filter((name) => name !== companyDomain);
}

function toTitleCase(local: string): string {
  return local
    .split(/[-._]/)
    .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
    .join(" ");
}

import type { Scenario } from "../../../provider/sandbox";

/* The small world of programs and a colleague: few values, so that they collide often, each with several spellings. */

export const LISTS = ["allow", "deny"] as const;
export type EntryListName = (typeof LISTS)[number];

export const SCOPES = ["global", "graymail"] as const;
export type Scope = (typeof SCOPES)[number];

/** The spellings of a value, the canonical form first. */
type Spellings = readonly [string, ...string[]];

export const VALUES: readonly Spellings[] = [
  ["evil.example", "EVIL.example."],
  ["xn--bcher-kva.example", "bücher.example", "BÜCHER.Example"],
  ["mail.evil.example", "Mail.Evil.Example"],
  ["partner.example"],
  ["news.example", "news.EXAMPLE"],
  ["192.0.2.7"],
  ["2001:db8::1", "2001:DB8:0:0:0:0:0:1"],
  ["joe@evil.example", "Joe@EVIL.example"],
  ["ann@xn--bcher-kva.example", "ann@bücher.example"],
  ["sue@partner.example"],
];

/** The first mailbox is an auto-detected VIP; the last one doesn't belong to the organization. */
export const MAILBOXES: readonly Spellings[] = [
  ["ceo@acme.example", "CEO@acme.example"],
  ["lena@acme.example", "Lena@Acme.Example"],
  ["omar@acme.example"],
  ["cfo@acme.example"],
  ["stranger@elsewhere.example"],
];

export const EXTERNAL_MAILBOX = "stranger@elsewhere.example";

/** Returns the canonical form of a value of this world. */
export function canonicalize(written: string): string {
  const value = BY_SPELLING.get(written) ?? BY_SPELLING.get(written.toLowerCase());
  if (value === undefined) throw new Error(`${written} is not of this world`);
  return value;
}

const BY_SPELLING = new Map(
  [...VALUES, ...MAILBOXES].flatMap((spellings) => spellings.map((spelling) => [spelling, spellings[0]] as const)),
);

/** Returns one spelling of a value. */
export function selectSpelling(spellings: Spellings, way: number): string {
  return spellings[way % spellings.length] ?? spellings[0];
}

export function getEntryType(value: string): string {
  if (value.includes("@")) return "email_address";
  return /^[\d.]+$|:/.test(value) ? "ip" : "domain";
}

/** Creates identical companies, one for each sequence. */
export function createScenario(companies: number): Scenario {
  return {
    name: "model",
    tenants: Array.from({ length: companies }, (_, index) => ({
      name: `company-${index}`,
      keyLabels: { ci: "ci", console: "console" },
      detectedAt: "2026-01-05T06:00:00.000Z",
      employees: [
        ...MAILBOXES.slice(0, -1).map(([email]) => ({
          email,
          fullName: email,
          jobTitle: email.startsWith("c") ? "Chief Officer" : "Clerk",
          department: "All",
        })),
        { email: null, fullName: "Board member", jobTitle: "Board Member", department: "Board of Directors" },
      ],
      manualVips: [],
      exclusions: [],
      entries: [],
      threats: 0,
    })),
  };
}

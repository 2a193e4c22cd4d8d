import type { Scenario, ScenarioEmployee, ScenarioTenant } from "./scenario";

const DANA = "Dana Reyes (console)";
const TOMAS = "Tomas Lindqvist (console)";
const IMANI = "Imani Okafor (console)";

const acmeCorp: ScenarioTenant = {
  name: "acme",
  keyLabels: { ci: "Pulumi (ci)", console: DANA },
  detectedAt: "2025-01-13T06:00:00.000Z",
  employees: [
    ...buildDepartment("Board of Directors", [
      ["eleanor.voss@acme.example", "Eleanor Voss", "Chair of the Board"],
      [null, "Hiroshi Tanabe", "Board Member"],
      [null, "Margaret Oyelaran", "Board Member"],
    ]),
    ...buildDepartment("Executive Office", [
      ["ruth.castellan@acme.example", "Ruth Castellan", "Chief Executive Officer"],
      ["henrik.dahl@acme.example", "Henrik Dahl", "Chief Operating Officer"],
      ["noor.haddad@acme.example", "Noor Haddad", "Chief of Staff"],
      ["philippa.grant@acme.example", "Philippa Grant", "Executive Assistant to the CEO"],
      ["office@acme.example", "Executive Office", "Shared Mailbox"],
    ]),
    ...buildDepartment("Finance", [
      ["samuel.okoro@acme.example", "Samuel Okoro", "Chief Financial Officer"],
      ["lena.hartmann@acme.example", "Lena Hartmann", "Head of Treasury"],
      ["marcus.bell@acme.example", "Marcus Bell", "Accounts Payable Lead"],
      ["yuki.sato@acme.example", "Yuki Sato", "Payroll Specialist"],
      ["invoices@acme.example", "Invoices", "Shared Mailbox"],
      ["greta.nilsen@acme.example", "Greta Nilsen", "Controller"],
    ]),
    ...buildDepartment("Engineering", [
      ["priya.raman@acme.example", "Priya Raman", "Chief Technology Officer"],
      ["jonas.weber@acme.example", "Jonas Weber", "Vice President of Engineering"],
      ["alice.moreau@acme.example", "Alice Moreau", "Staff Engineer"],
      ["diego.santos@acme.example", "Diego Santos", "Release Engineer"],
      ["mei.chen@acme.example", "Mei Chen", "Site Reliability Engineer"],
      ["oskar.kowalski@acme.example", "Oskar Kowalski", "Domain Administrator"],
      ["fatima.zahra@acme.example", "Fatima Zahra", "Engineering Manager"],
    ]),
    ...buildDepartment("Security", [
      ["victor.almeida@acme.example", "Victor Almeida", "CISO"],
      ["dana.reyes@acme.example", "Dana Reyes", "Email Security Engineer"],
      ["tomas.lindqvist@acme.example", "Tomas Lindqvist", "Security Analyst"],
      ["soc@acme.example", "Security Operations", "Shared Mailbox"],
    ]),
    ...buildDepartment("Legal", [
      ["catherine.blake@acme.example", "Catherine Blake", "General Counsel"],
      ["rafael.ortiz@acme.example", "Rafael Ortiz", "Mergers and Acquisitions Counsel"],
      ["hannah.kim@acme.example", "Hannah Kim", "Paralegal"],
    ]),
    ...buildDepartment("People", [
      ["amara.diallo@acme.example", "Amara Diallo", "Chief People Officer"],
      ["stefan.novak@acme.example", "Stefan Novak", "Recruiter"],
      ["jobs@acme.example", "Jobs", "Shared Mailbox"],
    ]),
    ...buildDepartment("Sales", [
      ["walter.finch@acme.example", "Walter Finch", "President, Americas"],
      ["chloe.dubois@acme.example", "Chloé Dubois", "Key Account Manager"],
      ["ben.adeyemi@acme.example", "Ben Adeyemi", "Sales Engineer"],
      ["ingrid.solberg@acme.example", "Ingrid Solberg", "Partner Manager"],
    ]),
    ...buildDepartment("Marketing", [
      ["olivia.park@acme.example", "Olivia Park", "Chief Marketing Officer"],
      ["leo.marchetti@acme.example", "Leo Marchetti", "Events Manager"],
      ["press@acme.example", "Press", "Shared Mailbox"],
    ]),
    ...buildDepartment("Facilities", [
      ["george.mills@acme.example", "George Mills", "Facilities Manager"],
      ["reception@acme.example", "Reception", "Shared Mailbox"],
    ]),
  ],
  manualVips: [
    {
      email: "philippa.grant@acme.example",
      comment: "Manages the CEO's calendar; impersonated twice in January",
      addedBy: DANA,
      dateAdded: "2025-02-03T09:12:41.000Z",
    },
    {
      email: "marcus.bell@acme.example",
      comment: "Approves supplier bank changes",
      addedBy: DANA,
      dateAdded: "2025-02-03T09:15:02.000Z",
    },
    {
      email: "yuki.sato@acme.example",
      comment: "Payroll diversion attempts, see the March review",
      addedBy: TOMAS,
      dateAdded: "2025-03-18T14:40:10.000Z",
    },
    {
      email: "rafael.ortiz@acme.example",
      comment: "Holds deal documents until the merger closes",
      addedBy: DANA,
      dateAdded: "2025-06-11T08:05:33.000Z",
    },
    {
      email: "oskar.kowalski@acme.example",
      comment: "Domain administrator",
      addedBy: TOMAS,
      dateAdded: "2025-09-02T16:22:57.000Z",
    },
  ],
  exclusions: [
    // Matches the rule for presidents, but covers only one region and asked to be excluded.
    { email: "walter.finch@acme.example", excludedBy: DANA, excludedAt: "2025-02-20T11:30:00.000Z" },
  ],
  entries: [
    {
      list: "allow",
      entryType: "domain",
      value: "payroll-partner.example",
      comment: "Payroll provider, contract 2025-014",
      createdBy: DANA,
      createdAt: "2025-01-20T10:02:11.000Z",
    },
    {
      list: "deny",
      entryType: "domain",
      value: "acme-invoices.test",
      comment: "Lookalike of our invoices address, CEO fraud in January",
      createdBy: DANA,
      createdAt: "2025-01-27T07:48:30.000Z",
    },
    {
      list: "deny",
      entryType: "email_address",
      value: "ruth.castellan.ceo@mail.example",
      comment: "Impersonates Ruth from a free mailbox",
      createdBy: DANA,
      createdAt: "2025-01-27T07:51:04.000Z",
    },
    {
      list: "allow",
      entryType: "ip",
      value: "198.51.100.24",
      comment: "Office printer's scan-to-mail relay",
      createdBy: TOMAS,
      createdAt: "2025-02-14T13:20:45.000Z",
    },
    {
      list: "allow",
      entryType: "email_address",
      value: "newsletter@trade-press.example",
      verdictScope: "graymail",
      comment: "Sales reads it; keep it in the inbox",
      createdBy: TOMAS,
      createdAt: "2025-03-06T15:11:19.000Z",
    },
    {
      list: "deny",
      entryType: "ip",
      value: "203.0.113.77",
      comment: "Credential phishing wave of 17 March",
      createdBy: TOMAS,
      createdAt: "2025-03-17T18:36:52.000Z",
    },
    {
      list: "deny",
      entryType: "domain",
      value: "xn--cme-dla.example",
      comment: "ácme.example: homograph of our domain",
      createdBy: DANA,
      createdAt: "2025-04-02T08:14:26.000Z",
    },
    {
      list: "deny",
      entryType: "domain",
      value: "parcel-tracking.test",
      comment: "Parcel scam, reported by reception",
      createdBy: TOMAS,
      createdAt: "2025-05-21T12:00:37.000Z",
    },
    {
      list: "allow",
      entryType: "domain",
      value: "auditors.example.org",
      comment: "Annual audit, remove after the closing",
      createdBy: DANA,
      createdAt: "2025-08-04T09:27:00.000Z",
    },
    {
      list: "deny",
      entryType: "ip",
      value: "2001:db8:bad::25",
      comment: "Sends backscatter, the hoster doesn't answer",
      createdBy: TOMAS,
      createdAt: "2025-09-15T17:44:08.000Z",
    },
    {
      list: "deny",
      entryType: "domain",
      value: "weekly-deals.example",
      verdictScope: "graymail",
      comment: "Unsubscribing doesn't help",
      createdBy: TOMAS,
      createdAt: "2025-10-09T06:31:55.000Z",
    },
    {
      list: "allow",
      entryType: "email_address",
      value: "alerts@monitoring.example.com",
      comment: "On-call alerts must never be delayed",
      createdBy: DANA,
      createdAt: "2025-10-28T20:03:12.000Z",
    },
  ],
};

const globex: ScenarioTenant = {
  name: "globex",
  keyLabels: { ci: "Pulumi (ci)", console: IMANI },
  detectedAt: "2025-03-03T06:00:00.000Z",
  employees: [
    ...buildDepartment("Management", [
      ["arthur.penn@globex.example", "Arthur Penn", "Managing Director"],
      ["sofia.lund@globex.example", "Sofia Lund", "CFO"],
      ["karim.nasser@globex.example", "Karim Nasser", "Assistant to the Managing Director"],
    ]),
    ...buildDepartment("Operations", [
      ["imani.okafor@globex.example", "Imani Okafor", "IT Manager"],
      ["pavel.dvorak@globex.example", "Pavel Dvořák", "Warehouse Manager"],
      ["orders@globex.example", "Orders", "Shared Mailbox"],
    ]),
    ...buildDepartment("Research", [
      ["wei.zhang@globex.example", "Wei Zhang", "Chief Scientist"],
      ["nora.quinn@globex.example", "Nora Quinn", "Research Associate"],
    ]),
  ],
  manualVips: [
    {
      email: "karim.nasser@globex.example",
      comment: "Reads the managing director's mail",
      addedBy: IMANI,
      dateAdded: "2025-03-10T10:10:10.000Z",
    },
  ],
  exclusions: [],
  entries: [
    {
      list: "allow",
      entryType: "domain",
      value: "freight.example.com",
      comment: "Forwarder's delivery notes",
      createdBy: IMANI,
      createdAt: "2025-03-11T09:00:00.000Z",
    },
    {
      list: "deny",
      entryType: "email_address",
      value: "arthur.penn@globex-group.test",
      comment: "Fake managing director",
      createdBy: IMANI,
      createdAt: "2025-07-01T13:45:30.000Z",
    },
  ],
};

/** A company of about forty mailboxes and a smaller one, a few months after both started to use the service. */
export const acme: Scenario = { name: "acme", tenants: [acmeCorp, globex] };

function buildDepartment(
  name: string,
  people: [email: string | null, fullName: string, jobTitle: string][],
): ScenarioEmployee[] {
  return people.map(([email, fullName, jobTitle]) => ({ email, fullName, jobTitle, department: name }));
}

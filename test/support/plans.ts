import fc from "fast-check";
import type {
  Backtest,
  BacktestAllow,
  Evidence,
  EvidenceSummary,
  ExpiredItem,
  Plan,
  PlanChange,
  UnmanagedItem,
} from "../../provider/plan/plan";
import type { Finding } from "../../provider/settings-files/finding";
import { HOSTILE, HOSTILE_ID, hostileText } from "./hostile-text";
import { buildNamedCounts } from "./named-counts";

const FILE = "settings/acme.yaml";
const BASELINE = "baseline/security.yaml";

const evidenceSummary: EvidenceSummary = {
  days: 30,
  threats: 412,
  reports: 38,
  from: "2026-10-22T00:00:00Z",
  until: "2026-11-21T09:30:00Z",
  complete: true,
  missing: [],
};

/** Evidence without any mail in the window. */
const harmlessEvidence: Evidence = {
  applies: true,
  threats: 0,
  verdicts: [],
  actions: [],
  recipients: [],
  recipientCount: 0,
  vipCount: 0,
  reports: 0,
  reportVerdicts: [],
  senders: [],
  senderCount: 0,
};

/** The plan of a tenant that is in sync. */
export const emptyPlan: Plan = {
  format: 1,
  createdAt: "2026-11-21T09:30:00Z",
  tenant: { host: "mail-security.example", name: "acme" },
  source: { kind: "files", files: [FILE, BASELINE], stack: "acme" },
  digest: "sha256:6b1f0c1f7f1d7e4b1a0f5d5c4b3a29180706f5e4d3c2b1a09f8e7d6c5b4a3928",
  changes: [],
  blockers: [],
  unmanaged: [],
  expired: [],
  findings: [],
  counts: { added: 0, changed: 0, removed: 0, unchanged: 212, unmanaged: 0 },
  evidence: evidenceSummary,
};

const freeMail: Finding = {
  code: "allow-look-alike",
  level: "error",
  message:
    '"supplier-portal.test" is refused as an allow: it was registered 12 days ago. Allow the one mailbox that writes to you, or say why it is meant in acceptRisk.',
  place: { file: FILE, line: 14, column: 12, endLine: 14, endColumn: 32 },
  subject: { kind: "entry", key: "supplier-portal.test" },
};

const noExpiry: Finding = {
  code: "policy-expiry",
  level: "warning",
  message: "news.example.com does not say when it ends. Write a day, or `expires: never`.",
  place: { file: FILE, line: 22, column: 5 },
  subject: { kind: "entry", key: "news.example.com" },
};

const unused: Finding = {
  code: "shadowed",
  level: "note",
  message: "mail.bulk.example.org does nothing: bulk.example.org covers it.",
  place: { file: BASELINE, line: 40, column: 5 },
  subject: { kind: "entry", key: "mail.bulk.example.org" },
};

const dangerousAllow: PlanChange = {
  kind: "entry",
  key: "supplier-portal.test",
  value: "supplier-portal.test",
  entryType: "domain",
  verdictScope: "global",
  operation: "add",
  after: { list: "allow", comment: "Supplier invoices are held back, see the ticket" },
  ticket: "CHG-2210",
  owner: "Marcus Bell",
  approvedBy: "Samuel Okoro",
  expires: "2027-03-31",
  place: { file: FILE, line: 14, column: 12, endLine: 14, endColumn: 32 },
  findings: [freeMail],
  evidence: {
    applies: true,
    threats: 37,
    verdicts: buildNamedCounts({ malicious: 35, spam: 2 }),
    actions: buildNamedCounts({ quarantined: 29, none: 6, moved_to_spam: 2 }),
    lastThreatAt: "2026-11-19T16:42:10Z",
    recipients: [
      { email: "samuel.okoro@acme.example", isVip: true, count: 14 },
      { email: "lena.hartmann@acme.example", isVip: true, count: 9 },
      { email: "invoices@acme.example", isVip: false, count: 12 },
      { email: "marcus.bell@acme.example", isVip: false, count: 2 },
    ],
    recipientCount: 4,
    vipCount: 2,
    reports: 3,
    reportVerdicts: buildNamedCounts({ malicious: 2, safe: 1 }),
    lastReportAt: "2026-11-18T08:00:00Z",
    senders: buildNamedCounts({ "billing@supplier-portal.test": 30, "no-reply@supplier-portal.test": 7 }),
    senderCount: 2,
  },
  severity: "danger",
};

const dangerousBacktest: BacktestAllow = {
  key: "supplier-portal.test",
  deliveredCount: 31,
  verdicts: buildNamedCounts({ malicious: 29, spam: 2 }),
  recipients: [
    { email: "samuel.okoro@acme.example", isVip: true, count: 12 },
    { email: "lena.hartmann@acme.example", isVip: true, count: 8 },
    { email: "invoices@acme.example", isVip: false, count: 10 },
    { email: "marcus.bell@acme.example", isVip: false, count: 1 },
  ],
  recipientCount: 4,
  vipCount: 2,
  examples: [
    {
      id: "5f0c8a1e",
      time: "2026-11-19T16:42:10Z",
      sender: "billing@supplier-portal.test",
      recipient: "samuel.okoro@acme.example",
      subject: "Overdue: new bank details for invoice 20917",
      verdict: "malicious",
    },
    {
      id: "5f0c8a22",
      time: "2026-11-17T07:05:44Z",
      sender: "billing@supplier-portal.test",
      recipient: "lena.hartmann@acme.example",
      subject: "Payment advice — please confirm today",
      verdict: "malicious",
    },
    { id: "5f0c8b07", sender: "no-reply@supplier-portal.test", verdict: "spam" },
  ],
};

const warned: PlanChange = {
  kind: "entry",
  key: "news.example.com (graymail)",
  value: "news.example.com",
  entryType: "domain",
  verdictScope: "graymail",
  operation: "change",
  before: {
    list: "deny",
    comment: "Too many",
    createdBy: "tomas.lindqvist@acme.example",
    createdAt: "2024-03-02T10:00:00Z",
  },
  after: { list: "allow", comment: "Marketing reads it" },
  owner: "Olivia Park",
  place: { file: FILE, line: 22, column: 5 },
  overrides: [{ file: BASELINE, line: 31, column: 5 }],
  findings: [noExpiry],
  evidence: {
    ...harmlessEvidence,
    threats: 12,
    verdicts: buildNamedCounts({ graymail: 12 }),
    actions: buildNamedCounts({ moved_to_graymail: 12 }),
    lastThreatAt: "2026-11-20T06:00:00Z",
    recipients: [{ email: "olivia.park@acme.example", isVip: false, count: 12 }],
    recipientCount: 1,
    senders: buildNamedCounts({ "hello@news.example.com": 12 }),
    senderCount: 1,
  },
  severity: "warning",
};

const calmChanges: readonly PlanChange[] = [
  {
    kind: "entry",
    key: "acme-login.example",
    value: "acme-login.example",
    entryType: "domain",
    verdictScope: "global",
    operation: "add",
    after: { list: "deny", comment: "INC-1042: look-alike of the login page" },
    ticket: "INC-1042",
    owner: "Dana Reyes",
    expires: "never",
    place: { file: FILE, line: 31, column: 5 },
    findings: [],
    evidence: {
      ...harmlessEvidence,
      threats: 9,
      verdicts: buildNamedCounts({ malicious: 9 }),
      actions: buildNamedCounts({ quarantined: 5, none: 4 }),
      lastThreatAt: "2026-11-12T11:12:13Z",
      recipients: [
        { email: "ruth.castellan@acme.example", isVip: true, count: 3 },
        { email: "mei.chen@acme.example", isVip: false, count: 6 },
      ],
      recipientCount: 2,
      vipCount: 1,
      senders: buildNamedCounts({ "it-support@acme-login.example": 9 }),
      senderCount: 1,
    },
    severity: "none",
  },
  {
    kind: "entry",
    key: "192.0.2.7",
    value: "192.0.2.7",
    entryType: "ip",
    verdictScope: "global",
    operation: "add",
    after: { list: "deny", comment: "INC-1042" },
    ticket: "INC-1042",
    place: { file: FILE, line: 32, column: 5 },
    findings: [],
    evidence: { ...harmlessEvidence, applies: false },
    severity: "none",
  },
  {
    kind: "entry",
    key: "old-partner.example",
    value: "old-partner.example",
    entryType: "domain",
    verdictScope: "global",
    operation: "remove",
    before: { list: "allow", comment: "Contract 2021-7", createdBy: "console", createdAt: "2021-05-04T09:00:00Z" },
    reason: "expired on 2026-10-31",
    expires: "2026-10-31",
    place: { file: FILE, line: 18, column: 5 },
    findings: [],
    evidence: harmlessEvidence,
    severity: "none",
  },
  {
    kind: "vip",
    key: "priya.raman@acme.example",
    value: "priya.raman@acme.example",
    operation: "add",
    after: { comment: "Chief Technology Officer" },
    owner: "Victor Almeida",
    place: { file: FILE, line: 7, column: 5 },
    findings: [],
    evidence: {
      ...harmlessEvidence,
      threats: 21,
      verdicts: buildNamedCounts({ malicious: 15, spam: 6 }),
      actions: buildNamedCounts({ quarantined: 21 }),
      lastThreatAt: "2026-11-20T18:00:00Z",
    },
    severity: "none",
  },
  {
    kind: "vip",
    key: "walter.finch@acme.example",
    value: "walter.finch@acme.example",
    operation: "remove",
    before: { comment: "President, Americas", createdBy: "dana.reyes@acme.example", createdAt: "2023-01-09T09:00:00Z" },
    reason: "no longer declared",
    findings: [],
    evidence: harmlessEvidence,
    severity: "none",
  },
];

const unmanaged: readonly UnmanagedItem[] = [
  {
    kind: "entry",
    key: "clicked.example",
    value: "clicked.example",
    entryType: "domain",
    verdictScope: "global",
    before: {
      list: "allow",
      comment: "by hand",
      createdBy: "tomas.lindqvist@acme.example",
      createdAt: "2026-11-02T14:00:00Z",
    },
  },
  {
    kind: "vip",
    key: "ceo-office@acme.example",
    value: "ceo-office@acme.example",
    before: { createdBy: "directory", createdAt: "2025-02-03T04:05:06Z" },
  },
];

const expired: readonly ExpiredItem[] = [
  {
    kind: "entry",
    key: "old-partner.example",
    value: "old-partner.example",
    entryType: "domain",
    verdictScope: "global",
    list: "allow",
    expires: "2026-10-31",
    place: { file: FILE, line: 18, column: 5 },
    isPresent: true,
  },
];

const backtest: Backtest = {
  threats: 412,
  allows: [
    dangerousBacktest,
    {
      key: "news.example.com (graymail)",
      deliveredCount: 0,
      verdicts: [],
      recipients: [],
      recipientCount: 0,
      vipCount: 0,
      examples: [],
    },
  ],
  denies: [
    {
      key: "acme-login.example",
      matchCount: 9,
      stoppedCount: 4,
      recipients: [
        { email: "ruth.castellan@acme.example", isVip: true, count: 1 },
        { email: "mei.chen@acme.example", isVip: false, count: 3 },
      ],
      recipientCount: 2,
      vipCount: 1,
    },
    { key: "192.0.2.7", matchCount: 0, stoppedCount: 0, recipients: [], recipientCount: 0, vipCount: 0 },
  ],
  unmatchedDenies: ["192.0.2.7", "bulk.example.org", "cheap-domains.test"],
  denyCount: 96,
};

/** A typical week's pull request: one dangerous allow, one doubtful one, and some undisputed changes. */
export const realisticPlan: Plan = {
  ...emptyPlan,
  changes: [dangerousAllow, warned, ...calmChanges],
  unmanaged,
  expired,
  findings: [freeMail, noExpiry, unused],
  counts: { added: 4, changed: 1, removed: 2, unchanged: 205, unmanaged: 2 },
  backtest,
};

/** A plan without findings, dangerous changes or backtested allow entries. */
export const calmPlan: Plan = {
  ...realisticPlan,
  changes: calmChanges,
  findings: [],
  counts: { added: 3, changed: 0, removed: 2, unchanged: 207, unmanaged: 2 },
  backtest: { ...backtest, allows: [] },
};

/** Dangerous, and refused by a blocker. */
export const dangerousPlan: Plan = {
  ...realisticPlan,
  blockers: [
    {
      code: "removal-guard",
      message:
        "entries would lose 120 of 212 entries (57 %), more than 30 %.\n    - a.example\n    - b.example\n    … and 118 more\n  If that is meant, say so for one run:\n    confirmRemovals: 120",
    },
    { code: "protect", message: "payroll.example is protected, and would be removed." },
  ],
};

/** Without evidence: the key may not read threats. */
export const blindPlan: Plan = {
  ...emptyPlan,
  source: { kind: "preview", files: ["preview.json"] },
  changes: calmChanges.map(({ evidence: _evidence, place: _place, ...change }) => ({
    ...change,
    resource: "soc-list",
  })),
  counts: { added: 3, changed: 0, removed: 2, unchanged: 0, unmanaged: 0 },
  evidence: {
    days: 30,
    threats: 0,
    reports: 0,
    until: "2026-11-21T09:30:00Z",
    complete: false,
    missing: ["The key may not read threats (403)."],
  },
};

/**
 * Generates many changes: one in a hundred is dangerous, three need a look.
 *
 * @param count the number of changes.
 */
export function buildHugePlan(count: number): Plan {
  const changes = Array.from({ length: count }, (_, index): PlanChange => {
    const value = `sender-${index}.bulk.example`;
    const template =
      index % 100 === 0
        ? dangerousAllow
        : index % 100 < 4
          ? warned
          : (calmChanges[[0, 0, 0, 2, 3][index % 5] ?? 0] as PlanChange);
    const named = template.kind === "vip" ? `person.${index}@acme.example` : value;
    return { ...template, key: named, value: named, place: { file: FILE, line: index + 10, column: 5 } };
  });
  const order = { danger: 0, accepted: 1, warning: 2, none: 3 };
  const sorted = changes.toSorted((a, b) => order[a.severity] - order[b.severity]);
  return {
    ...realisticPlan,
    changes: sorted,
    findings: sorted.flatMap(({ findings }) => findings),
    unmanaged: Array.from({ length: count }, (_, index): UnmanagedItem => {
      const value = `clicked-${index}.example`;
      return { ...(unmanaged[0] as UnmanagedItem), key: value, value };
    }),
    counts: { added: count, changed: 0, removed: 0, unchanged: 4_000, unmanaged: count },
    backtest: {
      ...backtest,
      allows: sorted.filter(({ severity }) => severity === "danger").map(({ key }) => ({ ...dangerousBacktest, key })),
      unmatchedDenies: Array.from({ length: count }, (_, index) => `quiet-${index}.example`),
      denyCount: count + 4_000,
    },
  };
}

/** Returns a plan with the given text in every place that outsiders control. */
export function buildTextPlan(text: string): Plan {
  const location = { file: text, line: 3, column: 5 };
  const counts = [{ name: text, count: 3 }];
  const recipients = [{ email: text, isVip: true, count: 3 }];
  const finding: Finding = {
    code: "odd",
    level: "warning",
    message: text,
    place: location,
    subject: { kind: "entry", key: text },
  };
  const sharedFields = { list: "allow", comment: text, acceptRisk: text, createdBy: text, createdAt: text } as const;
  const example = { id: text, time: text, sender: text, recipient: text, subject: text, verdict: text };
  const change: PlanChange = {
    kind: "entry",
    key: text,
    value: text,
    entryType: "email_address",
    verdictScope: text,
    operation: "change",
    before: { ...sharedFields, list: "deny", comment: `${text}, before` },
    after: sharedFields,
    reason: text,
    ticket: text,
    owner: text,
    approvedBy: text,
    expires: text,
    place: location,
    overrides: [location, location],
    resource: text,
    findings: [finding, finding],
    evidence: {
      applies: true,
      threats: 3,
      verdicts: counts,
      actions: counts,
      lastThreatAt: text,
      recipients,
      recipientCount: 1,
      vipCount: 1,
      reports: 3,
      reportVerdicts: counts,
      lastReportAt: text,
      senders: [...counts, ...counts],
      senderCount: 2,
    },
    severity: "danger",
  };
  const subject = { kind: "entry", key: text, value: text, entryType: "domain", verdictScope: text } as const;
  return {
    format: 1,
    createdAt: text,
    tenant: { host: text, name: text },
    source: { kind: "preview", files: [text, text], stack: text },
    digest: text,
    changes: (["danger", "warning", "none"] as const).map((severity) => ({ ...change, severity })),
    blockers: [{ code: text, message: text }],
    unmanaged: [{ ...subject, before: sharedFields }],
    expired: [{ ...subject, list: "deny", expires: text, place: location, isPresent: true }],
    findings: [finding, { ...finding, message: `${text}!` }],
    counts: { added: 0, changed: 3, removed: 0, unchanged: 5, unmanaged: 1 },
    evidence: { days: 30, threats: 3, reports: 3, from: text, until: text, complete: false, missing: [text] },
    backtest: {
      threats: 3,
      allows: [
        {
          key: text,
          deliveredCount: 3,
          verdicts: counts,
          recipients,
          recipientCount: 1,
          vipCount: 1,
          examples: [example],
        },
      ],
      denies: [{ key: text, matchCount: 3, stoppedCount: 2, recipients, recipientCount: 1, vipCount: 1 }],
      unmatchedDenies: [text],
      denyCount: 2,
    },
  };
}

/** Every hostile text in every place. */
export const hostilePlan: Plan = buildTextPlan(Object.values(HOSTILE).join(" "));

/** Text that could break out of Markdown. */
const markup = fc.constantFrom(
  "`",
  "``",
  "```",
  "~~~",
  "|",
  "\\",
  "\\|",
  "*",
  "_",
  "[",
  "](http://evil.example)",
  "<b>",
  "</details>",
  "<!--",
  "-->",
  "@everyone",
  "#1",
  "!1",
  "http://evil.example",
  "www.evil.example",
  "mailto:a@evil.example",
  "&lt;",
  "\n\n# x",
  "\n/close",
  "\n---\n",
  "$`x`$",
  ":tada:",
  "GH-1",
  "]]>",
  '"',
  "'",
  " onload=x",
  HOSTILE_ID,
);

/** Arbitrary text with the markup of any output format. */
export const markupText: fc.Arbitrary<string> = fc
  .array(fc.oneof(markup, hostileText, fc.constant(" "), fc.lorem({ maxCount: 2 })), { maxLength: 8 })
  .map((pieces) => pieces.join(""));

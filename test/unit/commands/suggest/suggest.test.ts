import { describe, expect, it } from "vitest";
import type { AllowDenyEntryRow, VipEmployeeRow } from "../../../../provider/client";
import { suggest } from "../../../../provider/commands/suggest/suggest";
import type { Suggestion, SuggestOptions } from "../../../../provider/commands/suggest/suggestion";
import { buildObservedState } from "../../../../provider/plan/observed-state";
import { editAndValidateFiles } from "../../../../provider/settings-files/edit-files";
import { readSettings } from "../../../../provider/settings-files/read-settings";
import { findTerminalCommands, HOSTILE } from "../../../support/hostile-text";
import { buildEvidenceBase, type ThreatFields } from "../../../support/mail-history";

const TODAY = "2026-11-21";

describe("suggested VIPs", () => {
  it("are the most targeted people of the own domains", () => {
    const { lines, edited } = runSuggestions({
      files: { "acme.yaml": "version: 1\nownDomains: [own.example]\nvips:\n  - cfo@own.example\n" },
      threats: [
        ...repeatThreat(9, { recipient_email: "cfo@own.example", verdict: "malicious" }),
        ...repeatThreat(8, { recipient_email: "auto@own.example", verdict: "malicious" }),
        ...repeatThreat(7, { recipient_email: "someone@other.example", verdict: "malicious" }),
        ...repeatThreat(5, { recipient_email: "Kim@mail.own.example", verdict: "malicious" }),
        ...repeatThreat(2, { recipient_email: "kim@mail.own.example", verdict: "unknown" }),
        ...repeatThreat(6, { recipient_email: "jo@own.example", verdict: "malicious" }),
        ...repeatThreat(4, { recipient_email: "few@own.example", verdict: "malicious" }),
        ...repeatThreat(50, { recipient_email: "few@own.example", verdict: "spam" }),
      ],
      vips: [{ email: "auto@own.example" }],
    });
    expect(lines).toEqual([
      "vip Make kim@mail.own.example a VIP: 7 threats were sent to it in the last 30 days: 5 malicious, 2 unknown; spam and graymail are not counted.",
      "vip Make jo@own.example a VIP: 6 threats were sent to it in the last 30 days: 6 malicious; spam and graymail are not counted.",
    ]);
    expect(edited("acme.yaml")).toBe(`version: 1
ownDomains: [own.example]
vips:
  - cfo@own.example
  - email: kim@mail.own.example
    comment: "Among the most targeted: 7 threats in 30 days"
  - email: jo@own.example
    comment: "Among the most targeted: 6 threats in 30 days"
`);
  });

  it("exclude people whose VIP status was removed or expired", () => {
    const threats = ["a", "b", "c", "d"].flatMap((name) =>
      repeatThreat(5, { recipient_email: `${name}@own.example`, verdict: "malicious" }),
    );
    const { lines } = runSuggestions({
      files: {
        "acme.yaml":
          "version: 1\ninclude: [base.yaml]\nremove: { vips: [a@own.example] }\nvips:\n  - { email: b@own.example, expires: 2026-01-01 }\n",
        "base.yaml": "version: 1\nvips: [a@own.example]\n",
      },
      threats,
      options: { maxVips: 1 },
    });
    expect(lines).toHaveLength(1);
    expect(lines[0]).toContain("Make c@own.example a VIP");
  });
});

describe("suggested denies", () => {
  it("replace only expired allows", () => {
    const buildReport = (mailbox: string) => ({
      sender: mailbox,
      reporter: "jo@acme.example",
      verdict: "malicious",
      report_date: "2026-11-20T10:00:00Z",
    });
    const { lines, edited } = runSuggestions({
      files: {
        "acme.yaml": `version: 1
include: [base.yaml]
ownDomains: [acme.example]
allow:
  - { value: a@ended.example, expires: 2026-11-20 }
  - { value: c@again.example, expires: 2026-11-20 }
deny:
  - { value: d@over.example, expires: 2026-11-20 }
`,
        "base.yaml": "version: 1\nallow:\n  - { value: b@below.example, expires: 2026-11-20 }\n  - c@again.example\n",
      },
      reports: ["a@ended.example", "b@below.example", "c@again.example", "d@over.example"].map(buildReport),
      // The next run removes it.
      rows: [{ value: "a@ended.example", list: "allow", entry_type: "email_address" }],
    });
    expect(lines.map((line) => line.replace(/:.* Its/, ": … Its"))).toEqual([
      "deny Deny a@ended.example: … Its allow at acme.yaml:5 expired on 2026-11-20.",
      "deny Deny b@below.example: … Its allow at base.yaml:3 expired on 2026-11-20.",
    ]);
    expect(edited("acme.yaml")).toBe(`version: 1
include: [base.yaml]
ownDomains: [acme.example]
allow:
  - { value: c@again.example, expires: 2026-11-20 }
deny:
  - { value: d@over.example, expires: 2026-11-20 }
  - { value: a@ended.example, comment: "Confirmed phishing, reported by 1 user" }
  - { value: b@below.example, comment: "Confirmed phishing, reported by 1 user" }
`);
  });

  it("skip senders that a wildcard already denies", () => {
    const buildSenderReport = (sender: string) => ({
      sender,
      reporter: "jo@acme.example",
      verdict: "malicious",
      report_date: "2026-11-20T10:00:00Z",
    });
    const { lines } = runSuggestions({
      files: { "acme.yaml": "version: 1\nownDomains: [acme.example]\n" },
      reports: ["x@host.wild.example", "x@box.example", "x@wild.example"].map(buildSenderReport),
      rows: [
        { list: "deny", entry_type: "domain", value: "*.wild.example" },
        { list: "deny", entry_type: "email_address", value: "@box.example" },
      ],
    });
    expect(lines).toEqual([expect.stringMatching(/^deny Deny x@wild\.example: /)]);
  });

  it("cover confirmed phishing, by mailbox or purpose-made domain", () => {
    const buildMaliciousReport = (sender: string, reporter = "jo@acme.example") => ({
      sender,
      reporter,
      verdict: "malicious",
      report_date: "2026-11-20T10:00:00Z",
    });
    const { lines, edited } = runSuggestions({
      files: {
        "acme.yaml":
          "version: 1\nownDomains: [acme.example]\nallow:\n  - partner.example\n  - friend@known.example\ndeny:\n  - covered.example\n",
      },
      threats: [
        {
          sender_email: "x@fresh.example",
          sender_registry_date: "2026-10-01",
          time: "2026-11-20T10:00:00Z",
          verdict: "malicious",
          action_taken: "none",
        },
        {
          sender_email: "x@old.example",
          sender_registry_date: "2001-10-01",
          time: "2026-11-20T10:00:00Z",
          verdict: "malicious",
          action_taken: "quarantined",
        },
      ],
      reports: [
        buildMaliciousReport("x@fresh.example"),
        buildMaliciousReport("y@fresh.example", "kim@own.example"),
        buildMaliciousReport("x@old.example"),
        buildMaliciousReport("it@acrne.example"),
        buildMaliciousReport("somebody@gmail.com"),
        buildMaliciousReport("x@mail.partner.example"),
        buildMaliciousReport("friend@known.example"),
        buildMaliciousReport("other@known.example"),
        buildMaliciousReport("x@mail.covered.example"),
        buildMaliciousReport("x@there.example"),
        buildMaliciousReport("ceo@acme.example"),
        { ...buildMaliciousReport("x@unclear.example"), verdict: "unknown" },
        buildMaliciousReport(`"x\u001b[2J" <not a mailbox>`),
      ],
      rows: [{ list: "deny", entry_type: "domain", value: "THERE.example" }],
    });
    expect(lines).toEqual([
      "deny Deny fresh.example: 2 users reported mail from it as phishing, last on 2026-11-20, and the analysis found it malicious. The domain was registered on 2026-10-01, shortly before its first mail, and none of its mail was found safe. The service detected threats in 1 message from it in the last 30 days: 1 malicious; 1 of them stayed in a mailbox.",
      "deny Deny acrne.example: 1 user reported mail from it as phishing, last on 2026-11-20, and the analysis found it malicious. The domain can be mistaken for your own domain acme.example. No mail that the service detected came from it in the last 30 days; the service doesn't report other mail.",
      expect.stringMatching(/^deny Deny other@known\.example: /),
      expect.stringMatching(/^deny Deny somebody@gmail\.com: /),
      expect.stringMatching(/^deny Deny x@mail\.partner\.example: /),
      expect.stringMatching(/^deny Deny x@old\.example: .*; none of them stayed in a mailbox\.$/),
      expect.stringMatching(/^malicious-allow Remove the allow of friend@known\.example now: /),
      expect.stringMatching(/^malicious-allow Remove the allow of partner\.example now: /),
    ]);
    expect(edited("acme.yaml")).toContain(
      "  - value: fresh.example\n    comment: Confirmed phishing, reported by 2 users\n",
    );
  });

  it("cover delivered malicious mail, except restored or allowed mail", () => {
    const buildUnblockedThreat = (sender_email: string, more: ThreatFields = {}): ThreatFields => ({
      sender_email,
      recipient_email: `${sender_email[0]}@own.example`,
      verdict: "malicious",
      action_taken: "none",
      ...more,
    });
    const { lines, edited } = runSuggestions({
      files: { "acme.yaml": "version: 1\nallow: [{ value: partner.example, acceptRisk: They are told }]\n" },
      threats: [
        buildUnblockedThreat("a@evil.example"),
        buildUnblockedThreat("a@evil.example", { recipient_email: "kim@own.example" }),
        buildUnblockedThreat("b@stopped.example", { action_taken: "quarantined" }),
        buildUnblockedThreat("c@back.example", { action_taken: "released_from_quarantine" }),
        buildUnblockedThreat("d@back.example", { action_taken: "restored" }),
        buildUnblockedThreat("e@spam.example", { verdict: "spam" }),
        buildUnblockedThreat("f@mixed.example"),
        buildUnblockedThreat("f@mixed.example", { verdict: "safe" }),
        buildUnblockedThreat("g@partner.example"),
      ],
    });
    expect(lines).toEqual([
      "deny Deny a@evil.example: 2 messages from it were found malicious and stayed in a mailbox. The service detected threats in 2 messages from it in the last 30 days: 2 malicious; 2 of them stayed in a mailbox.",
      "malicious-allow Decide whether to keep the allow of partner.example: The service detected threats in 1 message from it in the last 30 days: 1 malicious; 1 of them stayed in a mailbox. Its risk is accepted: They are told.",
    ]);
    expect(edited("acme.yaml")).toContain(
      "  - value: a@evil.example\n    comment: Malicious mail that reached 2 mailboxes\n",
    );
  });

  it("contain hostile sender text only as plain text", () => {
    const senders = [
      ...Object.values(HOSTILE),
      "a: b@evil.example",
      "'{x}#y'@evil.example",
      "&anchor*@evil.example",
      "no@evil.example\n- injected.example",
      "!tag@evil.example",
      "%40@evil.example",
      "~@evil.example",
    ];
    const reports = senders.map((sender) => ({ sender, verdict: "malicious", reporter: sender }));
    const threats = senders.flatMap((text) =>
      repeatThreat(6, {
        sender_email: text,
        recipient_email: text,
        verdict: text,
        subject: text,
        action_taken: text,
        sender_registry_date: text,
      }),
    );
    const { all, edited } = runSuggestions({ files: { "acme.yaml": "version: 1\n" }, reports, threats });
    expect(all.length).toBeGreaterThan(3);
    for (const { action, evidence } of all) expect(findTerminalCommands(`${action} ${evidence}`)).toEqual([]);
    // The edited file, read again, holds exactly the suggestions.
    const text = edited("acme.yaml");
    const { entries, vips } = readSettings("acme.yaml", { today: TODAY, readFile: () => text });
    const values = [...entries.map(({ value }) => value), ...vips.map(({ email }) => email)];
    expect(values.sort()).toEqual(all.map(({ value }) => value).sort());
  });
});

describe("suggestions for allows", () => {
  const files = {
    "acme.yaml": `version: 1
allow:
  - { value: used.example, expires: 2026-12-01 } # soon
  - { value: bad.example, expires: 2026-12-02 }
  - { value: silent.example, expires: 2026-12-03 }
  - { value: later.example, expires: 2026-12-31 }
  - quiet.example
  - { value: forever.example, expires: never }
  - new.example
  - 192.0.2.1
  - busy.example
`,
  };
  const threats: ThreatFields[] = [
    { sender_email: "x@used.example", verdict: "allowed", action_taken: "none" },
    { sender_email: "x@bad.example", verdict: "malicious", action_taken: "none" },
    { sender_email: "x@busy.example", verdict: "allowed", action_taken: "none" },
  ];
  const rows = [
    "used.example",
    "bad.example",
    "silent.example",
    "later.example",
    "quiet.example",
    "forever.example",
    "busy.example",
  ].map((value) => ({ list: "allow", entry_type: "domain", value, created_at: "2026-01-01T00:00:00Z" }));
  const recent = { list: "allow", entry_type: "domain", value: "new.example", created_at: "2026-11-20" };

  it("cover expiring and unused allows with their evidence", () => {
    const { lines, edited } = runSuggestions({ files, threats, rows: [...rows, recent] });
    const unknownMail =
      "No mail that the service detected came from it in the last 30 days; the service doesn't report other mail.";
    const unused =
      "No mail that the service detected came from it in the last 30 days, and nobody reported any; the service doesn't report other mail.";
    expect(lines).toEqual([
      "malicious-allow Remove the allow of bad.example now: It expires on 2026-12-02. The service detected threats in 1 message from it in the last 30 days: 1 malicious; 1 of them stayed in a mailbox.",
      "expiring-allow Extend the allow of used.example until 2027-02-19: It expires on 2026-12-01. The service detected threats in 1 message from it in the last 30 days: 1 allowed; 1 of them stayed in a mailbox.",
      `expiring-allow Decide whether to keep the allow of silent.example: It expires on 2026-12-03. ${unknownMail}`,
      `unused-allow Set the allow of forever.example to expire on 2027-02-19, unless somebody needs it: ${unused}`,
      `unused-allow Set the allow of quiet.example to expire on 2027-02-19, unless somebody needs it: ${unused}`,
    ]);
    expect(edited("acme.yaml")).toBe(`version: 1
allow:
  - { value: used.example, expires: 2027-02-19 } # soon
  - { value: silent.example, expires: 2026-12-03 }
  - { value: later.example, expires: 2026-12-31 }
  - value: quiet.example
    expires: 2027-02-19
  - { value: forever.example, expires: 2027-02-19 }
  - new.example
  - 192.0.2.1
  - busy.example
`);
  });

  it("call no allow unused when mail data is incomplete", () => {
    const { lines } = runSuggestions({
      files,
      threats,
      rows,
      missing: ["The phishing reports could not be read."],
    });
    expect(lines.filter((line) => line.startsWith("unused"))).toEqual([]);
    expect(lines[0]).toContain("in the readable part of the last 30 days, since 2026-10-22");
  });

  it("respect the policy's maximum duration", () => {
    const policy = "policy: { maxDays: 40 }\nlists: { entries: { protect: [quiet.example, bad.example] } }\n";
    const { lines, edited } = runSuggestions({
      files: { "acme.yaml": files["acme.yaml"].replace("allow:", `${policy}allow:`) },
      threats,
      rows,
    });
    expect(lines[0]).toMatch(
      /^malicious-allow Decide whether to keep the allow of bad\.example: .* It is protected\.$/,
    );
    expect(lines[1]).toContain("until 2026-12-31");
    expect(lines.join("\n")).not.toContain("quiet.example");
    expect(edited("acme.yaml")).toContain("bad.example, expires: 2026-12-02");
  });

  it("edit the included file and note that others may include it", () => {
    const { lines, edited } = runSuggestions({
      files: {
        "acme.yaml": "version: 1\ninclude: [base/all.yaml]\n",
        "base/all.yaml": "version: 1\nallow:\n  - quiet.example\n",
      },
      rows,
    });
    expect(lines).toHaveLength(1);
    expect(lines[0]).toMatch(/report other mail\. base\/all\.yaml is included; other tenants may include it too\.$/);
    expect(edited("base/all.yaml")).toBe("version: 1\nallow:\n  - value: quiet.example\n    expires: 2027-02-19\n");
  });
});

describe("redundant entries", () => {
  it("are removed when a wider entry has the same effect", () => {
    const { lines, edited } = runSuggestions({
      files: {
        "acme.yaml": `version: 1
allow:
  - mail.evil.example
deny:
  - evil.example
  - www.evil.example # needless
  - x@evil.example
  - x@mail.evil.example # an exception of an exception
  - { value: news.evil.example, scope: graymail }
  - { value: short.example, expires: 2026-12-31 }
  - long.short.example
  - { value: brief.short.example, expires: 2026-12-30 }
`,
      },
      rows: [{ list: "deny", entry_type: "domain", value: "evil.example" }],
    });
    expect(lines).toEqual([
      "shadowed Remove the deny of brief.short.example: The deny of short.example (acme.yaml:10) covers all mail from its subdomains, in the same scope, so this entry has no effect.",
      "shadowed Remove the deny of www.evil.example: The deny of evil.example (acme.yaml:5) covers all mail from its subdomains, in the same scope, so this entry has no effect.",
      "shadowed Remove the deny of x@evil.example: The deny of evil.example (acme.yaml:5) covers all mail from the domain, in the same scope, so this entry has no effect.",
    ]);
    expect(edited("acme.yaml")).toBe(`version: 1
allow:
  - mail.evil.example
deny:
  - evil.example
  - x@mail.evil.example # an exception of an exception
  - { value: news.evil.example, scope: graymail }
  - { value: short.example, expires: 2026-12-31 }
  - long.short.example
`);
  });

  it("stay in an included file that lacks the wider entry", () => {
    const { lines, edited } = runSuggestions({
      files: {
        "acme.yaml": "version: 1\ninclude: [base.yaml]\ndeny:\n  - evil.example\n  - www.bad.example\n",
        "base.yaml": "version: 1\ndeny:\n  - www.evil.example\n  - bad.example\n  - www.bad.example\n",
      },
    });
    expect(lines).toHaveLength(1);
    expect(edited("acme.yaml")).toBe("version: 1\ninclude: [base.yaml]\ndeny:\n  - evil.example\n");
    expect(edited("base.yaml")).toBe("version: 1\ndeny:\n  - www.evil.example\n  - bad.example\n");
  });
});

interface SuggestionSetup {
  readonly files: Readonly<Record<string, string>>;
  readonly threats?: readonly ThreatFields[];
  readonly reports?: Parameters<typeof buildEvidenceBase>[0]["reports"];
  readonly rows?: readonly object[];
  readonly vips?: readonly Partial<VipEmployeeRow>[];
  readonly missing?: readonly string[];
  readonly options?: SuggestOptions;
}

/** Returns the suggestions for acme.yaml in short form, and the edited files. */
function runSuggestions({
  files,
  threats = [],
  reports = [],
  rows = [],
  vips = [],
  missing = [],
  options,
}: SuggestionSetup) {
  const readFile = (path: string): string => files[path] ?? "";
  const settings = readSettings("acme.yaml", { today: TODAY, readFile });
  const observed = buildObservedState(
    "2026-11-21T12:00:00Z",
    rows.map((row, index) => ({ id: `e${index}`, ...row }) as AllowDenyEntryRow),
    vips as VipEmployeeRow[],
  );
  const all: Suggestion[] = suggest(settings, observed, buildEvidenceBase({ threats, reports, missing }), options);
  return {
    all,
    lines: all.map(({ kind, action, evidence }) => `${kind} ${action}: ${evidence}`),
    edited(name: string): string {
      const edits = all.flatMap((suggestion) => suggestion.edits);
      return editAndValidateFiles(settings, edits, readFile).find(({ file }) => file === name)?.after ?? readFile(name);
    },
  };
}

function repeatThreat(count: number, threat: ThreatFields): ThreatFields[] {
  return Array.from({ length: count }, () => threat);
}

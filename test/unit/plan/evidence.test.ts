import { describe, expect, it } from "vitest";
import { collectEvidence } from "../../../provider/plan/evidence";
import { buildEvidenceBase } from "../../support/mail-history";
import { buildNamedCounts } from "../../support/named-counts";

describe("evidence", () => {
  const base = buildEvidenceBase({
    threats: [
      {
        sender_email: "Ann@Mail.Evil.example",
        recipient_email: "CEO@own.example",
        verdict: "malicious",
        action_taken: "quarantined",
        detection_time: "2026-11-20T10:00:05Z",
        time: "2026-11-20T10:00:00Z",
      },
      {
        sender_email: "bob@evil.example.",
        recipient_email: "jo@own.example",
        verdict: "spam",
        action_taken: "none",
        detection_time: "2026-11-19T10:00:00Z",
      },
      { sender_domain: "evil.example", recipient_email: "jo@own.example", detection_time: "yesterday" },
      { sender_email: "x@notevil.example", verdict: "malicious" },
      { sender_email: "not a mailbox" },
    ],
    reports: [
      { sender: '"ceo@own.example" <bob@evil.example>', reporter: "jo@own.example", verdict: "malicious" },
      { sender: "evil.example", report_date: "2026-11-18", verdict: "unknown" },
    ],
    vips: ["ceo@own.example"],
  });

  it("covers mail from a domain and its subdomains", () => {
    expect(collectEvidence(base, { kind: "entry", value: "evil.example", entryType: "domain" })).toEqual({
      applies: true,
      threats: 3,
      verdicts: buildNamedCounts({ malicious: 1, spam: 1, unknown: 1 }),
      actions: buildNamedCounts({ none: 1, quarantined: 1, unknown: 1 }),
      lastThreatAt: "2026-11-20T10:00:05Z",
      recipients: [
        { email: "ceo@own.example", isVip: true, count: 1 },
        { email: "jo@own.example", isVip: false, count: 2 },
      ],
      recipientCount: 2,
      vipCount: 1,
      reports: 2,
      reportVerdicts: buildNamedCounts({ malicious: 1, unknown: 1 }),
      lastReportAt: "2026-11-18",
      senders: buildNamedCounts({ "ann@mail.evil.example": 1, "bob@evil.example": 1, "evil.example": 1 }),
      senderCount: 3,
    });
    expect(collectEvidence(base, { kind: "entry", value: "mail.evil.example" })?.threats).toBe(1);
    expect(collectEvidence(base, { kind: "entry", value: "l.example" })?.threats).toBe(0);
  });

  it.each([
    ["*.evil.example", 1],
    ["*@evil.example", 2],
    ["*@*.evil.example", 1],
    ["*.example", 4],
  ])("covers mail that the wildcard %s matches", (value, threats) => {
    for (const entryType of ["domain", "email_address"]) {
      expect(collectEvidence(base, { kind: "entry", value, entryType })?.threats).toBe(threats);
    }
  });

  it("matches a mailbox by address, not by display name", () => {
    const collectMailboxEvidence = (value: string) =>
      collectEvidence(base, { kind: "entry", value, entryType: "email_address" });
    expect(collectMailboxEvidence("bob@evil.example")).toMatchObject({ threats: 1, reports: 1 });
    expect(collectMailboxEvidence("ceo@own.example")).toMatchObject({ threats: 0, reports: 0 });
  });

  it("covers mail that a VIP received and reported", () => {
    expect(collectEvidence(base, { kind: "vip", value: "ceo@own.example" })).toMatchObject({
      threats: 1,
      reports: 0,
    });
    expect(collectEvidence(base, { kind: "vip", value: "jo@own.example" })).toMatchObject({
      threats: 2,
      reports: 1,
    });
  });

  it("does not apply to an IP address", () => {
    const evidence = collectEvidence(base, { kind: "entry", value: "192.0.2.1", entryType: "ip" });
    expect(evidence).toMatchObject({ applies: false, threats: 0 });
  });

  it("names the senders only when there are few", () => {
    const threats = Array.from({ length: 6 }, (_, index) => ({ sender_email: `s${index}@many.example` }));
    const evidence = collectEvidence(buildEvidenceBase({ threats }), { kind: "entry", value: "many.example" });
    expect(evidence).toMatchObject({ senders: [], senderCount: 6 });
  });

  it("is undefined when no mail could be read", () => {
    const nothing = { ...buildEvidenceBase({}), threats: undefined, reports: undefined };
    expect(collectEvidence(nothing, { kind: "entry", value: "evil.example" })).toBeUndefined();
  });

  it("truncates text from threats", () => {
    const long = "x".repeat(100_000);
    const { threats = [] } = buildEvidenceBase({
      threats: [
        {
          id: long,
          subject: `${"y".repeat(199)}\u{1f600}${long}`,
          sender_email: `${long}@${long}.example`,
          sender_domain: long,
          recipient_email: long,
          verdict: long,
          action_taken: long,
          time: long,
          sender_registry_date: long,
        },
      ],
    });
    expect(JSON.stringify(threats).length).toBeLessThan(3_000);
    expect(threats[0]?.subject).toBe(`${"y".repeat(199)}\ufffd`);
  });

  it("covers 5,000 subjects over 10,000 threats with deep domains", () => {
    const deep = Array.from({ length: 100 }, (_, index) => `l${index % 10}`).join(".");
    const threats = Array.from({ length: 10_000 }, (_, index) => ({
      sender_email: `s@${index % 5_000}.${deep.slice(0, 200)}.evil${index % 5_000}.example`,
      recipient_email: "jo@own.example",
    }));
    const many = buildEvidenceBase({ threats });
    const threatCounts = Array.from(
      { length: 5_000 },
      (_, index) => collectEvidence(many, { kind: "entry", value: `evil${index}.example` })?.threats,
    );
    expect(new Set(threatCounts)).toEqual(new Set([2]));
  });
});

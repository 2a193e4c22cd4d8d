import { expect, it } from "vitest";
import { estimateEntryRemoval } from "../../../../provider/commands/why/entry-removal-estimate";
import type { ProposedEntry } from "../../../../provider/plan/entry-precedence";
import { buildEvidenceBase, type ThreatFields } from "../../../support/mail-history";

function buildProposedEntry(list: "allow" | "deny", value: string): ProposedEntry {
  return { key: `${list} ${value}`, list, value, entryType: "domain", verdictScope: "global" };
}

function buildThreat(sender: string, action_taken: string, verdict = "malicious"): ThreatFields {
  return { sender_email: sender, recipient_email: "jo@own.example", action_taken, verdict };
}

it("estimates what another entry would let through without a deny", () => {
  const base = buildEvidenceBase({
    threats: [
      buildThreat("a@evil.partner.example", "quarantined"),
      buildThreat("a@evil.partner.example", "quarantined", "safe"),
      buildThreat("a@evil.partner.example", "none"),
      buildThreat("a@elsewhere.example", "quarantined"),
    ],
    vips: ["jo@own.example"],
  });
  const deny = buildProposedEntry("deny", "evil.partner.example");
  expect(estimateEntryRemoval(base, [deny, buildProposedEntry("allow", "partner.example")], deny.key)).toMatchObject({
    decidedCount: 3,
    reversedCount: 1,
    undecidedCount: 0,
    recipients: [{ email: "jo@own.example", isVip: true, count: 1 }],
  });
  expect(estimateEntryRemoval(base, [deny], deny.key)).toMatchObject({
    decidedCount: 3,
    reversedCount: 0,
    undecidedCount: 1,
  });
  expect(estimateEntryRemoval(base, [deny, buildProposedEntry("deny", "partner.example")], deny.key)).toMatchObject({
    decidedCount: 3,
    reversedCount: 0,
    undecidedCount: 0,
  });
});

it("estimates what another entry would stop without an allow", () => {
  const base = buildEvidenceBase({
    threats: [buildThreat("a@good.evil.example", "none"), buildThreat("a@good.evil.example", "moved_to_spam")],
  });
  const allow = buildProposedEntry("allow", "good.evil.example");
  expect(estimateEntryRemoval(base, [allow, buildProposedEntry("deny", "evil.example")], allow.key)).toMatchObject({
    decidedCount: 2,
    reversedCount: 1,
    undecidedCount: 0,
    recipientCount: 1,
  });
});

it("counts denied mail as stopped by a deny of any scope", () => {
  const base = buildEvidenceBase({
    threats: [buildThreat("a@deals.example", "quarantined", "denied"), buildThreat("a@deals.example", "none", "spam")],
  });
  const deny: ProposedEntry = { ...buildProposedEntry("deny", "deals.example"), verdictScope: "graymail" };
  expect(estimateEntryRemoval(base, [deny], deny.key)).toMatchObject({ decidedCount: 1, undecidedCount: 1 });
});

it("returns undefined for an IP address, a missing entry or unread threats", () => {
  const base = buildEvidenceBase({ threats: [] });
  const ip: ProposedEntry = { ...buildProposedEntry("deny", "192.0.2.1"), entryType: "ip" };
  expect(estimateEntryRemoval(base, [ip], ip.key)).toBeUndefined();
  expect(estimateEntryRemoval(base, [ip], "deny other.example")).toBeUndefined();
  expect(
    estimateEntryRemoval({ ...base, threats: undefined }, [buildProposedEntry("deny", "a.example")], "deny a.example"),
  ).toBeUndefined();
});

import { expect, it } from "vitest";
import { estimateEntryRemoval } from "../../../../provider/commands/why/entry-removal-estimate";
import type { ProposedEntry } from "../../../../provider/plan/entry-precedence";
import { evidenceBaseOf, type ThreatFields } from "../../../support/mail-history";

function entry(list: "allow" | "deny", value: string): ProposedEntry {
  return { key: `${list} ${value}`, list, value, entryType: "domain", verdictScope: "global" };
}

function mail(sender: string, action_taken: string, verdict = "malicious"): ThreatFields {
  return { sender_email: sender, recipient_email: "jo@own.example", action_taken, verdict };
}

it("estimates what another entry would let through without a deny", () => {
  const base = evidenceBaseOf({
    threats: [
      mail("a@evil.partner.example", "quarantined"),
      mail("a@evil.partner.example", "quarantined", "safe"),
      mail("a@evil.partner.example", "none"),
      mail("a@elsewhere.example", "quarantined"),
    ],
    vips: ["jo@own.example"],
  });
  const deny = entry("deny", "evil.partner.example");
  expect(estimateEntryRemoval(base, [deny, entry("allow", "partner.example")], deny.key)).toMatchObject({
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
  expect(estimateEntryRemoval(base, [deny, entry("deny", "partner.example")], deny.key)).toMatchObject({
    decidedCount: 3,
    reversedCount: 0,
    undecidedCount: 0,
  });
});

it("estimates what another entry would stop without an allow", () => {
  const base = evidenceBaseOf({
    threats: [mail("a@good.evil.example", "none"), mail("a@good.evil.example", "moved_to_spam")],
  });
  const allow = entry("allow", "good.evil.example");
  expect(estimateEntryRemoval(base, [allow, entry("deny", "evil.example")], allow.key)).toMatchObject({
    decidedCount: 2,
    reversedCount: 1,
    undecidedCount: 0,
    recipientCount: 1,
  });
});

it("counts denied mail as stopped by a deny of any scope", () => {
  const base = evidenceBaseOf({
    threats: [mail("a@deals.example", "quarantined", "denied"), mail("a@deals.example", "none", "spam")],
  });
  const deny: ProposedEntry = { ...entry("deny", "deals.example"), verdictScope: "graymail" };
  expect(estimateEntryRemoval(base, [deny], deny.key)).toMatchObject({ decidedCount: 1, undecidedCount: 1 });
});

it("returns undefined for an IP address, a missing entry or unread threats", () => {
  const base = evidenceBaseOf({ threats: [] });
  const ip: ProposedEntry = { ...entry("deny", "192.0.2.1"), entryType: "ip" };
  expect(estimateEntryRemoval(base, [ip], ip.key)).toBeUndefined();
  expect(estimateEntryRemoval(base, [ip], "deny other.example")).toBeUndefined();
  expect(
    estimateEntryRemoval({ ...base, threats: undefined }, [entry("deny", "a.example")], "deny a.example"),
  ).toBeUndefined();
});

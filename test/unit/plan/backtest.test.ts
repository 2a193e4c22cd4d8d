import { describe, expect, it } from "vitest";
import { runBacktest } from "../../../provider/plan/backtest";
import type { ProposedEntry } from "../../../provider/plan/entry-precedence";
import { buildEvidenceBase, type ThreatFields } from "../../support/mail-history";

describe("backtest", () => {
  it("ranks what an allow would let through", () => {
    const base = buildEvidenceBase({
      threats: [
        buildThreat("a@partner.example", "jo@own.example", "spam", { subject: "newest" }),
        buildThreat("a@partner.example", "jo@own.example", "malicious"),
        buildThreat("b@mail.partner.example", "ceo@own.example", "malicious", { subject: "to the chief" }),
        buildThreat("b@mail.partner.example", "kim@own.example", "malicious"),
        buildThreat("a@partner.example", "jo@own.example", "safe"),
        buildThreat("a@partner.example", "jo@own.example", "malicious", { action_taken: "restored" }),
        buildThreat("a@elsewhere.example", "jo@own.example", "malicious"),
      ],
      vips: ["ceo@own.example"],
    });
    const [allow] = runBacktest(base, buildProposal(["allow partner.example"])).allows;
    expect(allow).toMatchObject({
      key: "partner.example",
      deliveredCount: 4,
      verdicts: [
        { name: "malicious", count: 3 },
        { name: "safe", count: 1 },
        { name: "spam", count: 1 },
      ],
      recipients: [
        { email: "ceo@own.example", isVip: true, count: 1 },
        { email: "jo@own.example", isVip: false, count: 2 },
        { email: "kim@own.example", isVip: false, count: 1 },
      ],
      recipientCount: 3,
      vipCount: 1,
    });
    expect(allow?.examples.map(({ id }) => id)).toEqual(["t2", "t1", "t3"]);
    expect(allow?.examples[0]).toMatchObject({ subject: "to the chief", sender: "b@mail.partner.example" });
  });

  it("ignores mail that a deny of equal or higher precedence stops", () => {
    const base = buildEvidenceBase({ threats: [buildThreat("a@mail.partner.example", "jo@own.example", "malicious")] });
    const countLetThrough = (...others: string[]): number | undefined =>
      runBacktest(base, buildProposal(["allow partner.example"], others)).allows[0]?.deliveredCount;
    expect(countLetThrough()).toBe(1);
    expect(countLetThrough("deny mail.partner.example")).toBe(0);
    expect(countLetThrough("deny a@mail.partner.example")).toBe(0);
    expect(countLetThrough("deny partner.example (graymail)")).toBe(1);
    expect(countLetThrough("deny example")).toBe(1);
    expect(countLetThrough("allow mail.partner.example")).toBe(0);
  });

  it("limits a graymail allow to graymail", () => {
    const base = buildEvidenceBase({
      threats: [
        buildThreat("a@news.example", "jo@own.example", "graymail", { action_taken: "moved_to_graymail" }),
        buildThreat("a@news.example", "jo@own.example", "malicious"),
      ],
    });
    expect(runBacktest(base, buildProposal(["allow news.example (graymail)"])).allows).toMatchObject([
      { key: "news.example (graymail)", deliveredCount: 1, verdicts: [{ name: "graymail", count: 1 }] },
    ]);
  });

  it("counts mail that a deny would have stopped", () => {
    const base = buildEvidenceBase({
      threats: [
        buildThreat("a@evil.example", "jo@own.example", "malicious", { action_taken: "none" }),
        buildThreat("a@evil.example", "kim@own.example", "malicious"),
        buildThreat("a@evil.example", "kim@own.example", "malicious", { action_taken: "shredded" }),
      ],
    });
    const result = runBacktest(
      base,
      buildProposal(["deny evil.example", "deny 192.0.2.1"], ["deny unused.example", "deny 192.0.2.2"]),
    );
    expect(result).toMatchObject({
      threats: 3,
      allows: [],
      denies: [{ key: "evil.example", matchCount: 3, stoppedCount: 1, recipientCount: 2 }],
      unmatchedDenies: ["unused.example"],
      denyCount: 4,
    });
  });

  it("matches either domain of a sender whose two domains differ", () => {
    const threat = buildThreat("a@front.example", "jo@own.example", "malicious", { sender_domain: "real.example" });
    const base = buildEvidenceBase({ threats: [threat] });
    expect(runBacktest(base, buildProposal(["allow real.example"])).allows[0]?.deliveredCount).toBe(1);
    const denied = buildProposal(["allow front.example"], ["deny real.example"]);
    expect(runBacktest(base, denied).allows[0]?.deliveredCount).toBe(0);
  });

  it("replays 10,000 threats against 5,000 entries quickly", () => {
    const threats = Array.from({ length: 10_000 }, (_, index) =>
      buildThreat(`a@m${index % 7}.evil${index % 6_000}.example`, `p${index % 900}@own.example`, "malicious"),
    );
    const entries = Array.from({ length: 5_000 }, (_, index) => `deny evil${index}.example`);
    const base = buildEvidenceBase({ threats });
    const result = runBacktest(base, buildProposal(entries));
    expect(result.denies).toHaveLength(5_000);
    expect(result.denies.reduce((sum, { matchCount }) => sum + matchCount, 0)).toBe(9_000);
  });
});

function buildThreat(
  sender_email: string,
  recipient_email: string,
  verdict: string,
  more: ThreatFields = {},
): ThreatFields {
  const [, sender_domain] = sender_email.split("@");
  return {
    sender_email,
    sender_domain,
    recipient_email,
    verdict,
    action_taken: "quarantined",
    time: "2026-11-20T10:00:00Z",
    ...more,
  };
}

/** Builds a proposal from entries such as "allow news.example (graymail)". */
function buildProposal(changed: readonly string[], unchanged: readonly string[] = []) {
  const parseProposedEntry = (text: string): ProposedEntry => {
    const [, list, value = "", scope = "global"] = /^(\w+) (\S+)(?: \((.*)\))?$/.exec(text) ?? [];
    const entryType = value.includes("@") ? "email_address" : /^\d/.test(value) ? "ip" : "domain";
    const key = scope === "global" ? value : `${value} (${scope})`;
    return { key, list: list as "allow" | "deny", value, entryType, verdictScope: scope };
  };
  const changedEntries = changed.map(parseProposedEntry);
  return {
    entries: [...unchanged.map(parseProposedEntry), ...changedEntries],
    changedKeys: changedEntries.map(({ key }) => key),
  };
}

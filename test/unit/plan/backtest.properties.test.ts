import fc from "fast-check";
import { expect, it } from "vitest";
import { encodeEntryKey } from "../../../provider/model/encoded-list";
import { runBacktest } from "../../../provider/plan/backtest";
import type { ProposedEntry } from "../../../provider/plan/entry-precedence";
import { collectEvidence } from "../../../provider/plan/evidence";
import { buildEvidenceBase, type ThreatFields } from "../../support/mail-history";
import { getRunCount } from "../../support/matrix-sampling";

/** Few labels, so that mail and entries match often. */
const domain = fc
  .array(fc.constantFrom("a", "b", "mail", "evil"), { minLength: 1, maxLength: 3 })
  .map((labels) => [...labels, "example"].join("."));
const mailbox = fc.tuple(fc.constantFrom("ann", "bob"), domain).map(([local, host]) => `${local}@${host}`);
const vip = "ceo@own.example";
const verdict = fc.constantFrom("malicious", "spam", "graymail", "safe", "allowed", "simulation", "denied");
const action = fc.constantFrom(
  "moved_to_trash",
  "moved_to_graymail",
  "quarantined",
  "released_from_quarantine",
  "restored",
  "none",
  "deleted_some_day",
);

const threat: fc.Arbitrary<ThreatFields> = fc
  .record({
    sender: fc.option(mailbox, { nil: undefined }),
    // Usually the sender's own domain; sometimes a different one from the service.
    otherDomain: fc.option(domain, { nil: undefined, freq: 3 }),
    recipient_email: fc.constantFrom(vip, "jo@own.example", "kim@own.example"),
    verdict,
    action_taken: action,
  })
  .map(({ sender, otherDomain, ...rest }) => ({
    ...rest,
    sender_email: sender,
    sender_domain: otherDomain ?? sender?.split("@")[1],
  }));

const entries = fc
  .uniqueArray(
    fc.record({
      list: fc.constantFrom("allow" as const, "deny" as const),
      value: fc.oneof(domain, mailbox),
      verdictScope: fc.constantFrom("global", "global", "graymail"),
      isNew: fc.boolean(),
    }),
    { selector: ({ list, value, verdictScope }) => `${list} ${value} ${verdictScope}`, maxLength: 12 },
  )
  .map((all) =>
    all.map(({ list, value, verdictScope, isNew }) => {
      const entryType = value.includes("@") ? ("email_address" as const) : ("domain" as const);
      const key = `${list} ${encodeEntryKey({ value, entryType, verdictScope })}`;
      return { key, list, value, entryType, verdictScope, isNew };
    }),
  );

/** Returns whether an entry is about a threat: a reference implementation in the simplest form. */
function isAbout(entry: ProposedEntry, { sender_email, sender_domain, verdict: mailVerdict }: ThreatFields): boolean {
  const isStopped = entry.list === "deny" && mailVerdict === "denied";
  if (entry.verdictScope !== "global" && mailVerdict !== "graymail" && !isStopped) return false;
  if (entry.value.includes("@")) return sender_email === entry.value;
  return [sender_email?.split("@")[1], sender_domain].some((from) => `.${from}`.endsWith(`.${entry.value}`));
}

function findDecider(all: readonly (ProposedEntry & { isNew: boolean })[], item: ThreatFields) {
  const computePrecedence = (entry: ProposedEntry & { isNew: boolean }): string =>
    [
      entry.value.includes("@") ? "0" : `${1000 - entry.value.split(".").length}`.padStart(5, "1"),
      entry.list === "deny" ? "0" : "1",
      entry.isNew ? "1" : "0",
      entry.key,
    ].join(" ");
  return all
    .filter((entry) => isAbout(entry, item))
    .reduce<(typeof all)[number] | undefined>(
      (best, entry) => (best === undefined || computePrecedence(entry) < computePrecedence(best) ? entry : best),
      undefined,
    );
}

const isStopped = ({ action_taken = "" }: ThreatFields): boolean => /^(moved|quarantined)/.test(action_taken);
const isThere = ({ action_taken = "" }: ThreatFields): boolean =>
  ["none", "restored", "released_from_quarantine"].includes(action_taken);
const isHarmless = ({ verdict: mailVerdict = "" }: ThreatFields): boolean =>
  ["safe", "allowed", "simulation"].includes(mailVerdict);

it("matches a brute-force backtest for every new entry", () => {
  fc.assert(
    fc.property(entries, fc.array(threat, { maxLength: 15 }), (all, threats) => {
      const base = buildEvidenceBase({ threats, vips: [vip] });
      const changed = all.filter(({ isNew }) => isNew);
      const result = runBacktest(base, { entries: all, changedKeys: changed.map(({ key }) => key) });

      const allows = changed.filter(({ list }) => list === "allow");
      expect(result.allows.map(({ key }) => key).sort()).toEqual(allows.map(({ key }) => key).sort());
      for (const { key, deliveredCount, recipientCount, vipCount, verdicts, examples } of result.allows) {
        const decided = threats.filter((candidate) => isStopped(candidate) && findDecider(all, candidate)?.key === key);
        const through = decided.filter((candidate) => !isHarmless(candidate));
        const people = new Set(through.map(({ recipient_email }) => recipient_email));
        expect({ deliveredCount, recipientCount, vipCount }).toEqual({
          deliveredCount: through.length,
          recipientCount: people.size,
          vipCount: Number(people.has(vip)),
        });
        expect(verdicts.reduce((sum, { count }) => sum + count, 0)).toBe(decided.length);
        expect(examples).toHaveLength(Math.min(3, through.length));
      }

      const denies = changed.filter(({ list }) => list === "deny");
      expect(result.denies.map(({ key }) => key).sort()).toEqual(denies.map(({ key }) => key).sort());
      for (const { key, matchCount, stoppedCount } of result.denies) {
        const entry = denies.find((deny) => deny.key === key) as ProposedEntry;
        expect({ matchCount, stoppedCount }).toEqual({
          matchCount: threats.filter((candidate) => isAbout(entry, candidate)).length,
          stoppedCount: threats.filter((candidate) => isThere(candidate) && findDecider(all, candidate)?.key === key)
            .length,
        });
      }

      const allDenies = all.filter(({ list }) => list === "deny");
      expect(result.denyCount).toBe(allDenies.length);
      const unmatched = allDenies.filter((entry) => !threats.some((candidate) => isAbout(entry, candidate)));
      expect(result.unmatchedDenies).toEqual(unmatched.map(({ key }) => key).sort());
    }),
    { numRuns: getRunCount(500) },
  );
});

it("matches a brute-force search for a domain's or mailbox's threats", () => {
  fc.assert(
    fc.property(fc.oneof(domain, mailbox), fc.array(threat, { maxLength: 15 }), (value, threats) => {
      const base = buildEvidenceBase({ threats, vips: [vip] });
      const entryFields = { key: "", list: "deny", value, verdictScope: "global", entryType: "domain" } as const;
      const evidence = collectEvidence(base, { kind: "entry", value });
      expect(evidence?.threats).toBe(threats.filter((candidate) => isAbout(entryFields, candidate)).length);
      expect(evidence?.verdicts.reduce((sum, { count }) => sum + count, 0)).toBe(evidence?.threats);
    }),
    { numRuns: getRunCount(500) },
  );
});

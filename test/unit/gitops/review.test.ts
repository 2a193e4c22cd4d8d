import { describe, expect, it } from "vitest";
import type { AllowDenyEntryRow } from "../../../provider/client";
import { readSettings } from "../../../provider/files/read-settings";
import { reviewOf } from "../../../provider/gitops/review";
import { reviewMarkdown, reviewText } from "../../../provider/gitops/review-report";
import { observedFrom } from "../../../provider/plan/observed";
import { evidenceBaseOf, type ThreatFields } from "../../support/evidence-base";
import { commandsIn, HOSTILE } from "../../support/hostile-text";

const TODAY = "2026-11-21";
const KEPT = "reviewed: { on: 2026-11-15, by: Dana }";

function review(
  files: Readonly<Record<string, string>>,
  threats: ThreatFields[] | undefined,
  created = "2026-01-01",
) {
  const settings = readSettings("acme.yaml", {
    today: TODAY,
    ownDomains: [],
    readFile: (path) => files[path] ?? "",
  });
  const rows = settings.entries.map(
    ({ list, value, entryType, verdictScope }): AllowDenyEntryRow => ({
      id: value,
      list,
      entry_type: entryType,
      value,
      verdict_scope: verdictScope,
      created_at: `${created}T00:00:00Z`,
      comment: undefined,
      created_by: undefined,
    }),
  );
  const asked =
    threats === undefined
      ? undefined
      : { observed: observedFrom(`${TODAY}T00:00:00Z`, rows, []), base: evidenceBaseOf({ threats }) };
  const found = reviewOf(settings, asked);
  return {
    found,
    told: found.items.map(
      ({ list, value, reasons }) => `${list} ${value}: ${reasons.map(({ kind }) => kind).join(" ")}`,
    ),
  };
}

const malicious = (day: string): ThreatFields => ({
  sender_email: "a@bad.example",
  verdict: "malicious",
  detection_time: `2026-11-${day}T10:00:00Z`,
  time: `2026-11-${day}T10:00:00Z`,
});

describe("what is to be looked at", () => {
  const own = (about: string) => ({
    "acme.yaml": `version: 1\nallow:\n  - { value: bad.example${about} }\n`,
  });

  it("is an allow that was found malicious, until somebody keeps it, and again once there is more such mail", () => {
    expect(review(own(""), [malicious("10")]).told).toEqual(["allow bad.example: malicious"]);
    expect(review(own(`, ${KEPT}`), [malicious("10")]).told).toEqual([]);
    expect(review(own(`, ${KEPT}`), [malicious("10"), malicious("16")]).told).toEqual([
      "allow bad.example: malicious",
    ]);
  });

  it("is one whose decision stands in a file that others share: it says nothing of this tenant's mail", () => {
    const files = {
      "acme.yaml": "version: 1\ninclude: [base.yaml]\n",
      "base.yaml": `version: 1\nallow:\n  - { value: bad.example, ${KEPT} }\n`,
    };
    expect(review(files, [malicious("10")]).told).toEqual(["allow bad.example: malicious"]);
  });

  it("is what the policy refuses, however often it was kept, what ends and ended, and what no mail came under", () => {
    const files = {
      "acme.yaml": `version: 1\npolicy: { requireOwner: [allow] }\nallow:\n  - { value: a.example, expires: never, ${KEPT} }\n  - { value: b.example, owner: Dana, expires: 2026-11-30 }\n  - { value: c.example, owner: Dana, expires: 2026-11-20, ${KEPT} }\ndeny:\n  - old.example\n  - { value: kept.example, ${KEPT} }\n`,
    };
    expect(review(files, []).told).toEqual([
      "allow a.example: policy",
      "allow c.example: ended",
      "allow b.example: ending",
      "deny old.example: unused",
    ]);
    expect(review(files, [], "2026-11-20").told).not.toContain("deny old.example: unused");
    const offline = review(files, undefined);
    expect(offline.told).toEqual([
      "allow a.example: policy",
      "allow c.example: ended",
      "allow b.example: ending",
    ]);
    expect(offline.found.notAsked[0]).toContain("The tenant was not asked");
  });

  it("is what is due: by its last decision, else by the day on which the service got it", () => {
    const files = {
      "acme.yaml":
        "version: 1\npolicy: { reviewEvery: 30d }\ndeny:\n  - { value: a.example, reviewed: { on: 2026-10-01, by: Dana } }\n  - { value: b.example, reviewed: { on: 2026-11-01, by: Dana } }\n  - c.example\n",
    };
    const mail = ["a", "b", "c"].map((name): ThreatFields => ({ sender_email: `x@${name}.example` }));
    expect(review(files, mail).told).toEqual(["deny a.example: due", "deny c.example: due"]);
    expect(review(files, mail, "2026-11-15").told).toEqual(["deny a.example: due"]);
  });
});

describe("the worklist", () => {
  it("has a box each, is bounded, and holds nothing that does anything", () => {
    const entries = Array.from(
      { length: 2_000 },
      (_, at) => `  - { value: d${at}.example, expires: 2026-11-25 }\n`,
    );
    const { found } = review({ "acme.yaml": `version: 1\ndeny:\n${entries.join("")}` }, undefined);
    const markdown = reviewMarkdown(found, "acme.yaml");
    expect(markdown.length).toBeLessThan(65_536);
    expect(markdown).toMatch(/^<!-- email-security-review -->\n/);
    expect(markdown).toContain("- [ ] deny `d0.example`");
    expect(markdown).toMatch(/… and \d+ more/);
    const [item] = found.items;
    const hostile = {
      ...found,
      items: [{ ...item, list: "deny" as const, value: Object.values(HOSTILE).join(" "), reasons: [] }],
    };
    expect(commandsIn(reviewText(hostile, Object.values(HOSTILE).join(" ")))).toEqual([]);
    expect(commandsIn(reviewMarkdown(hostile, Object.values(HOSTILE).join(" ")))).toEqual([]);
  });
});

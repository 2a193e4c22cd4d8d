import { stripVTControlCharacters } from "node:util";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { renderPlanText } from "../../../../provider/plan/render/plan-text";
import { commandsIn } from "../../../support/hostile-text";
import {
  blindPlan,
  calmPlan,
  dangerousPlan,
  emptyPlan,
  hugePlan,
  markupText,
  planOf,
  realisticPlan,
} from "../../../support/plans";

/** Returns the text independent of its line width. */
function read(text: string): string {
  return text.replace(/\s+/g, " ");
}

describe("plan as text", () => {
  test("shows the dangerous allow first with its mail evidence", () => {
    const text = renderPlanText(realisticPlan);
    expect(text).toMatch(/^Plan for acme.*\n.*\n.*\n\nDANGER {2}Of 7 changes, 1 is dangerous and 1 needs a look\.\n/);
    expect(text.indexOf("+ add allow supplier-portal.test (domain)")).toBeLessThan(text.indexOf("Needs a look ("));
    expect(read(text)).toContain(
      "+ add allow supplier-portal.test (domain) mail 37 threats in 30 days, 35 malicious, 2 spam, last 2026-11-19; to 4 people, 2 of them VIPs; it would have let 31 through.",
    );
  });

  test("shows blockers before everything else", () => {
    const text = renderPlanText(dangerousPlan);
    expect(text).toMatch(/^REFUSED {2}This run would be refused, by the guard against mass removal/m);
    expect(text.indexOf("Refused by removal-guard")).toBeLessThan(text.indexOf("Danger (1)"));
    expect(text).toContain("\n    If that is meant, say so for one run:\n      confirmRemovals: 120\n");
  });

  test("shows the previous state, requester and source line of changes", () => {
    const text = read(renderPlanText(realisticPlan));
    for (const fragment of [
      "~ change deny → allow news.example.com (domain, scope graymail)",
      "comment Too many → Marketing reads it",
      "asked for ticket CHG-2210, owner Marcus Bell, approved by Samuel Okoro, until 2027-03-31",
      "declared settings/acme.yaml:22, in place of baseline/security.yaml:31",
      "held made by tomas.lindqvist@acme.example on 2024-03-02",
      "finding warning policy-expiry: news.example.com does not say when it ends.",
      "why: expired on 2026-10-31",
      "why: no longer declared",
      "of 9 threats it would have stopped the 4 that reached a mailbox, to 2 people, 1 of them a VIP",
      "allow old-partner.example: until 2026-10-31, the tenant still holds it, settings/acme.yaml:18",
      "allow clicked.example (domain, made by tomas.lindqvist@acme.example on 2026-11-02): by hand",
      "3 of 96 denies matched no threat in 30 days.",
      "412 threats and 38 reports of users, of the 30 days until 2026-11-21 09:30 UTC.",
      `Digest ${realisticPlan.digest}`,
    ]) {
      expect(text).toContain(fragment);
    }
  });

  test("summarizes a plan without danger and an empty plan", () => {
    expect(renderPlanText(calmPlan)).toContain("LOOKS FINE  5 changes, with no risks found.");
    expect(renderPlanText(emptyPlan)).toContain("NOTHING TO DO  acme holds what is declared.");
  });

  test("does not claim that a plan is fine without evidence", () => {
    const text = read(renderPlanText(blindPlan));
    expect(text).toContain(
      "NO FINDING 5 changes, with no finding; but the evidence from the tenant's mail is incomplete.",
    );
    expect(text).toContain("Missing: The key may not read threats (403).");
    expect(text).not.toMatch(/looks fine/i);
  });

  test("contains the same text with and without color", () => {
    const coloured = renderPlanText(realisticPlan, { color: true });
    expect(coloured).toContain("\u001b[");
    expect(stripVTControlCharacters(coloured)).toBe(renderPlanText(realisticPlan));
  });

  test("wraps at the given width without breaking values", () => {
    for (const width of [80, 100, 132]) {
      const lines = renderPlanText(realisticPlan, { width }).split("\n");
      expect(lines.filter((line) => line.length > width)).toEqual([]);
    }
    const narrow = renderPlanText(realisticPlan, { width: 40 });
    expect(narrow).toContain("\n  ~ change deny → allow\n    news.example.com (domain, scope\n    graymail)\n");
  });

  test("shows the most dangerous of 5,000 changes and counts the rest", () => {
    const plan = hugePlan(5_000);
    const lines = renderPlanText(plan).split("\n");
    const heads = lines.filter((line) => /^ {2}[+~-] (?:add|change|remove) /.test(line));
    expect(heads).toHaveLength(50 + 150 + 100);
    expect(lines).toContain("  … and 4,700 more:");
    const counted = lines.flatMap((line) => /^ {6}([\d,]+) × /.exec(line)?.[1]?.replace(",", "") ?? []);
    expect(counted.reduce((sum, count) => sum + Number(count), 0)).toBe(4_700);
    expect(lines.length).toBeLessThan(4_500);
    const all = renderPlanText(plan, { limit: Number.POSITIVE_INFINITY });
    expect(all.match(/^ {2}[+~-] (?:add|change|remove) /gm)).toHaveLength(5_000);
    expect(all).not.toContain("… and");
  });

  test("sanitizes external text", () => {
    fc.assert(
      fc.property(markupText, fc.integer({ min: 0, max: 200 }), (text, width) => {
        const shown = renderPlanText(planOf(text), { width });
        expect(commandsIn(shown)).toEqual([]);
        expect(shown.match(/^ {2}~ change /gm)).toHaveLength(3);
      }),
    );
  });
});

import { stripVTControlCharacters } from "node:util";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { renderPlanText } from "../../../../provider/plan/render/plan-text";
import { collapseSpaces } from "../../../support/collapse-spaces";
import { findTerminalCommands } from "../../../support/hostile-text";
import {
  blindPlan,
  buildHugePlan,
  buildTextPlan,
  calmPlan,
  dangerousPlan,
  emptyPlan,
  markupText,
  realisticPlan,
} from "../../../support/plans";

describe("plan as text", () => {
  test("shows the dangerous allow first with its mail evidence", () => {
    const text = renderPlanText(realisticPlan);
    expect(text).toMatch(
      /^Plan for acme.*\n.*\n\nDANGER {2}7 changes: 1 dangerous, 1 with a warning\.\nPlan: 4 to add, 1 to change, 2 to remove\. /,
    );
    expect(text.indexOf("+ add allow supplier-portal.test (domain)")).toBeLessThan(text.indexOf("Warnings ("));
    expect(collapseSpaces(text)).toContain(
      "+ add allow supplier-portal.test (domain) mail 37 threats in 30 days, 35 malicious, 2 spam, last 2026-11-19; to 4 people, 2 of them VIPs; 31 would have been delivered.",
    );
  });

  test("shows blockers before everything else", () => {
    const text = renderPlanText(dangerousPlan);
    expect(text).toMatch(/^REFUSED {2}Blocked by the removal guard/m);
    expect(text.indexOf("Refused by removal-guard")).toBeLessThan(text.indexOf("Danger (1)"));
    expect(text).toContain("\n    If that is meant, say so for one run:\n      confirmRemovals: 120\n");
  });

  test("shows the previous state, requester and source line of changes", () => {
    const text = collapseSpaces(renderPlanText(realisticPlan));
    for (const fragment of [
      "~ change deny → allow news.example.com (domain, scope graymail)",
      "comment Too many → Marketing reads it",
      "approval ticket CHG-2210, owner Marcus Bell, approved by Samuel Okoro, expires 2027-03-31",
      "declared settings/acme.yaml:22, overrides baseline/security.yaml:31",
      "tenant created by tomas.lindqvist@acme.example on 2024-03-02",
      "finding warning policy-expiry: news.example.com does not say when it ends.",
      "reason expired on 2026-10-31",
      "reason no longer declared",
      "of 9 matching threats, this entry would have stopped the 4 that reached a mailbox, to 2 people, 1 of them a VIP",
      "allow old-partner.example: expired on 2026-10-31, still at the tenant, settings/acme.yaml:18",
      "allow clicked.example (domain, created by tomas.lindqvist@acme.example on 2026-11-02): by hand",
      "3 of 96 denies matched no threat in 30 days.",
      "412 threats and 38 user reports from the 30 days until 2026-11-21 09:30 UTC.",
      `Digest ${realisticPlan.digest}`,
    ]) {
      expect(text).toContain(fragment);
    }
  });

  test("summarizes a plan without danger and an empty plan", () => {
    expect(renderPlanText(calmPlan)).toContain("NO RISKS FOUND  5 changes, and complete mail evidence.");
    expect(renderPlanText(emptyPlan)).toContain("NO CHANGES  acme matches its declared state.");
  });

  test("does not claim that a plan is fine without evidence", () => {
    const text = collapseSpaces(renderPlanText(blindPlan));
    expect(text).toContain("INCOMPLETE EVIDENCE 5 changes without a finding. The mail evidence is incomplete.");
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

  test("shows the most dangerous of 5,000 changes", () => {
    const plan = buildHugePlan(5_000);
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
        const output = renderPlanText(buildTextPlan(text), { width });
        expect(findTerminalCommands(output)).toEqual([]);
        expect(output.match(/^ {2}~ change /gm)).toHaveLength(3);
      }),
    );
  });
});

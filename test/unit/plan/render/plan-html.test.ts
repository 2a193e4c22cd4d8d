import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { renderPlanHtml } from "../../../../provider/plan/render/plan-html";
import { findTerminalCommands, HOSTILE } from "../../../support/hostile-text";
import {
  buildHugePlan,
  buildTextPlan,
  calmPlan,
  dangerousPlan,
  emptyPlan,
  markupText,
  realisticPlan,
} from "../../../support/plans";

/** Returns all tags with their attributes, in order. */
function extractTags(page: string): string[] {
  const body = page.replace(/<style>.*?<\/style>/s, "<style></style>");
  return [...body.matchAll(/<[^>]*>/g)].map(([tag]) => tag);
}

/** Returns the text that a reader sees: without tags and with character references decoded. */
function extractText(page: string): string {
  return page
    .replace(/<style>.*?<\/style>/s, "")
    .replace(/<[^>]*>/g, "")
    .replace(/&#(\d+);/g, (_, code: string) => String.fromCharCode(Number(code)));
}

describe("plan as HTML", () => {
  test("starts with the blockers", () => {
    const page = extractText(renderPlanHtml(dangerousPlan));
    const order = [
      "Blocked by the removal guard and `protect`.",
      "entries would lose 120 of 212 entries (57 %), more than 30 %.\n    - a.example\n",
      "supplier-portal.test",
      "37 threats in 30 days, 35 malicious, 2 spam, last 2026-11-19; to 4 people, 2 of them VIPs; 31 would have been delivered.",
      "3 examples of 31 threats that would have been delivered",
      "Warnings 1\n",
      "deny → allow",
      "Too many → Marketing reads it",
      "No risks found 5\n",
      "Data used",
      dangerousPlan.digest,
    ].map((fragment) => page.indexOf(fragment));
    expect(order).not.toContain(-1);
    expect(order).toEqual(order.toSorted((a, b) => a - b));
  });

  test("is self-contained", () => {
    for (const plan of [emptyPlan, calmPlan, dangerousPlan, buildHugePlan(300)]) {
      const page = renderPlanHtml(plan);
      expect(page).toContain(
        `<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">`,
      );
      expect(page).not.toMatch(/<script|<link|<img|<iframe|<a\b|\ssrc=|\shref=|url\(|@import|\son\w+=/i);
    }
  });

  test("contains every change as an expandable item", () => {
    const page = renderPlanHtml(buildHugePlan(1_000));
    expect(page.match(/<li class="change /g)).toHaveLength(1_000);
    expect(page.match(/<li class="change is-danger [^>]*><details open>/g)).toHaveLength(10);
    expect(page.match(/<li class="change is-none [^>]*><details>/g)).toHaveLength(960);
  });

  test("limits its size", () => {
    const page = renderPlanHtml(buildHugePlan(20_000));
    expect(Buffer.byteLength(page)).toBeLessThan(12_000_000);
    expect(extractText(page)).toMatch(
      /… and [\d,]+ more, which are not on this page: (?:[\d,]+ \w+ \w+(?:, )?)+\. `--format json` shows all of them\./,
    );
    // Every dangerous change keeps its details; a change beyond the limit is a single line.
    expect(page.match(/<li class="change is-danger [^>]*><details/g)).toHaveLength(200);
    expect(page).toMatch(/<li class="change is-none [^>]*><p class="line">/);
  });

  test("shows evidence, owner and expiry in a collapsed change", () => {
    const [, folded = ""] =
      /<summary>((?:(?!<\/summary>).)*acme-login\.example.*?)<\/summary>/s.exec(renderPlanHtml(realisticPlan)) ?? [];
    expect(extractText(folded)).toContain("INC-1042: look-alike of the login page");
    expect(extractText(folded)).toContain(
      "9 threats in 30 days, all malicious, last 2026-11-12; to 2 people, 1 of them a VIP.",
    );
    expect(extractText(folded)).toContain("ticket INC-1042, owner Dana Reyes, never expires");
  });

  test("labels table cells for narrow screens", () => {
    const labels = [...renderPlanHtml(realisticPlan).matchAll(/<td data-label="(\w+)">/g)].map(([, label]) => label);
    expect(labels.slice(0, 5)).toEqual(["When", "From", "To", "Subject", "Verdict"]);
  });

  test("offers filters by severity and list", () => {
    const labels = [...renderPlanHtml(realisticPlan).matchAll(/<label>.*?> (.*?)<\/label>/g)].map(([, label]) => label);
    expect(labels).toEqual([
      "All 7",
      "Danger 1",
      "Warnings 1",
      "No risks found 5",
      "All lists 7",
      "Allow 3",
      "Deny 3",
      "VIP 2",
    ]);
    expect(renderPlanHtml(emptyPlan)).not.toContain("<label>");
  });

  test("renders the same tags for any external text", () => {
    // A known verdict is rendered as code, and a text of several lines has line breaks.
    const renderTags = (text: string) =>
      extractTags(renderPlanHtml(buildTextPlan(text))).filter((tag) => tag !== "<br>" && !/^<\/?code>$/.test(tag));
    const plain = renderTags("evil.example");
    for (const text of Object.values(HOSTILE)) expect(renderTags(text)).toEqual(plain);
    fc.assert(
      fc.property(fc.tuple(markupText, fc.constantFrom("evil.example", "<b>")), ([text, end]) => {
        expect(renderTags(text + end)).toEqual(plain);
      }),
      { endOnFailure: true },
    );
  });

  test("contains no pipeline command when printed", () => {
    fc.assert(
      fc.property(markupText, (text) => {
        expect(findTerminalCommands(renderPlanHtml(buildTextPlan(text)))).toEqual([]);
      }),
      { endOnFailure: true },
    );
  });
});

import { describe, expect, it } from "vitest";
import { renderReviewCsv } from "../../../../provider/commands/review/review-csv";
import { renderReviewHtml } from "../../../../provider/commands/review/review-html";
import { renderReviewMarkdown } from "../../../../provider/commands/review/review-markdown";
import { formatReviewJson, reviewSchema } from "../../../../provider/commands/review/review-schema";
import { renderReviewText } from "../../../../provider/commands/review/review-text";
import { findTerminalCommands, HOSTILE } from "../../../support/hostile-text";
import {
  buildHugeReview,
  buildReviewReport,
  buildTextReview,
  emptyReview,
  mixedReview,
  unreadReview,
} from "../../../support/reviews";

const ALL = {
  reviewCsv: renderReviewCsv,
  reviewHtml: renderReviewHtml,
  reviewJson: formatReviewJson,
  reviewMarkdown: renderReviewMarkdown,
  reviewText: renderReviewText,
};

describe("a rendered review", () => {
  it.each(Object.entries(ALL))("contains only plain text in %s", (_name, render) => {
    for (const text of Object.values(HOSTILE)) {
      // Tables use the line ends that spreadsheets expect.
      const output = render(buildTextReview(text)).replaceAll(/\r\n/g, "\n");
      expect(findTerminalCommands(output)).toEqual([]);
    }
  });

  it("has the same HTML tags for hostile text", () => {
    const renderTags = (text: string): string[] =>
      [...renderReviewHtml(buildTextReview(text)).matchAll(/<[^>]*>/g)]
        .map(([tag]) => tag)
        .filter((tag) => tag !== "<br>" && !/^<\/?code>$/.test(tag));
    for (const text of Object.values(HOSTILE)) expect(renderTags(text)).toEqual(renderTags("evil"));
  });

  it("loads nothing as HTML", () => {
    for (const report of [emptyReview, mixedReview, buildHugeReview(300)]) {
      const page = renderReviewHtml(report);
      expect(page).toContain(`content="default-src 'none'; style-src 'unsafe-inline'"`);
      expect(page).not.toMatch(/<script|<link|<img|<iframe|<a\b|\ssrc=|\shref=|url\(|@import|\son\w+=/i);
    }
  });

  it("shows the source of an entry in each format", () => {
    const source = { name: "phish-feed", kind: "url", firstSeen: "2026-10-01", lastSeen: "2026-11-18" };
    const reasons = [{ kind: "unused", evidence: "No mail." }] as const;
    const report = buildReviewReport([{ list: "deny", value: "evil.example", source, reasons }]);
    for (const [name, render] of Object.entries(ALL)) expect(render(report), name).toContain("phish-feed");
    expect(renderReviewCsv(report)).toMatch(/,"phish-feed","2026-10-01","2026-11-18"\r?\n$/);
    expect(renderReviewText(report).replace(/\s+/g, " ")).toContain(
      "source phish-feed (url), first seen on 2026-10-01, last seen on 2026-11-18",
    );
  });

  it("escapes formulas in CSV", () => {
    const cells = renderReviewCsv(buildTextReview("=1+1")).split(/\r\n|,/);
    expect(cells.filter((cell) => /^"?[=+@-]/.test(cell))).toEqual([]);
    expect(cells.filter((cell) => cell === `"'=1+1"`)).toHaveLength(8);
  });

  it("reads back unchanged from JSON", () => {
    for (const text of Object.values(HOSTILE).filter((candidate) => candidate.isWellFormed())) {
      const report = buildTextReview(text);
      expect(reviewSchema.parse(JSON.parse(formatReviewJson(report)))).toEqual(report);
    }
  });

  it("limits the size of Markdown and HTML", () => {
    const huge = buildHugeReview(20_000);
    const markdown = renderReviewMarkdown(huge);
    expect(markdown.length).toBeLessThan(65_536);
    expect(markdown).toMatch(/^<!-- email-security-review -->\n/);
    const boxes = markdown.match(/^- \[ \] /gm)?.length ?? 0;
    expect(markdown).toContain(`… and ${20_000 - boxes} more`);
    const page = renderReviewHtml(huge);
    expect(Buffer.byteLength(page)).toBeLessThan(3_000_000);
    const lines = page.match(/<li class="change /g)?.length ?? 0;
    expect(page).toContain(`… and ${(20_000 - lines).toLocaleString("en-US")} more`);
  });
});

describe("a review as text", () => {
  it("wraps lines to the terminal width", () => {
    const lines = renderReviewText(mixedReview, 80).split("\n");
    expect(lines.filter((line) => line.length > 80)).toEqual([]);
    expect(lines.slice(0, 9)).toEqual([
      "5 items to review in settings/acme.yaml: 3 allows, 1 deny, 1 person.",
      "",
      'allow supplier-portal.test ("Contract 7 ⏎ asked for by sales", INC-1042, owner',
      "  noah.keller@acme.example, until 2026-12-02, settings/acme.yaml:12)",
      "  Found malicious. The service detected threats in 13 messages from it in the",
      "    last 30 days: 13 malicious; 2 of them stayed in a mailbox.",
      "  Expires soon. It expires on 2026-12-02, in 11 days, unless you extend it.",
      "",
      "allow billing@partner.example (graymail, owner dana@elsewhere.example,",
    ]);
    expect(renderReviewText(emptyReview)).toBe("No items to review in settings/acme.yaml.\n");
    expect(renderReviewText(unreadReview)).toBe(
      "No items to review in settings/acme.yaml, in what could be read.\n\nSome data could not be read, so there may be more to review:\n  Of the threats, none could be read: 500.\n",
    );
    expect(renderReviewMarkdown(unreadReview)).toContain(
      "**Some data could not be read, so there may be more to review:** Of the threats",
    );
  });
});

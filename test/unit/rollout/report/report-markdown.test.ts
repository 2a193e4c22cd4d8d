import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { ROLLOUT_COMMENT_MARKER, renderReportMarkdown } from "../../../../provider/rollout/report/report-markdown";
import { findTerminalCommands, hostileText } from "../../../support/hostile-text";
import { findBreakouts } from "../../../support/markdown-breakouts";
import { playRollout, playTextRollout, rollouts } from "../../../support/rollouts";

describe("a rollout report as Markdown", () => {
  test("shows its sections in order", () => {
    const text = renderReportMarkdown(rollouts.stopped.after);
    const order = [
      `${ROLLOUT_COMMENT_MARKER}\n## Email security rollout of \`tenants.yaml\`\n`,
      '> [!CAUTION]\n> **Stopped.** 3 tenants of wave "early" failed, and 2 may. 92 of 300 tenants match',
      "✗ **3** failed · ✓ **32** changed · = **60** unchanged · · **205** pending",
      "```text\nemail-security rollout resume r-20261121-7f3a\n```",
      "### Failed (3)\n\n#### ✗ `hooli-020` (wave `early`, `mail-security-0.example`)\n\n- Error: The tenant changed",
      "- Fix: Plan the rollout again.",
      "### Waves\n",
      "| ✗ `early` stopped | 39 of 45 | 3 failed (2 tolerated), 27 changed,",
      "<details><summary>297 tenants without a failure</summary>",
      "| ✓ `acme-000` changed | `canary` | `+` `deny` `phish-0.example`<br>",
      "Digest: `sha256:5d3c0f6a`\n",
    ].map((fragment) => text.indexOf(fragment));
    expect(order).not.toContain(-1);
    expect(order).toEqual(order.toSorted((a, b) => a - b));
    expect(findBreakouts(text)).toEqual([]);
    // The report of a planning that ended early takes the place of its plan.
    expect(renderReportMarkdown(rollouts.stopped.after, { marker: "<!-- email-security-plan -->" })).toBe(
      text.replace(ROLLOUT_COMMENT_MARKER, "<!-- email-security-plan -->"),
    );
  });

  test.each([1_000, 5_000])("accounts for each of %d tenants within GitHub's size limit", (tenants) => {
    const failing = Array.from({ length: tenants / 10 }, (_, n) => tenants / 5 + n * 3);
    const { after } = playRollout({ tenants, failing, tolerated: tenants, changes: 20 });
    const text = renderReportMarkdown(after);
    expect(Buffer.byteLength(text)).toBeLessThanOrEqual(65_536);
    expect(Buffer.byteLength(text)).toBeGreaterThan(40_000);
    const countMatches = (pattern: RegExp) =>
      [...text.matchAll(pattern)].reduce((sum, [, count]) => sum + Number(count?.replace(",", "") ?? 1), 0);
    expect(countMatches(/^(?:#### |- )✗ /gm) + countMatches(/^… and ([\d,]+) more failed tenants\.$/gm)).toBe(
      after.counts.failed,
    );
    expect(countMatches(/^\| [✓=–·] `[a-z-]*-\d{3,}`/gm) + countMatches(/^… and ([\d,]+) more\.$/gm)).toBe(
      tenants - after.counts.failed,
    );
  });

  test("never exceeds its limit for hostile text", () => {
    const costly = fc.constantFrom("\u2028", "`", "``` ", "\u{e0001}", "日", "a b@c ", "|", "\n", "x", "@");
    const long = fc.tuple(costly, fc.integer({ min: 1, max: 5_000 })).map(([text, times]) => text.repeat(times));
    fc.assert(
      fc.property(
        fc.oneof(long, hostileText),
        fc.constantFrom(6, 200),
        fc.integer({ min: 32_768, max: 70_000 }),
        (text, tenants, limit) => {
          const failing = Array.from({ length: tenants }, (_, n) => n);
          const { after } = playRollout({ tenants, failing, text, tolerated: tenants });
          const advice = Array.from({ length: 9 }, () => ({ reason: text, command: text }));
          const output = renderReportMarkdown({ ...after, reason: text, advice }, { limit });
          expect(Buffer.byteLength(output)).toBeLessThanOrEqual(limit);
          expect(output.length).toBeLessThanOrEqual(limit);
        },
      ),
      { numRuns: 30 },
    );
  });

  test("contains hostile text only as plain text", () => {
    fc.assert(
      fc.property(hostileText, (text) => {
        const output = renderReportMarkdown(playTextRollout(text).after);
        expect(findBreakouts(output)).toEqual([]);
        expect(findTerminalCommands(output)).toEqual([]);
      }),
      { numRuns: 50 },
    );
  });

  test("rejects a limit too small for any content", () => {
    expect(() => renderReportMarkdown(rollouts.small.after, { limit: 1_000 })).toThrow(RangeError);
  });
});

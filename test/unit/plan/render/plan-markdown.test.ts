import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Plan, PlanChange } from "../../../../provider/plan/plan";
import { PLAN_COMMENT_MARKER, renderPlanMarkdown } from "../../../../provider/plan/render/plan-markdown";
import { escapeMarkdown, formatMarkdownBlock, formatMarkdownCode } from "../../../../provider/render/markdown-text";
import { findTerminalCommands, HOSTILE } from "../../../support/hostile-text";
import { findBreakouts } from "../../../support/markdown-breakouts";
import {
  blindPlan,
  buildHugePlan,
  buildTextPlan,
  calmPlan,
  dangerousPlan,
  emptyPlan,
  hostilePlan,
  markupText,
  realisticPlan,
} from "../../../support/plans";

describe("plan as Markdown", () => {
  test("starts with the comment marker", () => {
    for (const plan of [emptyPlan, calmPlan, realisticPlan, dangerousPlan, hostilePlan]) {
      const lines = renderPlanMarkdown(plan).trimEnd().split("\n");
      expect(lines[0]).toBe("<!-- email-security-plan -->");
      expect(lines[0]).toBe(PLAN_COMMENT_MARKER);
      expect(lines.at(-1)).toMatch(/^Digest: `/);
    }
    expect(renderPlanMarkdown(emptyPlan)).toContain(`\nDigest: \`${emptyPlan.digest}\`\n`);
  });

  test("shows blockers before dangers", () => {
    const text = renderPlanMarkdown(dangerousPlan);
    const order = [
      "> [!CAUTION]\n> **Refused.** Blocked by the removal guard and `protect`.",
      "### Refused\n",
      "### Danger (1)\n\n#### `+` add allow `supplier-portal.test` (domain)\n\n- **Mail:** **37 threats in 30 days, 35 malicious, 2 spam, last 2026-11-19; to 4 people, 2 of them VIPs; 31 would have been delivered.**\n",
      "### Warnings (1)\n\n#### `~` change deny → allow `news.example.com` (domain, scope `graymail`)\n",
      "- **Comment:** `Too many` → `Marketing reads it`\n",
      "### No risks found (5)\n",
      "<details><summary>Unmanaged (2)</summary>",
      "<details><summary>Data used</summary>",
    ].map((fragment) => text.indexOf(fragment));
    expect(order).not.toContain(-1);
    expect(order).toEqual(order.toSorted((a, b) => a - b));
  });

  test("summarizes plans without danger, changes or evidence", () => {
    expect(renderPlanMarkdown(calmPlan)).toContain(
      "> [!TIP]\n> **No risks found.** 5 changes, and complete mail evidence.",
    );
    expect(renderPlanMarkdown(emptyPlan)).toContain("> [!NOTE]\n> **No changes.** `acme` matches its declared state.");
    expect(renderPlanMarkdown(blindPlan)).toContain(
      "- Missing: The key may not read threats `(403)`.".replace("`(403)`", "(403)"),
    );
  });

  test("shows the most important of 10,000 changes", () => {
    const text = renderPlanMarkdown(buildHugePlan(10_000), { artifact: "https://ci.example/jobs/7?a=1&b=2" });
    expect(Buffer.byteLength(text)).toBeLessThanOrEqual(65_536);
    expect(Buffer.byteLength(text)).toBeGreaterThan(50_000);
    expect(text.match(/add allow `sender-/g)).toHaveLength(100);
    expect(text).toContain("in [the artifact](<https://ci.example/jobs/7?a=1&amp;b=2>)");
    // Every change is accounted for, in whatever form.
    const changeLines = text.match(/^(?:#### |- |\| )`[+~-]` (?:add|change|remove) /gm) ?? [];
    const rest = [...text.matchAll(/^… and ([\d,]+) more in \[the artifact\]\(<[^>]*>\): /gm)].map(([, count]) =>
      Number(count?.replace(",", "")),
    );
    expect(changeLines.length + rest.reduce((sum, count) => sum + count, 0)).toBe(10_000);
    expect(text).toMatch(/^… and [\d,]+ more, in \[the artifact\]/m);
  });

  test("rejects a limit that is too small", () => {
    expect(() => renderPlanMarkdown(emptyPlan, { limit: 1_000 })).toThrow(RangeError);
    expect(() => renderPlanMarkdown(emptyPlan, { limit: Number.NaN })).toThrow(RangeError);
  });

  test("shows an artifact without an https URL as plain text", () => {
    for (const artifact of ["javascript:alert(1)", "http://evil.example", "plan.html", "](x) @all"]) {
      const text = renderPlanMarkdown(buildHugePlan(2_000), { artifact });
      expect(text).toContain(`in the artifact \`${artifact}\``);
      expect(findBreakouts(text)).toEqual([]);
    }
  });

  test("stays within its limit for any external text", () => {
    const costly = fc.constantFrom("\u2028", "`", "``` ", "\u{e0001}", "日", "a b@c ", "|", "\n", "x", '"', "@");
    const long = fc.tuple(costly, fc.integer({ min: 1, max: 5_000 })).map(([text, times]) => text.repeat(times));
    fc.assert(
      fc.property(
        fc.oneof(long, markupText),
        fc.integer({ min: 1, max: 40 }),
        fc.integer({ min: 32_768, max: 70_000 }),
        fc.option(fc.webUrl(), { nil: undefined }),
        (text, times, limit, artifact) => {
          const output = renderPlanMarkdown(repeatLists(buildTextPlan(text), times), {
            limit,
            ...(artifact !== undefined && { artifact }),
          });
          expect(Buffer.byteLength(output)).toBeLessThanOrEqual(limit);
          expect(output.length).toBeLessThanOrEqual(limit);
          expect(output).toMatch(/\nDigest: .*\n$/);
          expect(findBreakouts(output.replaceAll(/\[the artifact\]\(<https:[^<>\\`\s]*>\)/g, ""))).toEqual([]);
        },
      ),
      { numRuns: 25, endOnFailure: true },
    );
  });

  test("neutralizes markup in external text", () => {
    fc.assert(
      fc.property(markupText, (text) => {
        const output = renderPlanMarkdown(buildTextPlan(text));
        expect(findBreakouts(output)).toEqual([]);
        expect(findTerminalCommands(output)).toEqual([]);
      }),
      { examples: [["www"], ["www."], ["mailto:"]] },
    );
  });

  test("keeps the same structure for any external text", () => {
    const renderParts = (text: string) =>
      renderPlanMarkdown(buildTextPlan(text))
        .replace(/^(`{3,})text\n.*?\n\1$/gms, "")
        .split("\n")
        .filter((line) => /^(?:#|<|>|\|--|- \*\*|```)/.test(line))
        .map((line) => /^(?:#+|<\/?\w+|>|\||- \*\*[\w ]+:\*\*|`{3})/.exec(line)?.[0]);
    const plain = renderParts("2026-11-21");
    for (const text of Object.values(HOSTILE)) expect(renderParts(text)).toEqual(plain);
  });
});

/** Returns the plan with each list repeated. */
function repeatLists(plan: Plan, times: number): Plan {
  const repeatElements = <T>(all: readonly T[]) => Array.from({ length: times }, () => all).flat();
  const changes = repeatElements(plan.changes).map(
    (change): PlanChange => ({
      ...change,
      overrides: repeatElements(change.overrides ?? []),
      findings: repeatElements(change.findings),
    }),
  );
  return {
    ...plan,
    changes,
    blockers: repeatElements(plan.blockers),
    unmanaged: repeatElements(plan.unmanaged),
    expired: repeatElements(plan.expired),
    findings: repeatElements(plan.findings),
    source: { ...plan.source, files: repeatElements(plan.source.files) },
    evidence: { ...plan.evidence, missing: repeatElements(plan.evidence.missing) },
  };
}

describe("Markdown escaping", () => {
  test.each([
    ["evil.example", "`evil.example`"],
    ["a`b", "``a`b``"],
    ["`a``", "``` `a`` ```"],
    [" a ", "`  a  `"],
    ["x\ny", "`x ⏎ y`"],
    ["a\u200bb", "`a\\u{200b}b`"],
    ["", "(empty)"],
    ["  ", "(blank)"],
  ])("formats %o as the code span %s", (text, output) => {
    expect(formatMarkdownCode(text)).toBe(output);
  });

  test("truncates a long code span", () => {
    expect(formatMarkdownCode("abcdef", 3)).toBe("`abc…`");
  });

  test.each([
    ["It is refused. Allow 1 mailbox, or two.", "It is refused. Allow 1 mailbox, or two."],
    ['"a.example" is a domain', '"`a.example`" is a domain'],
    ["write `expires: never`.", "write `expires: never`."],
    ["ask @everyone (or #1)", "ask `@everyone` (or `#1`)"],
    ["see www.evil.example, http://evil.example!", "see `www.evil.example`, `http://evil.example`!"],
    ["a.b`c`", "`a.b` `c`"],
    ["<b>bold</b> *it*", "`<b>bold</b>` `*it*`"],
    ["commit deadbeef", "commit `deadbeef`"],
    ["begins with www. or with mailto: alone", "begins with `www`. or with `mailto`: alone"],
  ])("escapes the sentence %o as %s", (text, output) => {
    expect(escapeMarkdown(text)).toBe(output);
  });

  test("escapes any markup in a sentence", () => {
    fc.assert(
      fc.property(markupText, (text) => {
        expect(findBreakouts(`- Said: ${escapeMarkdown(text)}`)).toEqual([]);
      }),
    );
  });

  test("fences a block so that its lines can't close it", () => {
    expect(formatMarkdownBlock("a\n```\n::add-mask::x\n", 100)).toBe("````text\na\n```\n\\u{3a}:add-mask::x\n````\n");
  });
});

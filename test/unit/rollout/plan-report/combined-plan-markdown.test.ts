import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Plan } from "../../../../provider/plan/plan";
import { PLAN_COMMENT_MARKER } from "../../../../provider/plan/render/plan-markdown";
import { renderCombinedPlanHtml } from "../../../../provider/rollout/plan-report/combined-plan-html";
import { renderCombinedPlanMarkdown } from "../../../../provider/rollout/plan-report/combined-plan-markdown";
import type { MailSearchResult } from "../../../../provider/rollout/planning/search-tenant-mail";
import { combinePlans, createDenyPlan } from "../../../support/combined-plans";
import { findTerminalCommands, HOSTILE } from "../../../support/hostile-text";
import { findBreakouts } from "../../../support/markdown-breakouts";
import { buildHugePlan, buildTextPlan, dangerousPlan, emptyPlan, markupText } from "../../../support/plans";

/** Returns the number of tenants in the folded list of all tenants, by its lines. */
function countListedTenants(markdown: string): number {
  const [, fold = ""] = /<summary>Each tenant \([\d,]+\)<\/summary>\n\n(.*?)\n<\/details>/s.exec(markdown) ?? [];
  return fold
    .split("\n")
    .filter((line) => line !== "")
    .reduce((sum, line) => {
      const many = /^(?:- `.` |… and )([\d,]+) (?:more )?tenants?,/.exec(line)?.[1];
      const names = /^- `.` (.*?): /.exec(line)?.[1]?.match(/`t\d+`/g)?.length ?? 0;
      return sum + (many === undefined ? names : Number(many.replace(",", "")));
    }, 0);
}

const SEVERAL = 9;

describe("the combined plan as Markdown", () => {
  test("lists a shared change once with its tenants, line and ticket", () => {
    const shared = createDenyPlan("evil.example");
    const plans = [
      ...Array.from({ length: 40 }, () => shared),
      createDenyPlan("evil.example", "own.example"),
      emptyPlan,
    ];
    const text = renderCombinedPlanMarkdown(combinePlans(plans));
    expect(text.split("\n", 2)).toEqual([PLAN_COMMENT_MARKER, "## Email security plan of `tenants.yaml`"]);
    expect(text).toContain("> **Incomplete evidence.** 41 of 42 tenants would change, with 2 different changes.");
    expect(text).toContain("**Plan: 42 to add, 0 to change, 0 to remove.** 41 tenants to change, 1 tenant unchanged.");
    expect(text).toContain(
      "| `+` add deny<br>`evil.example`<br>domain, in 41 of 42 tenants: group 1 | `Phishing` | ticket `INC-7`<br>`settings/baseline.yaml:2` |  |\n",
    );
    expect(text.match(/`evil\.example`/g)).toHaveLength(1);
    expect(text).toContain("- `~` 40 tenants, group 2: +1 ~0 -0\n");
    expect(text).toContain("- `~` `t40`: +2 ~0 -0; not in all tenants: `+` deny `own.example`\n");
    expect(text).toContain("- `=` `t41`: unchanged\n");
    expect(text).toMatch(/<summary>Group 1: 41 tenants<\/summary>\n\n`t0`, `t1`, .*`t40`\n\n<\/details>/);
    expect(text.endsWith("\nDigest: `sha256:5d3c0f6a`\n")).toBe(true);
  });

  test("describes an only-expired rollout as such", () => {
    const { report, ...summaryInput } = combinePlans([createDenyPlan("old.example"), emptyPlan]);
    const text = renderCombinedPlanMarkdown({ ...summaryInput, report: { ...report, mode: "only-expired" } });
    expect(text).toContain("## Email security plan of `tenants.yaml`: it only removes expired entries\n");
    expect(text).toContain("1 tenant unchanged.");
    expect(text).toContain("- `=` `t1`: unchanged\n");
    expect(text).not.toContain("0 unchanged");
  });

  test("shows where tenants differ in location and risk of one change", () => {
    const [change] = createDenyPlan("evil.example").changes;
    if (change === undefined) throw new Error("no change");
    const risky: Plan = {
      ...createDenyPlan("evil.example"),
      changes: [{ ...change, severity: "danger", place: { file: "settings/t1.yaml", line: 9, column: 1 } }],
    };
    const text = renderCombinedPlanMarkdown(
      combinePlans([createDenyPlan("evil.example"), risky, createDenyPlan("evil.example")]),
    );
    expect(text).toContain(
      "### Danger (1)\n\n#### `+` add deny `evil.example` (domain, in all 3 tenants, a risk in 1 of them)\n",
    );
    expect(text).toContain("- **Declared:** `settings/baseline.yaml:2` (in `t0` and `t2`)\n");
    expect(text).toContain("- **Declared:** `settings/t1.yaml:9` (in `t1`)\n");
  });

  test("shows only the refusal of a tenant with another tenant's key", () => {
    const stranger: Plan = {
      ...createDenyPlan("secret.example"),
      blockers: [{ code: "other-tenant", message: "The key of t1 is another tenant's." }],
    };
    const summary = combinePlans([createDenyPlan("evil.example"), stranger]);
    for (const text of [renderCombinedPlanMarkdown(summary), renderCombinedPlanHtml(summary)]) {
      expect(text).toContain("Refused");
      expect(text).not.toContain("secret.example");
    }
    const text = renderCombinedPlanMarkdown(summary);
    expect(text).toContain("```text\nt1:\nThe key of t1 is another tenant's.\n```\n");
    expect(text).toContain("**Plan: 1 to add, 0 to change, 0 to remove.**");
    expect(text).toContain("- `!` `t1`: refused\n");
  });

  test("lists the changes of a drift revert", () => {
    const summary = combinePlans([createDenyPlan("evil.example"), emptyPlan, emptyPlan]);
    const unreverted = ["1 other change that is pending"];
    const tenants = summary.report.tenants.map((tenant, index) =>
      index === 0 ? { ...tenant, drift: ["deny evil.example: removed, by `@all`"] } : { ...tenant, unreverted },
    );
    const revertSummary = { ...summary, report: { ...summary.report, mode: "revert-drift" as const, tenants } };
    for (const text of [
      renderCombinedPlanMarkdown(revertSummary),
      renderCombinedPlanHtml(revertSummary).replace(/<[^>]+>/g, ""),
    ]) {
      expect(text).toContain("it only reverts drift");
      expect(text).toContain("Reverted");
    }
    const text = renderCombinedPlanMarkdown(revertSummary);
    expect(text).toContain("### Reverted\n\n- `` deny evil.example: removed, by `@all` `` in `t0`\n");
    expect(text).toContain("### Not reverted\n\n- `1 other change that is pending` in `t1` and `t2`\n");
    expect(text).toContain("- `=` `t1` and `t2`: unchanged\n");
    expect(findBreakouts(text)).toEqual([]);
  });

  test("shows a wave's closed hours", () => {
    const summary = combinePlans([createDenyPlan("evil.example")]);
    const waves = summary.report.waves.map((wave) => ({ ...wave, closedHours: ["18:00–07:00"] }));
    expect(renderCombinedPlanMarkdown({ ...summary, report: { ...summary.report, waves } })).toContain(
      ", not 18:00–07:00",
    );
  });

  test("lists skipped tenants with the reason", () => {
    const summary = combinePlans([createDenyPlan("evil.example")]);
    const skipped = [
      {
        name: "t003",
        skippedAt: "2026-11-22T02:10:00.000Z",
        skippedBy: "dana@laptop",
        reason: "its key is revoked\n# x",
      },
    ];
    const skippedSummary = { ...summary, report: { ...summary.report, skipped } };
    const words = "since 2026-11-22 02:10 UTC by";
    expect(renderCombinedPlanMarkdown(skippedSummary)).toContain(
      "> [!WARNING]\n> **Warning.** 1 of 1 tenant would change, with 1 different change. Skipped: `t003`.",
    );
    expect(renderCombinedPlanMarkdown(skippedSummary)).toContain(
      `### Skipped (1)\n\n- \`t003\`, ${words} \`dana@laptop\`: its key is revoked`,
    );
    expect(renderCombinedPlanHtml(skippedSummary).replace(/<[^>]+>/g, "")).toContain(
      `t003, ${words} dana@laptop: its key is revoked`,
    );
    expect(renderCombinedPlanMarkdown(summary)).not.toContain("Skipped");
  });

  test("says whose mail was searched and whose is unavailable", () => {
    const mail: MailSearchResult = {
      days: 30,
      candidateCount: 3,
      evidenceByTenant: new Map([
        ["t0", { changes: new Map(), severities: { danger: 0, accepted: 0, warning: 0 }, missing: ["No permission."] }],
      ]),
      unavailable: [{ tenant: "t1", reason: "It is down." }],
      blockers: [],
    };
    const text = renderCombinedPlanMarkdown(
      combinePlans([createDenyPlan("a.example"), createDenyPlan("b.example"), createDenyPlan("c.example")], { mail }),
    );
    expect(text).toContain(
      "Mail evidence of the last 30 days from 1 of 3 tenants with changes (`t0`). This is a sample; `--evidence all` reads the mail of all tenants.\n",
    );
    expect(text).toContain("### Missing mail evidence\n\n- `t1`: It is down.\n- `t0`: No permission.\n\n");
  });

  test("accounts for every change and tenant within GitHub's size limit", () => {
    const own = Array.from({ length: 300 }, (_, index) =>
      index % 100 === 99
        ? undefined
        : createDenyPlan("evil.example", ...(index % 3 === 0 ? [`own-${index}.example`] : [])),
    );
    const huge = buildHugePlan(1_000);
    for (const plans of [own, [...own, huge, huge]]) {
      const summary = combinePlans(plans);
      const text = renderCombinedPlanMarkdown(summary);
      expect(Buffer.byteLength(text)).toBeLessThanOrEqual(65_536);
      expect(countListedTenants(text)).toBe(plans.length);
      expect(text.match(/<details/g)?.length).toBe(text.match(/<\/details>/g)?.length);
      const { dangers, accepted, warnings, others } = summary.combinedPlan;
      const changeLines = text.match(/^(?:#### |- |\| )`[+~-]` (?:add|change|remove) /gm) ?? [];
      const rest = [...text.matchAll(/^… and ([\d,]+) more in the artifact: /gm)].map(([, count]) =>
        Number(count?.replace(",", "")),
      );
      expect(changeLines.length + rest.reduce((sum, count) => sum + count, 0)).toBe(
        dangers.length + accepted.length + warnings.length + others.length,
      );
      expect(findBreakouts(text)).toEqual([]);
    }
  });

  test("stays within its limit as plain text for hostile input", () => {
    fc.assert(
      fc.property(
        markupText,
        fc.constantFrom(1, 40),
        fc.integer({ min: 1, max: 12 }),
        fc.integer({ min: 32_768, max: 66_000 }),
        (text, times, tenants, limit) => {
          const long = text.repeat(times);
          const plans = Array.from({ length: tenants }, (_, index) =>
            index % 5 === 4 ? undefined : index % 2 === 0 ? buildTextPlan(long) : dangerousPlan,
          );
          const mail: MailSearchResult = {
            days: 30,
            candidateCount: 2 * SEVERAL,
            evidenceByTenant: new Map(
              Array.from({ length: SEVERAL }, (_, index) => [
                `${long}${index}`,
                { changes: new Map(), severities: { danger: 0, accepted: 0, warning: 0 }, missing: [long] },
              ]),
            ),
            unavailable: Array.from({ length: SEVERAL }, () => ({ tenant: long, reason: long })),
            blockers: [],
          };
          const { report, plannedRollout, combinedPlan } = combinePlans(plans, { text: long, mail });
          const again = { rollout: long, by: long, tenants: [long], changes: Array(SEVERAL).fill(long) };
          const options = {
            report: { ...report, tenants: report.tenants.map((tenant) => ({ ...tenant, unreverted: [long] })) },
            plannedRollout: { ...plannedRollout, reappliedChanges: Array(SEVERAL).fill(again) },
            combinedPlan,
          };
          const markdown = renderCombinedPlanMarkdown(options, { limit });
          expect(Buffer.byteLength(markdown)).toBeLessThanOrEqual(limit);
          expect(findBreakouts(markdown)).toEqual([]);
          expect(findTerminalCommands(markdown)).toEqual([]);
          expect(markdown).toMatch(/\nDigest: .*\n$/);
          expect(countListedTenants(markdown)).toBe(tenants);
        },
      ),
      {
        numRuns: 10,
        examples: ["\u2028", "\u{e0001}", "` ", "a@b.c ", "日"].map((item) => [item.repeat(2_000), 1, 9, 32_768]),
      },
    );
  });

  test("groups equal tenants regardless of the order of changes", () => {
    const [a, b] = [createDenyPlan("a.example", "b.example"), createDenyPlan("b.example", "a.example")];
    expect(combinePlans([a, b]).combinedPlan.tenantSets).toHaveLength(1);
    expect(() => renderCombinedPlanMarkdown(combinePlans([a]), { limit: 1_000 })).toThrow(RangeError);
  });
});

test("lists every tenant on the HTML page", () => {
  const text = Object.values(HOSTILE).join(" ");
  const plans = [
    ...Array.from({ length: 60 }, (_, index) => createDenyPlan("evil.example", `own-${index}.example`)),
    buildTextPlan(text),
  ];
  const page = renderCombinedPlanHtml(combinePlans(plans, { text }));
  for (let index = 0; index < 60; index += 1) {
    expect(page).toContain(`<bdi class="untrusted">t${index}</bdi>`);
    expect(page).toContain(`<code><bdi>own-${index}.example</bdi></code>`);
  }
  expect(page).not.toContain("<script");
  expect(page).not.toContain("\u001b");
});

import { describe, expect, it } from "vitest";
import type { Plan, PlanChange } from "../../../../provider/plan/plan";
import { renderPlanHtml } from "../../../../provider/plan/render/plan-html";
import { formatPlanJson } from "../../../../provider/plan/render/plan-json";
import { renderPlanMarkdown } from "../../../../provider/plan/render/plan-markdown";
import { renderPlanText } from "../../../../provider/plan/render/plan-text";
import { emptyPlan, realisticPlan } from "../../../support/plans";

/* The output of every format. */

const FORMATS = {
  text: renderPlanText,
  markdown: renderPlanMarkdown,
  html: renderPlanHtml,
  json: formatPlanJson,
} as const;

const [first] = realisticPlan.changes as [PlanChange];

function renderEveryFormat(plan: Plan): [name: string, text: string][] {
  return Object.entries(FORMATS).map(([name, render]) => [
    name,
    render(plan)
      .replace(/<style>.*?<\/style>/s, "")
      .replace(/<[^>]*>/g, "")
      .replace(/\s+/g, " "),
  ]);
}

describe.each(Object.keys(FORMATS))("plan as %s", (name) => {
  const renderFormat = (plan: Plan): string => renderEveryFormat(plan).find(([item]) => item === name)?.[1] ?? "";

  it("shows a punycode domain in its own script too", () => {
    const change: PlanChange = { ...first, value: "xn--mnchen-3ya.example", unicode: "münchen.example" };
    const text = renderFormat({ ...emptyPlan, changes: [change] });
    expect(text).toContain("xn--mnchen-3ya.example");
    expect(text).toContain("münchen.example");
  });

  it("shows an accepted risk with its reason", () => {
    const change: PlanChange = { ...first, severity: "accepted", acceptedRiskReason: "Their incident is over" };
    const text = renderFormat({ ...emptyPlan, changes: [change] });
    expect(text).toMatch(name === "json" ? /"severity": "accepted"/ : /risk accepted/i);
    expect(text).toContain("Their incident is over");
  });

  it("shows a policy override before the changes", () => {
    const finding = {
      code: "override",
      level: "note",
      message: "`policy.maxDays` is 90 here, which is looser than 30",
      place: { file: "settings/acme.yaml", line: 4, column: 3 },
    } as const;
    const text = renderFormat({ ...emptyPlan, changes: [first], findings: [finding] });
    expect(text).toMatch(/policy\.maxDays.? is 90 here/);
    if (name !== "json") expect(text.indexOf("is 90 here")).toBeLessThan(text.indexOf(first.value));
  });

  it("shows which entries an addition may replace", () => {
    const mayReplace = [
      { key: "partner.example (graymail)", before: { list: "allow", createdBy: "Dana Reyes" } },
    ] as const;
    const text = renderFormat({ ...emptyPlan, changes: [{ ...first, severity: "none", findings: [], mayReplace }] });
    expect(text).toContain("partner.example (graymail)");
    expect(text).toContain("Dana Reyes");
  });

  it("omits unmatched denies when no threat was read", () => {
    const backtest = { threats: 0, allows: [], denies: [], unmatchedDenies: ["evil.example"], denyCount: 19 };
    const text = renderFormat({ ...emptyPlan, backtest });
    expect(text).not.toContain("matched no threat");
  });
});

import { describe, expect, it } from "vitest";
import { RolloutCommands } from "../../../../provider/rollout/model/rollout-commands";
import type { RolloutReport, TenantReport } from "../../../../provider/rollout/model/rollout-report";
import { renderPlanOverviewText } from "../../../../provider/rollout/plan-report/plan-overview-text";
import { renderReportHtml } from "../../../../provider/rollout/report/report-html";
import { renderReportMarkdown } from "../../../../provider/rollout/report/report-markdown";
import { ChangeTally } from "../../../../provider/rollout/report/shared-changes";
import { findTerminalCommands, HOSTILE } from "../../../support/hostile-text";
import { findBreakouts } from "../../../support/markdown-breakouts";
import { rollouts } from "../../../support/rollouts";

type ReportRenderer = (report: RolloutReport) => string;

const FORMATS: Readonly<Record<string, ReportRenderer>> = {
  text: (report) => {
    const changes = new ChangeTally();
    for (const { name, changes: all } of report.tenants) changes.add(name, all);
    const planned = { blockers: [], backend: "file:///state", changes: changes.changes };
    return renderPlanOverviewText(report, planned, new RolloutCommands(), { width: 500 });
  },
  Markdown: (report) => renderReportMarkdown(report),
  HTML: (report) => renderReportHtml(report),
};

const all = Object.keys(FORMATS);
const { before } = rollouts.stopped;

/** Returns the report with additional fields for its tenants. */
function reportWith(getChanges: (tenant: TenantReport, index: number) => Partial<TenantReport>): RolloutReport {
  return { ...before, tenants: before.tenants.map((tenant, index) => ({ ...tenant, ...getChanges(tenant, index) })) };
}

/** Returns the visible text, without the format's markup. */
const extractVisibleText = (text: string) => text.replace(/<\/?\w+[^>]*>|`/g, "").replace(/\s+/g, " ");

describe.each(all)("a rollout report as %s", (format) => {
  const renderReport = (report: RolloutReport): string => FORMATS[format]?.(report) ?? "";

  it("lists tenants' policy overrides, identical ones once", () => {
    const formatOverride = (name: string) => `settings/${name}.yaml:4: \`policy.requireTicket\` is [] here`;
    const report = reportWith(({ name }, index) => ({
      overrides: [formatOverride(name), ...(index === 3 ? ["base.yaml:2: something else"] : [])],
    }));
    const text = renderReport(report);
    const plainText = extractVisibleText(text);
    const [first, second] = before.tenants;
    expect(plainText).toContain("Overrides of included files");
    expect(plainText).toContain(
      `settings/${first?.name}.yaml:4: policy.requireTicket is [] here; also in ${second?.name}, `,
    );
    expect(plainText).toContain(", and 294 more");
    expect(plainText.match(/policy\.requireTicket/g)).toHaveLength(1);
    expect(plainText).toContain("base.yaml:2: something else");
    expect(renderReport(before)).not.toContain("Overrides of included files");
  });

  it("limits the overrides", () => {
    const hostile = Object.values(HOSTILE);
    const report = reportWith((_tenant, index) => ({
      overrides: Array.from({ length: 10 }, (_, n) => `${index} ${n} ${hostile[n]?.slice(0, 450)}`),
    }));
    const text = renderReport(report);
    expect(text.length - renderReport(before).length).toBeLessThan(120_000);
    expect(extractVisibleText(text)).toMatch(/… and [\d,]+ more/);
    expect(findTerminalCommands(text)).toEqual([]);
    if (format === "Markdown") {
      expect(Buffer.byteLength(text)).toBeLessThanOrEqual(65_536);
      expect(findBreakouts(text)).toEqual([]);
    }
  });

  it("shows a punycode domain also in its own script", () => {
    const value = "xn--mnchen-3ya.example";
    const report = reportWith((_tenant, index) =>
      index > 0 ? {} : { changes: [{ operation: "add", kind: "entry", list: "allow", value, severity: "danger" }] },
    );
    expect(extractVisibleText(renderReport(report))).toContain(`${value} (münchen.example)`);
  });
});

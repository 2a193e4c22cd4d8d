import { expect, it } from "vitest";
import { RolloutCommands } from "../../../../provider/rollout/model/rollout-commands";
import type { RolloutEvent } from "../../../../provider/rollout/model/rollout-event";
import type { RolloutReport, SkippedReport } from "../../../../provider/rollout/model/rollout-report";
import { formatReportJson, reportSchema } from "../../../../provider/rollout/model/rollout-report";
import { renderCombinedPlanMarkdown } from "../../../../provider/rollout/plan-report/combined-plan-markdown";
import { renderPlanOverviewText } from "../../../../provider/rollout/plan-report/plan-overview-text";
import { PlainProgress } from "../../../../provider/rollout/progress/plain-progress";
import { ProgressModel } from "../../../../provider/rollout/progress/progress-model";
import { renderReportHtml } from "../../../../provider/rollout/report/report-html";
import { renderReportMarkdown } from "../../../../provider/rollout/report/report-markdown";
import { renderReportText } from "../../../../provider/rollout/report/report-text";
import { combinePlans, createDenyPlan } from "../../../support/combined-plans";
import { findTerminalCommands, HOSTILE } from "../../../support/hostile-text";
import { findBreakouts } from "../../../support/markdown-breakouts";
import { countStates, rollouts } from "../../../support/rollouts";

const HOSTILE_TEXT = Object.values(HOSTILE).join(" ");
const buildSkippedReport = (name: string, reason = "its service is down"): SkippedReport => ({
  ...{ name, skippedAt: "2026-11-21T03:12:00.000Z", skippedBy: "dana@build-7", reason },
});

/** Builds a report in which these tenants are skipped and others were left out of the plan. */
function reportWith(names: readonly string[], leftOut: readonly SkippedReport[] = []): RolloutReport {
  const { after } = rollouts.small;
  const tenants = after.tenants.map((tenant) =>
    names.includes(tenant.name) ? { ...tenant, state: "skipped" as const } : tenant,
  );
  return {
    ...{
      ...after,
      tenants,
      counts: countStates(tenants),
      skipped: [...names.map((name) => buildSkippedReport(name)), ...leftOut],
    },
    waves: after.waves.map((wave) => ({
      ...{ ...wave, counts: countStates(tenants.filter((tenant) => tenant.wave === wave.name)) },
    })),
  };
}

const [FIRST = "", SECOND = "", THIRD = ""] = rollouts.small.after.tenants.map(({ name }) => name);

it.each([
  [[FIRST], "2 tenants match their files.", "1 skipped"],
  [[FIRST, SECOND], "1 tenant matches its files.", "2 skipped"],
  [[FIRST, SECOND, THIRD], "Nothing remains to do.", "3 skipped"],
])("doesn't report a rollout with skipped tenants as complete: %j", (names, hold, butFor) => {
  const text = renderReportText(reportWith(names), { width: 200 });
  expect(text).toContain(`DONE, ${butFor.toUpperCase()}  ${hold} Skipped: ${names[0]}`);
  expect(text).toContain(`⊘ ${FIRST}, since 2026-11-21 03:12 UTC by dana@build-7: its service is down`);
  expect(text).not.toMatch(/\bAll\b/);
});

it("lists skipped tenants left out of the plan in every format", () => {
  const many = Array.from({ length: 500 }, (_, index) =>
    buildSkippedReport(`left${index}${HOSTILE_TEXT}`, HOSTILE_TEXT),
  );
  const report = reportWith([FIRST], many);
  expect(reportSchema.parse(JSON.parse(formatReportJson(report)))).toEqual(report);
  const markdown = renderReportMarkdown(report);
  expect(markdown).toContain(`### Skipped (501)\n\n- \`${FIRST}\`, since 2026-11-21`);
  expect(Buffer.byteLength(markdown)).toBeLessThanOrEqual(65_536);
  expect(findBreakouts(markdown)).toEqual([]);
  const page = renderReportHtml(report);
  expect(page).toContain('Skipped <span class="n">501</span>');
  expect(page).toContain("… and 401 more");
  expect(page).not.toContain("<script");
  const planned = { blockers: [], backend: "file:///state", changes: [] };
  const overview = renderPlanOverviewText(
    { ...rollouts.small.before, skipped: many.slice(0, 2) },
    planned,
    new RolloutCommands(),
  );
  expect(overview).toMatch(/Skipped \(2\)\n\n {2}⊘ left0/);
  for (const text of [renderReportText(report), overview]) expect(findTerminalCommands(text)).toEqual([]);
});

it("names skipped tenants in the combined plan's headline", () => {
  const { report, ...summaryInput } = combinePlans([createDenyPlan("evil.example"), createDenyPlan("evil.example")]);
  const view = {
    ...summaryInput,
    report: { ...report, skipped: [buildSkippedReport("t8"), buildSkippedReport("t9")] },
  };
  const headline = "2 of 2 tenants would change, with 1 different change.";
  expect(renderCombinedPlanMarkdown(view)).toContain(`${headline} Skipped: \`t8\` and \`t9\`.\n`);
  expect(renderCombinedPlanMarkdown({ ...summaryInput, report })).toContain(`${headline}\n`);
});

it("removes a skipped tenant from the running and failed counts", () => {
  const { before } = rollouts.small;
  const model = new ProgressModel(before);
  const rolloutFields = {
    rollout: before.id,
    occurredAt: "2026-11-21T03:12:00.000Z",
    wave: before.waves[0]?.name ?? "",
  };
  const events: readonly RolloutEvent[] = [
    { ...rolloutFields, seq: 1, kind: "tenant-started", tenant: FIRST, attempt: 1, worker: "host:1" },
    { ...rolloutFields, seq: 2, kind: "tenant-finished", tenant: FIRST, state: "failed", durationMs: 1_000 },
    { ...rolloutFields, seq: 3, kind: "tenant-skipped", tenant: FIRST, reason: `down${HOSTILE_TEXT}`, actor: "dana" },
  ];
  for (const event of events.slice(0, 2)) model.handleEvent(event);
  expect([model.counts.failed, model.failures.length]).toEqual([1, 1]);
  for (const event of events.slice(2)) model.handleEvent(event);
  expect(model.counts).toMatchObject({ failed: 0, skipped: 1, running: 0 });
  expect([model.failures.length, model.running.size]).toEqual([0, 0]);
  const lines: string[] = [];
  const progress = new PlainProgress(before, (line) => lines.push(line));
  for (const event of events) progress.handleEvent(event);
  expect(lines[2]).toMatch(/^2026-11-21 03:12:00Z {2}1\/3 {2}\S+ {2}\S+: SKIPPED by dana: down/);
  expect(findTerminalCommands(lines.join(""))).toEqual([]);
});

import { describeDangers } from "../../model/danger";
import { sanitizeLine } from "../../model/text";
import {
  describeValue,
  formatListName,
  OPERATION_SYMBOLS,
  OVERRIDES_HEADING,
} from "../../plan/render/plan-descriptions";
import { formatPlanSummary } from "../../plan/render/plan-view";
import {
  formatCount,
  formatNumber,
  joinTexts,
  type SafeText,
  safeText,
  untrusted,
  untrustedSentence,
} from "../../render/safe-text";
import { TextPage } from "../../render/text-page";
import { fitToWidth, getTextWidth } from "../../render/text-width";
import { formatDuration } from "../model/duration";
import type { RolloutCommands } from "../model/rollout-commands";
import { MODE_TEXTS } from "../model/rollout-mode";
import type { RolloutReport, TenantReport } from "../model/rollout-report";
import type { PlannedRollout } from "../planning/plan-rollout";
import { getReportedTransition } from "../report/change-danger";
import { formatKeyRoute, groupKeyRoutes } from "../report/key-routes";
import { type ReportTextOptions, writeSkippedTenants } from "../report/report-text";
import { findStackOnlyTenants, interleaveLines } from "../report/rollout-report-view";
import type { SharedChange } from "../report/shared-changes";
import { formatOverride, groupOverrides } from "../report/shared-overrides";

/**
 * Renders the plan of a rollout for a terminal, before anything is written: the blockers, the changes and their number
 * of tenants, the risks, the waves and the digest. A plan with a single tenant shows every change. Values from outside
 * are sanitized.
 */
export function renderPlanOverviewText(
  report: RolloutReport,
  {
    blockers,
    backend,
    changes: sharedChanges,
    reappliedChanges = [],
  }: Pick<PlannedRollout, "blockers" | "backend" | "changes" | "reappliedChanges">,
  commands: RolloutCommands,
  { color = false, width = 80, limit = 20 }: ReportTextOptions = {},
): string {
  const page = new TextPage(color, width);
  const { counts, tenants, waves } = report;
  const size = safeText`${formatCount(tenants.length, "tenant")} in ${formatCount(waves.length, "wave")}`;
  const { mode } = report;
  page.addText(
    report.rollsBack === undefined
      ? safeText`Plan of ${untrusted(report.source)}: ${size}${mode === undefined ? "" : `; it ${MODE_TEXTS[mode].purpose}`}`
      : safeText`Plan to roll back the rollout ${untrusted(report.rollsBack)} of ${untrusted(report.source)}: ${size}`,
    { style: "bold" },
  );
  if (report.rollsBackTo !== undefined) page.addText(safeText`To ${untrusted(report.rollsBackTo)}.`);
  page.addBlankLine();
  page.addText([`${formatPlanSummary(sumPlannedChanges(tenants))} ${formatTenantCounts(counts)}`]);
  const stackOnlyCount = findStackOnlyTenants(report, blockers).length;
  if (stackOnlyCount > 0) {
    page.addText(
      safeText`Of the tenants to change, ${formatCount(stackOnlyCount, "tenant needs", "tenants need")} only an update of the stack's state.`,
    );
  }
  writeSkippedTenants(page, report, limit);
  if (report.rollsBack !== undefined && report.skipped !== undefined) {
    page.addText(["The rollback changes nothing there."], { indent: INDENT });
  }
  writePlanBlockers(page, blockers, limit);
  writeReapplied(page, reappliedChanges);
  writePlanOverrides(page, tenants, limit);
  writePlanFailures(page, tenants, limit);
  writePlanChanges(page, report, sharedChanges, tenants.length === 1 ? sharedChanges.length : limit, commands);
  if (mode !== undefined) writeGroupedLines(page, "Reverted", tenants, ({ drift }) => drift, limit);
  if (mode === undefined) writeUntouched(page, tenants, limit);
  else writeGroupedLines(page, "Not reverted", tenants, ({ unreverted }) => unreverted, limit);
  writeRisks(page, tenants, limit);
  writePlanWaves(page, report);
  writePlanKeys(page, tenants, limit);
  for (const { reason, command } of report.advice) {
    page.addBlankLine();
    page.addText([untrustedSentence(reason)]);
    if (command !== undefined) page.addVerbatim(command, INDENT);
  }
  page.addBlankLine();
  page.addText(safeText`Backend: ${untrusted(backend)}`, { style: "dim" });
  page.addText(safeText`Digest ${untrusted(report.digest)}`, { style: "dim" });
  return page.toString();
}

const INDENT = 2;

function writePlanBlockers(page: TextPage, blockers: PlannedRollout["blockers"], limit: number): void {
  if (blockers.length === 0) return;
  page.addHeading([`Refused (${formatCount(blockers.length, "blocker")})`], "red");
  for (const { tenant, blocker } of blockers.slice(0, limit)) {
    page.addMarkedText("✗", safeText`${untrusted(tenant)} [${untrusted(blocker.code)}]`, {
      indent: INDENT,
      style: "red",
    });
    page.addVerbatim(blocker.message, INDENT * 2);
  }
  writeHiddenCount(page, blockers.length - limit);
}

function writeReapplied(page: TextPage, reappliedChanges: NonNullable<PlannedRollout["reappliedChanges"]>): void {
  if (reappliedChanges.length > 0) page.addHeading(["Rolled back before and planned again"], "red");
  for (const { rollout, by, tenants, changes } of reappliedChanges) {
    const visible = joinTexts(
      changes.slice(0, 5).map((name): SafeText => [untrusted(name)]),
      ", ",
    );
    const suffix = changes.length > 5 ? `, … and ${formatNumber(changes.length - 5)} more` : "";
    page.addMarkedText(
      "!",
      safeText`${visible}${suffix} in ${formatCount(tenants.length, "tenant")}: the rollout ${untrusted(rollout)} included it, and ${untrusted(by)} rolled that one back.`,
      { indent: INDENT, style: "red" },
    );
  }
}

/** Overrides come first, because everything below follows from them and fewer people review the files that contain them. */
function writePlanOverrides(page: TextPage, tenants: readonly TenantReport[], limit: number): void {
  const overrides = groupOverrides(tenants);
  if (overrides.length === 0) return;
  page.addHeading([OVERRIDES_HEADING], "yellow");
  for (const override of overrides.slice(0, limit))
    page.addMarkedText("!", formatOverride(override), { indent: INDENT });
  writeHiddenCount(page, overrides.length - limit);
}

/** Groups tenants that can't be planned for the same reason, such as a mistake in a file that all of them include. */
function writePlanFailures(page: TextPage, tenants: readonly TenantReport[], limit: number): void {
  const failedTenants = tenants.filter(({ error }) => error !== undefined);
  if (failedTenants.length === 0) return;
  page.addHeading([`Failed to plan (${formatNumber(failedTenants.length)})`], "red");
  const byMessage = Map.groupBy(failedTenants, ({ name, error }) => (error?.message ?? "").replaceAll(name, "…"));
  for (const group of [...byMessage.values()].slice(0, limit)) {
    const [{ name, wave, error } = { name: "", wave: "", error: undefined }, ...otherTenants] = group;
    page.addMarkedText("✗", safeText`${untrusted(name)} (wave ${untrusted(wave)}) [${untrusted(error?.code ?? "")}]`, {
      indent: INDENT,
      style: "red",
    });
    page.addVerbatim(error?.message ?? "", INDENT * 2);
    if (otherTenants.length > 0) {
      const names = otherTenants.slice(0, 5).map((tenant): SafeText => [untrusted(tenant.name)]);
      const suffix = otherTenants.length > 5 ? `, and ${formatNumber(otherTenants.length - 5)} more` : "";
      page.addText(safeText`Also in ${joinTexts(names, ", ")}${suffix}.`, { indent: INDENT * 2 });
    }
    page.addText([untrustedSentence(error?.advice ?? "")], { indent: INDENT * 2, style: "dim" });
  }
  const hiddenTenants = [...byMessage.values()].slice(limit).flat().length;
  if (hiddenTenants > 0)
    page.addText([`… and ${formatCount(hiddenTenants, "more tenant")}, for other reasons`], {
      indent: INDENT,
      style: "dim",
    });
}

const SIGN_STYLES = { add: "green", change: "yellow", remove: "red" } as const;

function writePlanChanges(
  page: TextPage,
  { tenants, source, rollsBack, mode }: RolloutReport,
  sharedChanges: readonly SharedChange[],
  limit: number,
  commands: RolloutCommands,
): void {
  const total = tenants.reduce((subtotal, tenant) => subtotal + countChanges(tenant), 0);
  if (total === 0) return;
  page.addHeading(["Changes"]);
  const visible = sharedChanges.slice(0, limit);
  for (const change of visible) {
    const count = `${change.tenants === tenants.length ? "all " : ""}${formatNumber(change.tenants)} tenants`;
    const location: SafeText = change.tenants === 1 ? safeText`in ${untrusted(change.first)}` : [`in ${count}`];
    page.addMarkedText(
      OPERATION_SYMBOLS[change.operation],
      safeText`${formatListName(change)} ${describeValue(change.value)} ${location}${formatRisks(change)}`,
      { indent: INDENT, style: SIGN_STYLES[change.operation] },
    );
  }
  const hiddenTotal = total - visible.reduce((subtotal, change) => subtotal + change.tenants, 0);
  if (hiddenTotal <= 0) return;
  const [tenantWithMost] = tenants.toSorted((a, b) => countChanges(b) - countChanges(a));
  const hiddenChanges = sharedChanges
    .slice(limit)
    .map((change) => ({ ...getReportedTransition(change), count: change.tenants }));
  // The tenants of a rollback can't be selected.
  const hasCommand = tenantWithMost !== undefined && rollsBack === undefined;
  page.addText(
    [
      `… and ${formatCount(hiddenTotal, "more change", "more changes")}, counted in each tenant, ${describeDangers(hiddenChanges)}${hasCommand ? ". All of one tenant:" : ""}`,
    ],
    { indent: INDENT, style: "dim" },
  );
  if (hasCommand) page.addVerbatim(commands.plan(source, [tenantWithMost.name], mode), INDENT * 2);
}

function formatRisks({ tenants, severities: { danger, accepted, warning } }: SharedChange): string {
  const parts = [
    [danger, "a risk"],
    [accepted, "an accepted risk"],
    [warning, "a warning"],
  ] as const;
  const phrases = parts.flatMap(([count, label]) =>
    count === 0 ? [] : [count === tenants ? label : `${label} in ${formatNumber(count)} of them`],
  );
  return phrases.length === 0 ? "" : ` (${phrases.join(", ")})`;
}

function sumPlannedChanges(tenants: readonly TenantReport[]): Record<"added" | "changed" | "removed", number> {
  const total = { added: 0, changed: 0, removed: 0 };
  for (const { planned } of tenants) {
    total.added += planned.added;
    total.changed += planned.changed;
    total.removed += planned.removed;
  }
  return total;
}

function formatTenantCounts({ pending, unchanged, failed }: RolloutReport["counts"]): string {
  const failedText = failed > 0 ? `, ${formatNumber(failed)} failed to plan` : "";
  return `${formatCount(pending, "tenant")} to change, ${formatNumber(unchanged)} unchanged${failedText}.`;
}

function countChanges({ planned: { added, changed, removed } }: TenantReport): number {
  return added + changed + removed;
}

/** Shows the changes that a rollback leaves unchanged, because somebody has changed them since the rollout. */
function writeUntouched(page: TextPage, tenants: readonly TenantReport[], limit: number): void {
  const items = interleaveLines(
    tenants.map(({ name, unreverted = [] }) => unreverted.map((change) => ({ name, change }))),
  );
  if (items.length === 0) return;
  page.addHeading(["Not rolled back, because it was changed after the rollout"], "yellow");
  for (const { name, change } of items.slice(0, limit)) {
    page.addMarkedText("·", safeText`${untrusted(change)} in ${untrusted(name)}`, { indent: INDENT });
  }
  writeHiddenCount(page, items.length - limit);
}

function writeGroupedLines(
  page: TextPage,
  heading: string,
  tenants: readonly TenantReport[],
  getLines: (tenant: TenantReport) => readonly string[] | undefined,
  limit: number,
): void {
  const lines = interleaveLines(
    tenants.map((tenant) => (getLines(tenant) ?? []).map((text) => ({ text, name: tenant.name }))),
  );
  if (lines.length === 0) return;
  page.addHeading([heading], "yellow");
  const groups = [...Map.groupBy(lines, ({ text }) => text)];
  for (const [text, members] of groups.slice(0, limit)) {
    const names = joinTexts(
      members.slice(0, 5).map(({ name }): SafeText => [untrusted(name)]),
      ", ",
    );
    const suffix = members.length > 5 ? ` and ${formatNumber(members.length - 5)} more` : "";
    page.addMarkedText("·", safeText`${names}${suffix}: ${untrusted(text)}`, { indent: INDENT });
  }
  writeHiddenCount(page, groups.length - limit);
}

function writeRisks(page: TextPage, tenants: readonly TenantReport[], limit: number): void {
  const riskyTenants = tenants.filter(({ severities }) => severities.danger > 0);
  if (riskyTenants.length === 0) return;
  page.addHeading([`Risky changes, in ${formatCount(riskyTenants.length, "tenant")}`], "red");
  for (const { name, severities } of riskyTenants.slice(0, limit)) {
    page.addMarkedText("!", safeText`${untrusted(name)}: ${formatCount(severities.danger, "risky change")}`, {
      indent: INDENT,
      style: "red",
    });
  }
  writeHiddenCount(page, riskyTenants.length - limit);
}

function writePlanWaves(page: TextPage, { waves }: RolloutReport): void {
  const hasLaterChanges = waves.map((_, index) => waves.slice(index + 1).some(({ counts }) => counts.pending > 0));
  page.addHeading([`Waves (${formatNumber(waves.length)})`]);
  const width = Math.min(24, Math.max(...waves.map(({ name }) => getTextWidth(sanitizeLine(name)))));
  for (const [index, wave] of waves.entries()) {
    const {
      name,
      tenants,
      counts,
      maxConcurrent,
      toleratedFailures,
      exitCriteria,
      unreviewed = [],
      closedHours = [],
    } = wave;
    // There is nothing to wait for if nothing changes and no unreviewed tenants are left.
    const hasReview = counts.pending > 0 || (unreviewed.length > 0 && hasLaterChanges[index] === true);
    const nextSteps = [
      ...(exitCriteria.soakMs > 0 ? [`soak ${formatDuration(exitCriteria.soakMs)}`] : []),
      ...(exitCriteria.hasHealthCheck ? ["health check"] : []),
      ...(exitCriteria.hasGate && hasLaterChanges[index] === true ? ["manual approval"] : []),
    ].filter(() => hasReview);
    const summary = `${formatCount(tenants, "tenant")}, ${formatNumber(counts.pending)} to change, ${formatNumber(maxConcurrent)} at once, ${toleratedFailures === 0 ? "none" : formatNumber(toleratedFailures)} may fail${closedHours.length === 0 ? "" : `, not ${closedHours.join(", ")}`}${nextSteps.length === 0 ? "" : `; then ${nextSteps.join(", ")}`}`;
    page.addLabeledText(`· ${fitToWidth(sanitizeLine(name), width)}`, [summary], { indent: INDENT });
    if (unreviewed.length > 0 && hasLaterChanges[index] === true) {
      const names = joinTexts(
        unreviewed.slice(0, 5).map((item): SafeText => [untrusted(item)]),
        ", ",
      );
      const suffix = unreviewed.length > 5 ? `, … and ${formatNumber(unreviewed.length - 5)} more` : "";
      page.addText(
        safeText`Changes of an earlier rollout in ${names}${suffix} have not passed its health check or gate; this rollout checks them like its own.`,
        {
          indent: INDENT * 2,
        },
      );
    }
  }
}

/** Shows which addresses get which keys. Tenants with the same route share a line. */
function writePlanKeys(page: TextPage, tenants: readonly TenantReport[], limit: number): void {
  if (tenants.length === 0) return;
  page.addHeading(["Keys"]);
  const routes = groupKeyRoutes(tenants);
  for (const route of routes.slice(0, limit)) {
    page.addMarkedText("·", formatKeyRoute(route, tenants.length), { indent: INDENT });
  }
  writeHiddenCount(page, routes.length - limit);
}

function writeHiddenCount(page: TextPage, count: number): void {
  if (count > 0) page.addText([`… and ${formatNumber(count)} more`], { indent: INDENT, style: "dim" });
}

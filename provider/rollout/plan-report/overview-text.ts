import { LOOSENED, listOf, SIGNS, valueWords } from "../../plan/render/plan-words";
import { columnsOf, fitTo } from "../../render/columns";
import { Paper } from "../../render/paper";
import { counted, given, join, number, say, sentence, type Words } from "../../render/words";
import { describeDangers } from "../../settings/danger";
import { printable } from "../../settings/text";
import type { RolloutCommands } from "../model/commands";
import { duration } from "../model/duration";
import type { RolloutReport, TenantReport } from "../model/rollout-report";
import { TASK_WORDS } from "../model/task";
import type { PlannedRollout } from "../planning/plan-rollout";
import { reportedTransition } from "../report/change-danger";
import type { SharedChange } from "../report/change-tally";
import { keyRoutes, routeWords } from "../report/key-routes";
import { looseningWords, sharedLoosenings } from "../report/loosened";
import { type ReportTextOptions, skippedOf } from "../report/report-text";
import { firstOfEachFirst, onlyStacks } from "../report/told-rollout";

/**
 * Renders the plan of a rollout for a terminal, before anything is written: the guards that block it, the changes and their number of
 * tenants, the risks, the waves and the digest. A plan with a single tenant shows every change. Values from outside are sanitized.
 */
export function overviewText(
  report: RolloutReport,
  {
    guards,
    backend,
    changes: sharedChanges,
    again = [],
  }: Pick<PlannedRollout, "guards" | "backend" | "changes" | "again">,
  commands: RolloutCommands,
  { color = false, width = 80, limit = 20 }: ReportTextOptions = {},
): string {
  const page = new Paper(color, width);
  const { counts, tenants, waves } = report;
  const size = say`${counted(tenants.length, "tenant")} in ${counted(waves.length, "wave")}`;
  const { task } = report;
  page.text(
    report.rollsBack === undefined
      ? say`Plan of ${given(report.source)}: ${size}${task === undefined ? "" : `; it ${TASK_WORDS[task].does}`}`
      : say`Plan of rolling back the rollout ${given(report.rollsBack)} of ${given(report.source)}: ${size}`,
    { style: "bold" },
  );
  if (report.rollsBackTo !== undefined) page.text(say`To ${given(report.rollsBackTo)}.`);
  page.gap();
  page.text([
    `~ ${number(counts.pending)} to change   = ${number(counts.unchanged)} ${task === undefined && report.rollsBack === undefined ? "hold what is declared" : "left as they are"}   ✗ ${number(counts.failed)} can't be planned`,
  ]);
  const stackOnlyCount = onlyStacks(report, guards).length;
  if (stackOnlyCount > 0) {
    page.text(
      say`Of those to change, ${counted(stackOnlyCount, "tenant holds", "tenants hold")} ${task === undefined ? "what is declared already" : "nothing of it any more"}: only the state of the stack is made or brought up to date.`,
    );
  }
  skippedOf(page, report, limit);
  if (report.rollsBack !== undefined && report.skipped !== undefined) {
    page.text(["The rollback changes nothing there."], { indent: INDENT });
  }
  writePlanBlockers(page, guards, limit);
  writeReapplied(page, again);
  writePlanOverrides(page, tenants, limit);
  writePlanFailures(page, tenants, limit);
  writePlanChanges(page, report, sharedChanges, tenants.length === 1 ? sharedChanges.length : limit, commands);
  if (task !== undefined) writeGroupedLines(page, "Reverted", tenants, ({ drift }) => drift, limit);
  if (task === undefined) writeUntouched(page, tenants, limit);
  else writeGroupedLines(page, "Stays as it is", tenants, ({ left }) => left, limit);
  writeRisks(page, tenants, limit);
  writePlanWaves(page, report);
  writePlanKeys(page, tenants, limit);
  for (const { why, command } of report.advice) {
    page.gap();
    page.text([sentence(why)]);
    if (command !== undefined) page.verbatim(command, INDENT);
  }
  page.gap();
  page.text(say`State of the stacks: ${given(backend)}`, { style: "dim" });
  page.text(say`Digest ${given(report.digest)}`, { style: "dim" });
  return page.toString();
}

const INDENT = 2;

function writePlanBlockers(page: Paper, guards: PlannedRollout["guards"], limit: number): void {
  if (guards.length === 0) return;
  page.heading([`Refused: ${counted(guards.length, "guard")}`], "red");
  for (const { tenant, guard } of guards.slice(0, limit)) {
    page.marked("✗", say`${given(tenant)} [${given(guard.code)}]`, { indent: INDENT, style: "red" });
    page.verbatim(guard.message, INDENT * 2);
  }
  writeHiddenCount(page, guards.length - limit);
}

function writeReapplied(page: Paper, reappliedChanges: NonNullable<PlannedRollout["again"]>): void {
  if (reappliedChanges.length > 0) page.heading(["Rolled back before, and planned again"], "red");
  for (const { rollout, by, tenants, what } of reappliedChanges) {
    const visible = join(
      what.slice(0, 5).map((name): Words => [given(name)]),
      ", ",
    );
    const suffix = what.length > 5 ? `, … and ${number(what.length - 5)} more` : "";
    page.marked(
      "!",
      say`${visible}${suffix} in ${counted(tenants.length, "tenant")}: the rollout ${given(rollout)} was to bring it, and ${given(by)} rolled back what that one had done.`,
      { indent: INDENT, style: "red" },
    );
  }
}

/** Overrides come first, because everything below follows from them and fewer people review the files that contain them. */
function writePlanOverrides(page: Paper, tenants: readonly TenantReport[], limit: number): void {
  const overrides = sharedLoosenings(tenants);
  if (overrides.length === 0) return;
  page.heading([LOOSENED], "yellow");
  for (const override of overrides.slice(0, limit)) page.marked("!", looseningWords(override), { indent: INDENT });
  writeHiddenCount(page, overrides.length - limit);
}

/** Groups tenants that can't be planned for the same reason, such as a mistake in a file that all of them include. */
function writePlanFailures(page: Paper, tenants: readonly TenantReport[], limit: number): void {
  const failedTenants = tenants.filter(({ error }) => error !== undefined);
  if (failedTenants.length === 0) return;
  page.heading([`Can't be planned (${number(failedTenants.length)})`], "red");
  const byMessage = Map.groupBy(failedTenants, ({ name, error }) => (error?.message ?? "").replaceAll(name, "…"));
  for (const group of [...byMessage.values()].slice(0, limit)) {
    const [{ name, wave, error } = { name: "", wave: "", error: undefined }, ...otherTenants] = group;
    page.marked("✗", say`${given(name)} (wave ${given(wave)}) [${given(error?.code ?? "")}]`, {
      indent: INDENT,
      style: "red",
    });
    page.verbatim(error?.message ?? "", INDENT * 2);
    if (otherTenants.length > 0) {
      const names = otherTenants.slice(0, 5).map((tenant): Words => [given(tenant.name)]);
      const suffix = otherTenants.length > 5 ? `, and ${number(otherTenants.length - 5)} more` : "";
      page.text(say`The same in ${join(names, ", ")}${suffix}.`, { indent: INDENT * 2 });
    }
    page.text([sentence(error?.advice ?? "")], { indent: INDENT * 2, style: "dim" });
  }
  const hiddenTenants = [...byMessage.values()].slice(limit).flat().length;
  if (hiddenTenants > 0)
    page.text([`… and ${counted(hiddenTenants, "more tenant")}, for other reasons`], {
      indent: INDENT,
      style: "dim",
    });
}

const SIGN_STYLES = { add: "green", change: "yellow", remove: "red" } as const;

function writePlanChanges(
  page: Paper,
  { tenants, source, rollsBack, task }: RolloutReport,
  sharedChanges: readonly SharedChange[],
  limit: number,
  commands: RolloutCommands,
): void {
  const total = tenants.reduce((subtotal, tenant) => subtotal + countChanges(tenant), 0);
  if (total === 0) return;
  page.heading(["What changes"]);
  const visible = sharedChanges.slice(0, limit);
  for (const change of visible) {
    const count = `${change.tenants === tenants.length ? "all " : ""}${number(change.tenants)} tenants`;
    const location: Words = change.tenants === 1 ? say`in ${given(change.first)}` : [`in ${count}`];
    page.marked(
      SIGNS[change.sign],
      say`${listOf(change)} ${valueWords(change.value)} ${location}${formatRisks(change)}`,
      { indent: INDENT, style: SIGN_STYLES[change.sign] },
    );
  }
  const hiddenTotal = total - visible.reduce((subtotal, change) => subtotal + change.tenants, 0);
  if (hiddenTotal <= 0) return;
  const [tenantWithMost] = tenants.toSorted((one, other) => countChanges(other) - countChanges(one));
  const hiddenChanges = sharedChanges
    .slice(limit)
    .map((change) => ({ ...reportedTransition(change), count: change.tenants }));
  // The tenants of a rollback can't be selected.
  const hasCommand = tenantWithMost !== undefined && rollsBack === undefined;
  page.text(
    [
      `… and ${counted(hiddenTotal, "more change", "more changes")}, counted in each tenant, ${describeDangers(hiddenChanges)}${hasCommand ? ". All of one tenant:" : ""}`,
    ],
    { indent: INDENT, style: "dim" },
  );
  if (hasCommand) page.verbatim(commands.plan(source, [tenantWithMost.name], task), INDENT * 2);
}

function formatRisks({ tenants, alarms: { danger, accepted, warning } }: SharedChange): string {
  const parts = [
    [danger, "a risk"],
    [accepted, "an accepted risk"],
    [warning, "a warning"],
  ] as const;
  const phrases = parts.flatMap(([count, label]) =>
    count === 0 ? [] : [count === tenants ? label : `${label} in ${number(count)} of them`],
  );
  return phrases.length === 0 ? "" : ` (${phrases.join(", ")})`;
}

function countChanges({ planned: { added, changed, removed } }: TenantReport): number {
  return added + changed + removed;
}

/** The changes that a rollback leaves alone, because somebody has changed them since the rollout. */
function writeUntouched(page: Paper, tenants: readonly TenantReport[], limit: number): void {
  const items = firstOfEachFirst(tenants.map(({ name, left = [] }) => left.map((what) => ({ name, what }))));
  if (items.length === 0) return;
  page.heading(["Stays as it is: somebody changed it after the rollout"], "yellow");
  for (const { name, what } of items.slice(0, limit)) {
    page.marked("·", say`${given(what)} in ${given(name)}`, { indent: INDENT });
  }
  writeHiddenCount(page, items.length - limit);
}

/** Shows each line once, with all tenants that it applies to. */
function writeGroupedLines(
  page: Paper,
  heading: string,
  tenants: readonly TenantReport[],
  getLines: (tenant: TenantReport) => readonly string[] | undefined,
  limit: number,
): void {
  const lines = firstOfEachFirst(
    tenants.map((tenant) => (getLines(tenant) ?? []).map((text) => ({ what: text, name: tenant.name }))),
  );
  if (lines.length === 0) return;
  page.heading([heading], "yellow");
  const groups = [...Map.groupBy(lines, ({ what }) => what)];
  for (const [text, members] of groups.slice(0, limit)) {
    const names = join(
      members.slice(0, 5).map(({ name }): Words => [given(name)]),
      ", ",
    );
    const suffix = members.length > 5 ? ` and ${number(members.length - 5)} more` : "";
    page.marked("·", say`${names}${suffix}: ${given(text)}`, { indent: INDENT });
  }
  writeHiddenCount(page, groups.length - limit);
}

function writeRisks(page: Paper, tenants: readonly TenantReport[], limit: number): void {
  const riskyTenants = tenants.filter(({ alarms }) => alarms.danger > 0);
  if (riskyTenants.length === 0) return;
  page.heading([`Risky changes, in ${counted(riskyTenants.length, "tenant")}`], "red");
  for (const { name, alarms } of riskyTenants.slice(0, limit)) {
    page.marked("!", say`${given(name)}: ${counted(alarms.danger, "risky change")}`, {
      indent: INDENT,
      style: "red",
    });
  }
  writeHiddenCount(page, riskyTenants.length - limit);
}

function writePlanWaves(page: Paper, { waves }: RolloutReport): void {
  const hasLaterChanges = waves.map((_, index) => waves.slice(index + 1).some(({ counts }) => counts.pending > 0));
  page.heading([`Waves (${number(waves.length)})`]);
  const width = Math.min(24, Math.max(...waves.map(({ name }) => columnsOf(printable(name)))));
  for (const [index, wave] of waves.entries()) {
    const { name, tenants, counts, maxConcurrent, tolerated, after, unseen = [], closed = [] } = wave;
    // There is nothing to wait for if nothing changes and no unreviewed tenants are left.
    const hasReview = counts.pending > 0 || (unseen.length > 0 && hasLaterChanges[index] === true);
    const nextSteps = [
      ...(after.soakMs > 0 ? [`soaks ${duration(after.soakMs)}`] : []),
      ...(after.isChecked ? ["is checked"] : []),
      ...(after.isGated && hasLaterChanges[index] === true ? ["waits for a person"] : []),
    ].filter(() => hasReview);
    const summary = `${counted(tenants, "tenant")}, ${number(counts.pending)} to change, ${number(maxConcurrent)} at once, ${tolerated === 0 ? "none" : number(tolerated)} may fail${closed.length === 0 ? "" : `, not ${closed.join(", ")}`}${nextSteps.length === 0 ? "" : `; then ${nextSteps.join(", ")}`}`;
    page.labelled(`· ${fitTo(printable(name), width)}`, [summary], { indent: INDENT });
    if (unseen.length > 0 && hasLaterChanges[index] === true) {
      const names = join(
        unseen.slice(0, 5).map((one): Words => [given(one)]),
        ", ",
      );
      const suffix = unseen.length > 5 ? `, … and ${number(unseen.length - 5)} more` : "";
      page.text(
        say`What an earlier rollout changed in ${names}${suffix} was never let through: it is looked at as if it were of this one.`,
        {
          indent: INDENT * 2,
        },
      );
    }
  }
}

/** Shows which addresses get which keys. Tenants with the same route share a line. */
function writePlanKeys(page: Paper, tenants: readonly TenantReport[], limit: number): void {
  if (tenants.length === 0) return;
  page.heading(["Keys"]);
  const routes = keyRoutes(tenants);
  for (const route of routes.slice(0, limit)) {
    page.marked("·", routeWords(route, tenants.length), { indent: INDENT });
  }
  writeHiddenCount(page, routes.length - limit);
}

function writeHiddenCount(page: Paper, count: number): void {
  if (count > 0) page.text([`… and ${number(count)} more`], { indent: INDENT, style: "dim" });
}

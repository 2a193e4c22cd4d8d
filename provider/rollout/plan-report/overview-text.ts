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
    changes: shared,
    again = [],
  }: Pick<PlannedRollout, "guards" | "backend" | "changes" | "again">,
  commands: RolloutCommands,
  { color = false, width = 80, limit = 20 }: ReportTextOptions = {},
): string {
  const paper = new Paper(color, width);
  const { counts, tenants, waves } = report;
  const size = say`${counted(tenants.length, "tenant")} in ${counted(waves.length, "wave")}`;
  const { task } = report;
  paper.text(
    report.rollsBack === undefined
      ? say`Plan of ${given(report.source)}: ${size}${task === undefined ? "" : `; it ${TASK_WORDS[task].does}`}`
      : say`Plan of rolling back the rollout ${given(report.rollsBack)} of ${given(report.source)}: ${size}`,
    { style: "bold" },
  );
  if (report.rollsBackTo !== undefined) paper.text(say`To ${given(report.rollsBackTo)}.`);
  paper.gap();
  paper.text([
    `~ ${number(counts.pending)} to change   = ${number(counts.unchanged)} ${task === undefined && report.rollsBack === undefined ? "hold what is declared" : "left as they are"}   ✗ ${number(counts.failed)} can't be planned`,
  ]);
  const forTheStack = onlyStacks(report, guards).length;
  if (forTheStack > 0) {
    paper.text(
      say`Of those to change, ${counted(forTheStack, "tenant holds", "tenants hold")} ${task === undefined ? "what is declared already" : "nothing of it any more"}: only the state of the stack is made or brought up to date.`,
    );
  }
  skippedOf(paper, report, limit);
  if (report.rollsBack !== undefined && report.skipped !== undefined) {
    paper.text(["The rollback changes nothing there."], { indent: INDENT });
  }
  guardsOf(paper, guards, limit);
  takenBack(paper, again);
  loosened(paper, tenants, limit);
  failures(paper, tenants, limit);
  changes(paper, report, shared, tenants.length === 1 ? shared.length : limit, commands);
  if (task !== undefined) alike(paper, "Reverted", tenants, ({ drift }) => drift, limit);
  if (task === undefined) leftAsTheyAre(paper, tenants, limit);
  else alike(paper, "Stays as it is", tenants, ({ left }) => left, limit);
  risks(paper, tenants, limit);
  wavesOf(paper, report);
  keysOf(paper, tenants, limit);
  for (const { why, command } of report.advice) {
    paper.gap();
    paper.text([sentence(why)]);
    if (command !== undefined) paper.verbatim(command, INDENT);
  }
  paper.gap();
  paper.text(say`State of the stacks: ${given(backend)}`, { style: "dim" });
  paper.text(say`Digest ${given(report.digest)}`, { style: "dim" });
  return paper.toString();
}

const INDENT = 2;

function guardsOf(paper: Paper, guards: PlannedRollout["guards"], limit: number): void {
  if (guards.length === 0) return;
  paper.heading([`Refused: ${counted(guards.length, "guard")}`], "red");
  for (const { tenant, guard } of guards.slice(0, limit)) {
    paper.marked("✗", say`${given(tenant)} [${given(guard.code)}]`, { indent: INDENT, style: "red" });
    paper.verbatim(guard.message, INDENT * 2);
  }
  rest(paper, guards.length - limit);
}

function takenBack(paper: Paper, again: NonNullable<PlannedRollout["again"]>): void {
  if (again.length > 0) paper.heading(["Rolled back before, and planned again"], "red");
  for (const { rollout, by, tenants, what } of again) {
    const shown = join(
      what.slice(0, 5).map((one): Words => [given(one)]),
      ", ",
    );
    const more = what.length > 5 ? `, … and ${number(what.length - 5)} more` : "";
    paper.marked(
      "!",
      say`${shown}${more} in ${counted(tenants.length, "tenant")}: the rollout ${given(rollout)} was to bring it, and ${given(by)} rolled back what that one had done.`,
      { indent: INDENT, style: "red" },
    );
  }
}

/** Overrides come first, because everything below follows from them and fewer people review the files that contain them. */
function loosened(paper: Paper, tenants: readonly TenantReport[], limit: number): void {
  const all = sharedLoosenings(tenants);
  if (all.length === 0) return;
  paper.heading([LOOSENED], "yellow");
  for (const one of all.slice(0, limit)) paper.marked("!", looseningWords(one), { indent: INDENT });
  rest(paper, all.length - limit);
}

/** Groups tenants that can't be planned for the same reason, such as a mistake in a file that all of them include. */
function failures(paper: Paper, tenants: readonly TenantReport[], limit: number): void {
  const failed = tenants.filter(({ error }) => error !== undefined);
  if (failed.length === 0) return;
  paper.heading([`Can't be planned (${number(failed.length)})`], "red");
  const alike = Map.groupBy(failed, ({ name, error }) => (error?.message ?? "").replaceAll(name, "…"));
  for (const group of [...alike.values()].slice(0, limit)) {
    const [{ name, wave, error } = { name: "", wave: "", error: undefined }, ...others] = group;
    paper.marked("✗", say`${given(name)} (wave ${given(wave)}) [${given(error?.code ?? "")}]`, {
      indent: INDENT,
      style: "red",
    });
    paper.verbatim(error?.message ?? "", INDENT * 2);
    if (others.length > 0) {
      const names = others.slice(0, 5).map((other): Words => [given(other.name)]);
      const more = others.length > 5 ? `, and ${number(others.length - 5)} more` : "";
      paper.text(say`The same in ${join(names, ", ")}${more}.`, { indent: INDENT * 2 });
    }
    paper.text([sentence(error?.advice ?? "")], { indent: INDENT * 2, style: "dim" });
  }
  const untold = [...alike.values()].slice(limit).flat().length;
  if (untold > 0)
    paper.text([`… and ${counted(untold, "more tenant")}, for other reasons`], {
      indent: INDENT,
      style: "dim",
    });
}

const SIGN_STYLES = { add: "green", change: "yellow", remove: "red" } as const;

function changes(
  paper: Paper,
  { tenants, source, rollsBack, task }: RolloutReport,
  all: readonly SharedChange[],
  limit: number,
  commands: RolloutCommands,
): void {
  const total = tenants.reduce((sum, tenant) => sum + changesOf(tenant), 0);
  if (total === 0) return;
  paper.heading(["What changes"]);
  const shown = all.slice(0, limit);
  for (const change of shown) {
    const count = `${change.tenants === tenants.length ? "all " : ""}${number(change.tenants)} tenants`;
    const where: Words = change.tenants === 1 ? say`in ${given(change.first)}` : [`in ${count}`];
    paper.marked(
      SIGNS[change.sign],
      say`${listOf(change)} ${valueWords(change.value)} ${where}${alarmText(change)}`,
      { indent: INDENT, style: SIGN_STYLES[change.sign] },
    );
  }
  const left = total - shown.reduce((sum, change) => sum + change.tenants, 0);
  if (left <= 0) return;
  const [most] = tenants.toSorted((one, other) => changesOf(other) - changesOf(one));
  const hidden = all.slice(limit).map((change) => ({ ...reportedTransition(change), count: change.tenants }));
  // The tenants of a rollback can't be selected.
  const hasCommand = most !== undefined && rollsBack === undefined;
  paper.text(
    [
      `… and ${counted(left, "more change", "more changes")}, counted in each tenant, ${describeDangers(hidden)}${hasCommand ? ". All of one tenant:" : ""}`,
    ],
    { indent: INDENT, style: "dim" },
  );
  if (hasCommand) paper.verbatim(commands.plan(source, [most.name], task), INDENT * 2);
}

function alarmText({ tenants, alarms: { danger, accepted, warning } }: SharedChange): string {
  const parts = [
    [danger, "a risk"],
    [accepted, "an accepted risk"],
    [warning, "a warning"],
  ] as const;
  const told = parts.flatMap(([count, what]) =>
    count === 0 ? [] : [count === tenants ? what : `${what} in ${number(count)} of them`],
  );
  return told.length === 0 ? "" : ` (${told.join(", ")})`;
}

function changesOf({ planned: { added, changed, removed } }: TenantReport): number {
  return added + changed + removed;
}

/** The changes that a rollback leaves alone, because somebody has changed them since the rollout. */
function leftAsTheyAre(paper: Paper, tenants: readonly TenantReport[], limit: number): void {
  const all = firstOfEachFirst(tenants.map(({ name, left = [] }) => left.map((what) => ({ name, what }))));
  if (all.length === 0) return;
  paper.heading(["Stays as it is: somebody changed it after the rollout"], "yellow");
  for (const { name, what } of all.slice(0, limit)) {
    paper.marked("·", say`${given(what)} in ${given(name)}`, { indent: INDENT });
  }
  rest(paper, all.length - limit);
}

/** Shows each line once, with all tenants that it applies to. */
function alike(
  paper: Paper,
  heading: string,
  tenants: readonly TenantReport[],
  linesOf: (tenant: TenantReport) => readonly string[] | undefined,
  limit: number,
): void {
  const all = firstOfEachFirst(
    tenants.map((tenant) => (linesOf(tenant) ?? []).map((what) => ({ what, name: tenant.name }))),
  );
  if (all.length === 0) return;
  paper.heading([heading], "yellow");
  const groups = [...Map.groupBy(all, ({ what }) => what)];
  for (const [what, members] of groups.slice(0, limit)) {
    const names = join(
      members.slice(0, 5).map(({ name }): Words => [given(name)]),
      ", ",
    );
    const more = members.length > 5 ? ` and ${number(members.length - 5)} more` : "";
    paper.marked("·", say`${names}${more}: ${given(what)}`, { indent: INDENT });
  }
  rest(paper, groups.length - limit);
}

function risks(paper: Paper, tenants: readonly TenantReport[], limit: number): void {
  const risky = tenants.filter(({ alarms }) => alarms.danger > 0);
  if (risky.length === 0) return;
  paper.heading([`Risky changes, in ${counted(risky.length, "tenant")}`], "red");
  for (const { name, alarms } of risky.slice(0, limit)) {
    paper.marked("!", say`${given(name)}: ${counted(alarms.danger, "risky change")}`, {
      indent: INDENT,
      style: "red",
    });
  }
  rest(paper, risky.length - limit);
}

function wavesOf(paper: Paper, { waves }: RolloutReport): void {
  const left = waves.map((_, index) => waves.slice(index + 1).some(({ counts }) => counts.pending > 0));
  paper.heading([`Waves (${number(waves.length)})`]);
  const width = Math.min(24, Math.max(...waves.map(({ name }) => columnsOf(printable(name)))));
  for (const [index, wave] of waves.entries()) {
    const { name, tenants, counts, maxConcurrent, tolerated, after, unseen = [], closed = [] } = wave;
    // There is nothing to wait for if nothing changes and no unreviewed tenants are left.
    const isLookedAt = counts.pending > 0 || (unseen.length > 0 && left[index] === true);
    const then = [
      ...(after.soakMs > 0 ? [`soaks ${duration(after.soakMs)}`] : []),
      ...(after.isChecked ? ["is checked"] : []),
      ...(after.isGated && left[index] === true ? ["waits for a person"] : []),
    ].filter(() => isLookedAt);
    const facts = `${counted(tenants, "tenant")}, ${number(counts.pending)} to change, ${number(maxConcurrent)} at once, ${tolerated === 0 ? "none" : number(tolerated)} may fail${closed.length === 0 ? "" : `, not ${closed.join(", ")}`}${then.length === 0 ? "" : `; then ${then.join(", ")}`}`;
    paper.labelled(`· ${fitTo(printable(name), width)}`, [facts], { indent: INDENT });
    if (unseen.length > 0 && left[index] === true) {
      const names = join(
        unseen.slice(0, 5).map((one): Words => [given(one)]),
        ", ",
      );
      const more = unseen.length > 5 ? `, … and ${number(unseen.length - 5)} more` : "";
      paper.text(
        say`What an earlier rollout changed in ${names}${more} was never let through: it is looked at as if it were of this one.`,
        {
          indent: INDENT * 2,
        },
      );
    }
  }
}

/** Shows which addresses get which keys. Tenants with the same route share a line. */
function keysOf(paper: Paper, tenants: readonly TenantReport[], limit: number): void {
  if (tenants.length === 0) return;
  paper.heading(["Keys"]);
  const routes = keyRoutes(tenants);
  for (const route of routes.slice(0, limit)) {
    paper.marked("·", routeWords(route, tenants.length), { indent: INDENT });
  }
  rest(paper, routes.length - limit);
}

function rest(paper: Paper, count: number): void {
  if (count > 0) paper.text([`… and ${number(count)} more`], { indent: INDENT, style: "dim" });
}

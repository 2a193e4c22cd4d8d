import { columnsOf, fitTo } from "../../gitops/plan/render/columns";
import { Paper } from "../../gitops/plan/render/paper";
import { counted, given, join, number, say, sentence, type Words } from "../../gitops/plan/render/words";
import { printable } from "../../settings/text";
import type { PlannedRollout } from "../plan-rollout";
import { duration } from "./duration";
import type { ReportTextOptions } from "./report-text";
import type { RolloutReport, TenantChange, TenantReport } from "./rollout-report";
import { listOf, SIGNS } from "./told-rollout";

/**
 * What a rollout would do, for a terminal, before anything was written: what keeps it from beginning, what changes in how
 * many tenants, what is risky, the waves, the digest. Nothing from outside does anything in it.
 */
export function overviewText(
  report: RolloutReport,
  { guards, backend }: Pick<PlannedRollout, "guards" | "backend">,
  { color = false, width = 80, limit = 20 }: ReportTextOptions = {},
): string {
  const paper = new Paper(color, width);
  const { counts, tenants, waves } = report;
  const size = say`${counted(tenants.length, "tenant")} in ${counted(waves.length, "wave")}`;
  paper.text(
    report.rollsBack === undefined
      ? say`Plan of ${given(report.source)}: ${size}`
      : say`Plan of taking back the rollout ${given(report.rollsBack)} of ${given(report.source)}: ${size}`,
    { style: "bold" },
  );
  if (report.rollsBackTo !== undefined) paper.text(say`To the files of ${given(report.rollsBackTo)}.`);
  paper.gap();
  paper.text([
    `~ ${number(counts.pending)} to change   = ${number(counts.unchanged)} hold what is declared   ✗ ${number(counts.failed)} can't be planned`,
  ]);
  const forTheStack = tenants.filter(
    ({ state, planned }) => state === "pending" && isNothing(planned),
  ).length;
  if (forTheStack > 0) {
    paper.text(
      say`Of those to change, ${counted(forTheStack, "tenant holds", "tenants hold")} what is declared already: only the state of the stack is made or brought up to date.`,
    );
  }
  guardsOf(paper, guards, limit);
  failures(paper, tenants, limit);
  changes(paper, tenants, limit);
  risks(paper, tenants, limit);
  wavesOf(paper, report);
  paper.gap();
  paper.text(say`State of the stacks: ${given(backend)}`, { style: "dim" });
  paper.text(say`Digest ${given(report.digest)}`, { style: "dim" });
  return paper.toString();
}

function isNothing({ added, changed, removed }: TenantReport["planned"]): boolean {
  return added + changed + removed === 0;
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

/** Tenants that can't be planned for the same reason, such as a mistake in what all include, are told together. */
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
  rest(paper, alike.size - limit);
}

/** A change that several tenants get is told once. */
interface SharedChange extends TenantChange {
  readonly tenants: readonly string[];
}

/** The changes of all tenants, risky ones and those of the most first; of each tenant, those that its report tells. */
function sharedChanges(tenants: readonly TenantReport[]): SharedChange[] {
  const shared = new Map<string, TenantChange & { tenants: string[] }>();
  for (const { name, changes: own } of tenants) {
    for (const change of own) {
      const { sign, kind, list = "", value, alarm = "" } = change;
      const key = JSON.stringify([sign, kind, list, value, alarm]);
      const known = shared.get(key);
      if (known === undefined) shared.set(key, { ...change, tenants: [name] });
      else known.tenants.push(name);
    }
  }
  const order: readonly TenantChange["alarm"][] = ["danger", "accepted", "warning", undefined];
  const weight = ({ alarm }: TenantChange): number => order.indexOf(alarm);
  return [...shared.values()].sort(
    (one, other) => weight(one) - weight(other) || other.tenants.length - one.tenants.length,
  );
}

const SIGN_STYLES = { add: "green", change: "yellow", remove: "red" } as const;

const ALARMS = { danger: "a risk", accepted: "an accepted risk", warning: "a warning" } as const;

function changes(paper: Paper, tenants: readonly TenantReport[], limit: number): void {
  const all = sharedChanges(tenants);
  if (all.length === 0) return;
  paper.heading(["What changes"]);
  for (const change of all.slice(0, limit)) {
    const [only = ""] = change.tenants;
    const where: Words =
      change.tenants.length === 1 ? say`in ${given(only)}` : say`in ${change.tenants.length} tenants`;
    const alarm = change.alarm === undefined ? "" : ` (${ALARMS[change.alarm]})`;
    paper.marked(SIGNS[change.sign], say`${listOf(change)} ${given(change.value)} ${where}${alarm}`, {
      indent: INDENT,
      style: SIGN_STYLES[change.sign],
    });
  }
  const untold = tenants.reduce(
    (sum, { planned: { added, changed, removed }, changes: own }) =>
      sum + added + changed + removed - own.length,
    0,
  );
  if (all.length > limit || untold > 0) {
    const more = Math.max(0, all.length - limit);
    const parts = [
      ...(more > 0 ? [`${number(more)} more`] : []),
      ...(untold > 0 ? [`${number(untold)} in tenants with many changes`] : []),
    ];
    paper.text([`… and ${parts.join(", and ")}; \`email-security plan\` shows all of one tenant`], {
      indent: INDENT,
      style: "dim",
    });
  }
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
  paper.heading([`Waves (${number(waves.length)})`]);
  const width = Math.min(24, Math.max(...waves.map(({ name }) => columnsOf(printable(name)))));
  for (const { name, tenants, counts, maxConcurrent, tolerated, after } of waves) {
    const then = [
      ...(after.soakMs > 0 ? [`soaks ${duration(after.soakMs)}`] : []),
      ...(after.isChecked ? ["is checked"] : []),
      ...(after.isGated ? ["waits for a person"] : []),
    ];
    const facts = `${counted(tenants, "tenant")}, ${number(counts.pending)} to change, ${number(maxConcurrent)} at once, ${tolerated === 0 ? "none" : number(tolerated)} may fail${then.length === 0 ? "" : `; then ${then.join(", ")}`}`;
    paper.marked(`· ${fitTo(printable(name), width)}`, [facts], { indent: INDENT });
  }
}

function rest(paper: Paper, count: number): void {
  if (count > 0) paper.text([`… and ${number(count)} more`], { indent: INDENT, style: "dim" });
}

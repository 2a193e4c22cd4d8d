import { changeTransition, FAIL_ON_GUARD } from "../../plan/plan";
import { type Card, type Mood, moodOf, type Tally, verdictOf } from "../../plan/render/report";
import { counted, enumerate, given, join, number, say, sentence, type Words } from "../../render/words";
import { cutByDanger } from "../../settings/danger";
import type { RolloutReport, TenantReport } from "../model/rollout-report";
import type { MailAsked } from "../planning/ask-mail";
import type { PlannedRollout } from "../planning/plan-rollout";
import { skippedWords, withoutWords } from "../report/skip-words";
import { firstNames, NAMED } from "../report/tenant-names";
import { firstOfEachFirst, onlyStacks, taskWords } from "../report/told-rollout";
import { isFew, type TenantGroups } from "./tenant-groups";
import type { WholePlan } from "./whole-plan";

/** A planned rollout, with everything that its views show. */
export interface ShownPlan {
  /** The report that {@link withMail} returns. */
  readonly report: RolloutReport;
  readonly planned: Pick<PlannedRollout, "guards" | "again" | "mail">;
  readonly whole: WholePlan;
}

/** The view of a rollout's plan, independent of the format. */
export interface ToldWhole {
  readonly title: Words;
  readonly mood: Mood;
  readonly verdict: string;
  readonly headline: Words;
  /** The number of tenants, and the number of their changes by sign. */
  readonly tallies: readonly Tally[];
  /** Describes whose mail was searched. */
  readonly mail: Words;
  readonly missing: readonly Words[];
  /** The guards, grouped by code and message, with the names of their tenants. */
  readonly guards: readonly { readonly code: string; readonly message: string }[];
  readonly again: readonly Words[];
  /** Tenants that can't be planned, grouped by reason. */
  readonly failures: readonly { readonly title: Words; readonly facts: readonly Words[] }[];
  /** The tenants that a person chose to skip. */
  readonly skipped: readonly Words[];
  /** The drift that the rollout reverts, with its tenants. Empty unless that is the purpose of the rollout. */
  readonly drift: readonly Words[];
  /** The changes that the rollout leaves alone, and the title above them. */
  readonly left: readonly Words[];
  readonly leftTitle: string;
  /** The changes of each tenant. Tenants with the same changes share a line. */
  readonly tenants: readonly { readonly words: Words; readonly count: number }[];
  readonly waves: readonly Words[];
}

/**
 * Adds the alarms from the tenants' mail to a report. Removes the changes of tenants whose mail reveals that the key opens another tenant.
 */
export function withMail(report: RolloutReport, mail: MailAsked | undefined): RolloutReport {
  if (mail === undefined) return report;
  const mismatchedTenants = new Set(mail.guards.map((blocker) => blocker.tenant));
  const tenants = report.tenants.map((tenant) => {
    if (mismatchedTenants.has(tenant.name)) return hideTenantChanges(tenant);
    const alarms = mail.said.get(tenant.name)?.alarms;
    return alarms === undefined ? tenant : { ...tenant, alarms };
  });
  return { ...report, tenants };
}

/** The word for a tenant without anything to do. */
function getSettledLabel({ task, rollsBack }: RolloutReport): string {
  return task === undefined && rollsBack === undefined ? "as declared" : "left as it is";
}

function hideTenantChanges({ left: _unrevertedChanges, drift: _drift, ...tenant }: TenantReport): TenantReport {
  const planned = { added: 0, changed: 0, removed: 0 };
  return { ...tenant, planned, changes: [], alarms: { danger: 0, accepted: 0, warning: 0 } };
}

export function toldWhole({ report, planned, whole }: ShownPlan): ToldWhole {
  const { source, rollsBack, task, tenants, counts, waves, skipped = [] } = report;
  const hasProblems = counts.failed + skipped.length + (planned.again?.length ?? 0) > 0;
  const mood = moodOf(
    planned.guards.length > 0,
    {
      danger: whole.dangers.length,
      warning: whole.warnings.length + Number(hasProblems),
      accepted: whole.accepted.length,
    },
    counts.pending > 0,
  );
  const changedTenants = new Set(whole.alike.flatMap((tenantSet) => tenantSet.tenants));
  const changingCount = countChangingTenants(report);
  const stackOnlyCount = onlyStacks(report, planned.guards).length;
  const sumPlanned = (symbol: "added" | "changed" | "removed"): number =>
    tenants.reduce(
      (total, { name, planned: { [symbol]: count } }) => total + (changedTenants.has(name) ? count : 0),
      0,
    );
  return {
    title:
      rollsBack === undefined
        ? join([[given(source)], ...taskWords(task)], ": it ")
        : say`rolling back ${given(rollsBack)} of ${given(source)}`,
    mood,
    // The mail covers only a sample of the tenants.
    verdict: verdictOf(mood, false),
    headline: buildPlanHeadline(report, planned, whole),
    tallies: [
      { sign: "~", word: `${pluralizeTenant(changingCount)} to change`, count: changingCount },
      { sign: "=", word: getSettledLabel(report), count: counts.unchanged },
      ...(stackOnlyCount > 0
        ? [{ sign: "·", word: "of which only the stack's state changes", count: stackOnlyCount }]
        : []),
      ...(counts.failed > 0 ? [{ sign: "✗", word: "can't be planned", count: counts.failed }] : []),
      { sign: "+", word: "added in all", count: sumPlanned("added") },
      { sign: "~", word: "changed", count: sumPlanned("changed") },
      { sign: "-", word: "removed", count: sumPlanned("removed") },
    ],
    mail: formatMailCoverage(planned.mail),
    missing: listMissingMail(planned.mail),
    guards: groupBlockers(planned.guards),
    again: (planned.again ?? []).map(
      ({ rollout, by, tenants: where, what }) =>
        say`${firstNames(what)} in ${counted(where.length, "tenant")}: the rollout ${given(rollout)} was to bring it, and ${given(by)} rolled back what that one had done.`,
    ),
    failures: groupFailures(tenants),
    skipped: skipped.map(skippedWords),
    leftTitle: rollsBack === undefined ? "Stays as it is" : "Stays as it is: somebody changed it after the rollout",
    drift: groupByText(tenants, ({ drift }) => drift),
    left: groupByText(tenants, ({ left }) => left),
    tenants: buildTenantLines(report, planned, whole),
    waves: waves.map(
      ({ name, tenants: all, counts: { pending }, tolerated, after: { isGated }, closed = [] }) =>
        say`${given(name)}: ${counted(all, "tenant")}, ${pending} to change, ${tolerated} may fail${closed.length === 0 ? "" : `, not ${closed.join(", ")}`}${isGated ? "; then it waits for a person" : ""}`,
    ),
  };
}

function buildPlanHeadline(
  report: RolloutReport,
  { guards }: ShownPlan["planned"],
  { dangers, accepted, warnings, others, untold }: WholePlan,
): Words {
  const { tenants, counts } = report;
  const differentCount = dangers.length + accepted.length + warnings.length + others.length;
  const riskCounts = [
    [dangers.length, "dangerous"],
    [warnings.length, "to be looked at"],
    [accepted.length, "accepted risks"],
  ] as const;
  const riskTexts = riskCounts
    .filter(([count]) => count > 0)
    .map(([count, what]): Words => [`${number(count)} ${what}`]);
  const [refusedByFailOn, refusedByBlocker] = [true, false].map((isFailOn) => {
    const refusingBlockers = guards.filter(({ guard }) => (guard.code === FAIL_ON_GUARD) === isFailOn);
    return new Set(refusingBlockers.map(({ tenant }) => tenant)).size;
  }) as [number, number];
  return [
    ...(refusedByBlocker > 0 ? [`It would be refused, by what protects ${counted(refusedByBlocker, "tenant")}. `] : []),
    ...(refusedByFailOn > 0 ? [`\`--fail-on\` refuses the changes of ${counted(refusedByFailOn, "tenant")}. `] : []),
    ...say`${countChangingTenants(report)} of ${counted(tenants.length, "tenant")} would change, by ${counted(differentCount, "different change")}${untold > 0 ? " and more that are counted alone" : ""}${riskTexts.length > 0 ? say`: ${enumerate(riskTexts)}` : ""}.`,
    ...(counts.failed > 0 ? [` ${counted(counts.failed, "tenant")} can't be planned.`] : []),
    ...withoutWords(report),
  ];
}

function formatMailCoverage(mail: MailAsked | undefined): Words {
  if (mail === undefined) return ["The tenants' mail was not looked at."];
  const { days, of, said } = mail;
  if (of === 0) return ["Nothing changes that the tenants' mail could speak of, and it was not looked at."];
  const isComplete = said.size === of;
  const coverage = isComplete
    ? of === 1
      ? "the tenant"
      : `all ${number(of)} tenants`
    : `${number(said.size)} of ${number(of)} tenants`;
  const names = said.size === 0 ? [] : say` (${firstNames([...said.keys()])})`;
  const suffix = isComplete
    ? "."
    : say`, a sample: of the others nothing is known, unless ${given("--evidence all")} asks them.`;
  return say`The mail of ${days > 0 ? `the last ${days} days of ` : ""}${coverage} in which something changes was looked at${names}${suffix}`;
}

function listMissingMail(mail: MailAsked | undefined): readonly Words[] {
  if (mail === undefined) return [];
  return [
    ...mail.silent.map(({ tenant, why }) => say`${given(tenant)}: ${sentence(why)}`),
    ...[...mail.said].flatMap(([tenant, { missing }]) =>
      missing.map((reason) => say`${given(tenant)}: ${sentence(reason)}`),
    ),
  ];
}

/** Groups guards that differ only in the name of the tenant. */
function groupBlockers(guards: ShownPlan["planned"]["guards"]): ToldWhole["guards"] {
  const byMessage = Map.groupBy(guards, ({ tenant, guard }) =>
    JSON.stringify([guard.code, guard.message.replaceAll(tenant, "…")]),
  );
  return [...byMessage.values()]
    .sort((one, other) => other.length - one.length)
    .flatMap((group) => {
      const [first] = group;
      if (first === undefined) return [];
      const names = group.slice(0, NAMED).map(({ tenant }) => tenant);
      const suffix = group.length > NAMED ? ` and ${number(group.length - NAMED)} more` : "";
      return [{ code: first.guard.code, message: `${names.join(", ")}${suffix}:\n${first.guard.message}` }];
    });
}

function groupFailures(tenants: readonly TenantReport[]): ToldWhole["failures"] {
  const failedTenants = tenants.filter(({ error }) => error !== undefined);
  const byMessage = Map.groupBy(failedTenants, ({ name, error }) => (error?.message ?? "").replaceAll(name, "…"));
  return [...byMessage.values()]
    .sort((one, other) => other.length - one.length)
    .flatMap((group) => {
      const [{ error } = { error: undefined }] = group;
      if (error === undefined) return [];
      return [
        {
          title: firstNames(group.map(({ name }) => name)),
          facts: [
            say`Why: ${sentence(error.message)} (${given(error.code)})`,
            say`What to do: ${sentence(error.advice)}`,
          ],
        },
      ];
    });
}

function buildTenantLines(
  report: RolloutReport,
  { guards }: ShownPlan["planned"],
  { alike, groups }: WholePlan,
): ToldWhole["tenants"] {
  const { tenants } = report;
  const byName = new Map(tenants.map((tenant) => [tenant.name, tenant]));
  const listedTenants = new Set(alike.flatMap((tenantSet) => tenantSet.tenants));
  const lines = alike.map(({ tenants: names, differing }) => {
    const [firstName = ""] = names;
    const { added, changed, removed } = byName.get(firstName)?.planned ?? {
      added: 0,
      changed: 0,
      removed: 0,
    };
    const { shown, more } = cutByDanger(differing, NAMED, ({ change }) => changeTransition(change));
    const listedTenants = [...shown.map(formatCardChange), ...(more === undefined ? [] : [[`… and ${more}`]])];
    const differences = differing.length === 0 ? "" : say`; what not all get: ${join(listedTenants, ", ")}`;
    const counts = `+${number(added)} ~${number(changed)} -${number(removed)}`;
    return {
      words: say`${given("~")} ${formatTenantGroupNames(names, groups)}: ${counts}${differences}`,
      count: names.length,
    };
  });
  const refusedTenants = new Set(guards.map(({ tenant }) => tenant));
  const otherTenants = tenants.filter(({ name }) => !listedTenants.has(name));
  const otherStates = [
    ["✗", "can't be planned", otherTenants.filter(({ error }) => error !== undefined)],
    ["!", "refused", otherTenants.filter((tenant) => tenant.error === undefined && refusedTenants.has(tenant.name))],
    [
      "~",
      "nothing changes in the lists, but the state of the stack",
      otherTenants.filter(
        (tenant) => isPlannable(tenant) && tenant.state === "pending" && !refusedTenants.has(tenant.name),
      ),
    ],
    [
      "=",
      getSettledLabel(report),
      otherTenants.filter(
        (tenant) => isPlannable(tenant) && tenant.state !== "pending" && !refusedTenants.has(tenant.name),
      ),
    ],
  ] as const;
  const groupedLines = otherStates
    .map(([symbol, what, all]) => ({ sign: symbol, what, names: all.map(({ name }) => name) }))
    .filter(({ names }) => names.length > 0)
    .map(({ sign, what, names }) => ({
      words: say`${given(sign)} ${formatTenantGroupNames(names, groups)}: ${what}`,
      count: names.length,
    }));
  return [...lines, ...groupedLines];
}

/** For example: `acme and globex`, `40 tenants, group 1`. */
function formatTenantGroupNames(names: readonly string[], groups: TenantGroups): Words {
  const tenantsText = groups.who(names);
  return isFew(names) ? tenantsText : say`${counted(names.length, "tenant")}, ${tenantsText}`;
}

function isPlannable({ error }: TenantReport): boolean {
  return error === undefined;
}

/** For example: `+ allow partner.example`. */
function formatCardChange({ sign, list, change }: Card): Words {
  return say`${given(sign)} ${list} ${given(change.value)}`;
}

/** Shows each line once, with all tenants that it applies to: `allow partner.example in acme, globex and 38 more`. */
function groupByText(
  tenants: readonly TenantReport[],
  getLines: (tenant: TenantReport) => readonly string[] | undefined,
): Words[] {
  const lines = firstOfEachFirst(
    tenants.map((tenant) => (getLines(tenant) ?? []).map((text) => ({ what: text, name: tenant.name }))),
  );
  return [...Map.groupBy(lines, ({ what }) => what)].map(
    ([text, members]) => say`${given(text)} in ${firstNames(members.map(({ name }) => name))}`,
  );
}

/** Counts the tenants in which the rollout changes something at the service. */
function countChangingTenants({ tenants }: RolloutReport): number {
  return tenants.filter(({ planned: { added, changed, removed } }) => added + changed + removed > 0).length;
}

function pluralizeTenant(count: number): string {
  return count === 1 ? "tenant" : "tenants";
}

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
  const strangers = new Set(mail.guards.map((one) => one.tenant));
  const tenants = report.tenants.map((tenant) => {
    if (strangers.has(tenant.name)) return untold(tenant);
    const alarms = mail.said.get(tenant.name)?.alarms;
    return alarms === undefined ? tenant : { ...tenant, alarms };
  });
  return { ...report, tenants };
}

/** The word for a tenant without anything to do. */
function settledWord({ task, rollsBack }: RolloutReport): string {
  return task === undefined && rollsBack === undefined ? "as declared" : "left as it is";
}

function untold({ left: _left, drift: _drift, ...tenant }: TenantReport): TenantReport {
  const planned = { added: 0, changed: 0, removed: 0 };
  return { ...tenant, planned, changes: [], alarms: { danger: 0, accepted: 0, warning: 0 } };
}

export function toldWhole({ report, planned, whole }: ShownPlan): ToldWhole {
  const { source, rollsBack, task, tenants, counts, waves, skipped = [] } = report;
  const isOdd = counts.failed + skipped.length + (planned.again?.length ?? 0) > 0;
  const mood = moodOf(
    planned.guards.length > 0,
    {
      danger: whole.dangers.length,
      warning: whole.warnings.length + Number(isOdd),
      accepted: whole.accepted.length,
    },
    counts.pending > 0,
  );
  const told = new Set(whole.alike.flatMap((set) => set.tenants));
  const changing = changingIn(report);
  const stacks = onlyStacks(report, planned.guards).length;
  const sum = (sign: "added" | "changed" | "removed"): number =>
    tenants.reduce((all, { name, planned: { [sign]: count } }) => all + (told.has(name) ? count : 0), 0);
  return {
    title:
      rollsBack === undefined
        ? join([[given(source)], ...taskWords(task)], ": it ")
        : say`rolling back ${given(rollsBack)} of ${given(source)}`,
    mood,
    // The mail covers only a sample of the tenants.
    verdict: verdictOf(mood, false),
    headline: headlineOf(report, planned, whole),
    tallies: [
      { sign: "~", word: `${noun(changing)} to change`, count: changing },
      { sign: "=", word: settledWord(report), count: counts.unchanged },
      ...(stacks > 0 ? [{ sign: "·", word: "of which only the stack's state changes", count: stacks }] : []),
      ...(counts.failed > 0 ? [{ sign: "✗", word: "can't be planned", count: counts.failed }] : []),
      { sign: "+", word: "added in all", count: sum("added") },
      { sign: "~", word: "changed", count: sum("changed") },
      { sign: "-", word: "removed", count: sum("removed") },
    ],
    mail: mailWords(planned.mail),
    missing: missingOf(planned.mail),
    guards: guardsOf(planned.guards),
    again: (planned.again ?? []).map(
      ({ rollout, by, tenants: where, what }) =>
        say`${firstNames(what)} in ${counted(where.length, "tenant")}: the rollout ${given(rollout)} was to bring it, and ${given(by)} rolled back what that one had done.`,
    ),
    failures: failuresOf(tenants),
    skipped: skipped.map(skippedWords),
    leftTitle:
      rollsBack === undefined ? "Stays as it is" : "Stays as it is: somebody changed it after the rollout",
    drift: inWhom(tenants, ({ drift }) => drift),
    left: inWhom(tenants, ({ left }) => left),
    tenants: tenantsOf(report, planned, whole),
    waves: waves.map(
      ({ name, tenants: all, counts: { pending }, tolerated, after: { isGated }, closed = [] }) =>
        say`${given(name)}: ${counted(all, "tenant")}, ${pending} to change, ${tolerated} may fail${closed.length === 0 ? "" : `, not ${closed.join(", ")}`}${isGated ? "; then it waits for a person" : ""}`,
    ),
  };
}

function headlineOf(
  report: RolloutReport,
  { guards }: ShownPlan["planned"],
  { dangers, accepted, warnings, others, untold }: WholePlan,
): Words {
  const { tenants, counts } = report;
  const different = dangers.length + accepted.length + warnings.length + others.length;
  const risks = [
    [dangers.length, "dangerous"],
    [warnings.length, "to be looked at"],
    [accepted.length, "accepted risks"],
  ] as const;
  const judged = risks
    .filter(([count]) => count > 0)
    .map(([count, what]): Words => [`${number(count)} ${what}`]);
  const [byLevel, byGuard] = [true, false].map((isByLevel) => {
    const refusing = guards.filter(({ guard }) => (guard.code === FAIL_ON_GUARD) === isByLevel);
    return new Set(refusing.map(({ tenant }) => tenant)).size;
  }) as [number, number];
  return [
    ...(byGuard > 0 ? [`It would be refused, by what protects ${counted(byGuard, "tenant")}. `] : []),
    ...(byLevel > 0 ? [`\`--fail-on\` refuses the changes of ${counted(byLevel, "tenant")}. `] : []),
    ...say`${changingIn(report)} of ${counted(tenants.length, "tenant")} would change, by ${counted(different, "different change")}${untold > 0 ? " and more that are counted alone" : ""}${judged.length > 0 ? say`: ${enumerate(judged)}` : ""}.`,
    ...(counts.failed > 0 ? [` ${counted(counts.failed, "tenant")} can't be planned.`] : []),
    ...withoutWords(report),
  ];
}

function mailWords(mail: MailAsked | undefined): Words {
  if (mail === undefined) return ["The tenants' mail was not looked at."];
  const { days, of, said } = mail;
  if (of === 0) return ["Nothing changes that the tenants' mail could speak of, and it was not looked at."];
  const all = said.size === of;
  const whose = all
    ? of === 1
      ? "the tenant"
      : `all ${number(of)} tenants`
    : `${number(said.size)} of ${number(of)} tenants`;
  const names = said.size === 0 ? [] : say` (${firstNames([...said.keys()])})`;
  const rest = all
    ? "."
    : say`, a sample: of the others nothing is known, unless ${given("--evidence all")} asks them.`;
  return say`The mail of ${days > 0 ? `the last ${days} days of ` : ""}${whose} in which something changes was looked at${names}${rest}`;
}

function missingOf(mail: MailAsked | undefined): readonly Words[] {
  if (mail === undefined) return [];
  return [
    ...mail.silent.map(({ tenant, why }) => say`${given(tenant)}: ${sentence(why)}`),
    ...[...mail.said].flatMap(([tenant, { missing }]) =>
      missing.map((why) => say`${given(tenant)}: ${sentence(why)}`),
    ),
  ];
}

/** Groups guards that differ only in the name of the tenant. */
function guardsOf(guards: ShownPlan["planned"]["guards"]): ToldWhole["guards"] {
  const alike = Map.groupBy(guards, ({ tenant, guard }) =>
    JSON.stringify([guard.code, guard.message.replaceAll(tenant, "…")]),
  );
  return [...alike.values()]
    .sort((one, other) => other.length - one.length)
    .flatMap((all) => {
      const [first] = all;
      if (first === undefined) return [];
      const names = all.slice(0, NAMED).map(({ tenant }) => tenant);
      const more = all.length > NAMED ? ` and ${number(all.length - NAMED)} more` : "";
      return [{ code: first.guard.code, message: `${names.join(", ")}${more}:\n${first.guard.message}` }];
    });
}

function failuresOf(tenants: readonly TenantReport[]): ToldWhole["failures"] {
  const failed = tenants.filter(({ error }) => error !== undefined);
  const alike = Map.groupBy(failed, ({ name, error }) => (error?.message ?? "").replaceAll(name, "…"));
  return [...alike.values()]
    .sort((one, other) => other.length - one.length)
    .flatMap((all) => {
      const [{ error } = { error: undefined }] = all;
      if (error === undefined) return [];
      return [
        {
          title: firstNames(all.map(({ name }) => name)),
          facts: [
            say`Why: ${sentence(error.message)} (${given(error.code)})`,
            say`What to do: ${sentence(error.advice)}`,
          ],
        },
      ];
    });
}

function tenantsOf(
  report: RolloutReport,
  { guards }: ShownPlan["planned"],
  { alike, groups }: WholePlan,
): ToldWhole["tenants"] {
  const { tenants } = report;
  const byName = new Map(tenants.map((tenant) => [tenant.name, tenant]));
  const told = new Set(alike.flatMap((set) => set.tenants));
  const lines = alike.map(({ tenants: names, differing }) => {
    const [only = ""] = names;
    const { added, changed, removed } = byName.get(only)?.planned ?? { added: 0, changed: 0, removed: 0 };
    const { shown, more } = cutByDanger(differing, NAMED, ({ change }) => changeTransition(change));
    const told = [...shown.map(changeWords), ...(more === undefined ? [] : [[`… and ${more}`]])];
    const alone = differing.length === 0 ? "" : say`; what not all get: ${join(told, ", ")}`;
    const counts = `+${number(added)} ~${number(changed)} -${number(removed)}`;
    return {
      words: say`${given("~")} ${whoWords(names, groups)}: ${counts}${alone}`,
      count: names.length,
    };
  });
  const isRefused = new Set(guards.map(({ tenant }) => tenant));
  const rest = tenants.filter(({ name }) => !told.has(name));
  const others = [
    ["✗", "can't be planned", rest.filter(({ error }) => error !== undefined)],
    ["!", "refused", rest.filter((one) => one.error === undefined && isRefused.has(one.name))],
    [
      "~",
      "nothing changes in the lists, but the state of the stack",
      rest.filter((one) => isPlain(one) && one.state === "pending" && !isRefused.has(one.name)),
    ],
    [
      "=",
      settledWord(report),
      rest.filter((one) => isPlain(one) && one.state !== "pending" && !isRefused.has(one.name)),
    ],
  ] as const;
  const asOne = others
    .map(([sign, what, all]) => ({ sign, what, names: all.map(({ name }) => name) }))
    .filter(({ names }) => names.length > 0)
    .map(({ sign, what, names }) => ({
      words: say`${given(sign)} ${whoWords(names, groups)}: ${what}`,
      count: names.length,
    }));
  return [...lines, ...asOne];
}

/** For example: `acme and globex`, `40 tenants, group 1`. */
function whoWords(names: readonly string[], groups: TenantGroups): Words {
  const who = groups.who(names);
  return isFew(names) ? who : say`${counted(names.length, "tenant")}, ${who}`;
}

function isPlain({ error }: TenantReport): boolean {
  return error === undefined;
}

/** For example: `+ allow partner.example`. */
function changeWords({ sign, list, change }: Card): Words {
  return say`${given(sign)} ${list} ${given(change.value)}`;
}

/** Shows each line once, with all tenants that it applies to: `allow partner.example in acme, globex and 38 more`. */
function inWhom(
  tenants: readonly TenantReport[],
  linesOf: (tenant: TenantReport) => readonly string[] | undefined,
): Words[] {
  const all = firstOfEachFirst(
    tenants.map((tenant) => (linesOf(tenant) ?? []).map((what) => ({ what, name: tenant.name }))),
  );
  return [...Map.groupBy(all, ({ what }) => what)].map(
    ([what, members]) => say`${given(what)} in ${firstNames(members.map(({ name }) => name))}`,
  );
}

/** Counts the tenants in which the rollout changes something at the service. */
function changingIn({ tenants }: RolloutReport): number {
  return tenants.filter(({ planned: { added, changed, removed } }) => added + changed + removed > 0).length;
}

function noun(count: number): string {
  return count === 1 ? "tenant" : "tenants";
}

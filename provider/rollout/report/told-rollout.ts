import { counted, enumerate, given, minute, number, say, type Words } from "../../render/words";
import { excerpt } from "../../settings/text";
import { between, duration } from "../model/duration";
import type { RolloutReport, TenantReport } from "../model/rollout-report";
import { TASK_WORDS, type Task } from "../model/task";
import type { TenantState } from "../model/wave";
import { headlineOf } from "./rollout-headline";
import { NOBODY } from "./skip-words";
import { isUnderWay, rolloutWords, STATES, type StateWords } from "./state-words";
import { firstNames, NAMED } from "./tenant-names";

/**
 * The view of a rollout, in the order of a reader's questions: how did it go, what do I do now, which tenants failed and why, how far did
 * each wave come. Every format shows this content, and only decides on the layout.
 */
export interface ToldRollout {
  readonly mood: RolloutMood;
  /** One or two words for the mood: `Stopped`. */
  readonly verdict: string;
  readonly headline: Words;
  /** The tenants that are unchanged, may be partly changed, or are in progress. Empty if all is well. */
  readonly standing: Words;
  /** The states with at least one tenant, the worst first. */
  readonly tallies: readonly StateTally[];
  readonly failures: readonly TenantReport[];
  /** The time of the beginning, the duration, and the rollout that this one rolls back. */
  readonly facts: readonly Words[];
}

export type RolloutMood = "danger" | "warning" | "none" | "running";

export interface StateTally extends StateWords {
  readonly state: TenantState;
  readonly count: number;
}

/** Builds the view of a rollout from its report. */
export function toldRollout(report: RolloutReport): ToldRollout {
  const words = rolloutWords(report).tenants;
  return {
    ...verdictOf(report),
    headline: headlineOf(report),
    standing: [standingOf(report), unmanagedWords(report)].flatMap((words, at) =>
      at > 0 && words.length > 0 ? [" ", ...words] : words,
    ),
    tallies: STATES.map((state) => ({
      state,
      ...words[state],
      count: report.counts[state],
    })).filter(({ count }) => count > 0),
    failures: report.tenants.filter(({ state }) => state === "failed"),
    facts: factsOf(report),
  };
}

/** Formats the number of changes in a tenant's plan: `+3 ~1 -2`. Empty if there are none. */
export function plannedText({ planned }: Pick<TenantReport, "planned">): string {
  const { added, changed, removed } = planned;
  return [
    added > 0 && `+${number(added)}`,
    changed > 0 && `~${number(changed)}`,
    removed > 0 && `-${number(removed)}`,
  ]
    .filter((part) => part !== false)
    .join(" ");
}

/** Counts the changes of its plan that a report leaves out. */
export function leftOut({ planned, changes }: TenantReport): number {
  return Math.max(0, planned.added + planned.changed + planned.removed - changes.length);
}

/** Describes changes that are left out. None is more dangerous, because a report keeps the most dangerous ones. */
export function leftOutText(count: number): string {
  return `and ${number(count)} more, none more dangerous`;
}

/** Lists the first line of each tenant, then the second of each, and so on. The first line of a tenant is its most dangerous one. */
export function firstOfEachFirst<Line>(tenants: readonly (readonly Line[])[]): Line[] {
  return tenants
    .flatMap((lines) => lines.map((line, position) => ({ line, position })))
    .sort((one, other) => one.position - other.position)
    .map(({ line }) => line);
}

/** States that a tenant that failed during planning was not touched. Empty for other failures. */
export function touchedWords({ error }: Pick<TenantReport, "error">): Words {
  return error?.phase === "plan" ? ["Found while planning: nothing of it was touched."] : [];
}

function verdictOf({
  state,
  isHeld,
  counts,
  rolledBackBy,
  skipped: { length: skipped } = NOBODY,
}: RolloutReport): {
  mood: RolloutMood;
  verdict: string;
} {
  switch (state) {
    case "planned":
      return counts.failed > 0
        ? { mood: "danger", verdict: "Planned, with errors" }
        : { mood: "running", verdict: "Planned" };
    case "running":
      return isHeld ? { mood: "running", verdict: "Running" } : { mood: "warning", verdict: "Interrupted" };
    case "waiting":
      return { mood: "warning", verdict: "Waiting" };
    case "stopped":
      return { mood: "danger", verdict: "Stopped" };
    case "abandoned":
      return { mood: "warning", verdict: "Abandoned" };
    case "rolled-back":
      return { mood: "warning", verdict: rolledBackBy === undefined ? "Partly rolled back" : "Rolled back" };
    case "done":
      return counts.failed > 0
        ? { mood: "warning", verdict: "Done, with failures" }
        : skipped > 0
          ? { mood: "warning", verdict: `Done, but for ${counted(skipped, "tenant")}` }
          : { mood: "none", verdict: "Done" };
  }
}

function standingOf(report: RolloutReport): Words {
  const { state, tenants } = report;
  if (state === "planned" || isUnderWay(report)) return [];
  const isIn =
    (...states: readonly TenantState[]) =>
    (tenant: TenantReport) =>
      states.includes(tenant.state);
  const begun = tenants.filter(({ attempts }) => attempts > 0);
  const cut = begun.filter(isIn("pending", "released", "running"));
  const failed = begun.filter(isIn("failed"));
  const skipped = begun.filter(isIn("skipped"));
  const untouched = tenants.filter((tenant) => tenant.attempts === 0 && !isIn("unchanged")(tenant));
  const parts = [
    ...(failed.length > 0 ? [`${number(failed.length)} that failed`] : []),
    ...(skipped.length > 0
      ? [`${number(skipped.length)} that ${skipped.length === 1 ? "is" : "are"} skipped`]
      : []),
    ...(cut.length > 0
      ? [`${number(cut.length)} that ${cut.length === 1 ? "was" : "were"} begun and not finished`]
      : []),
  ];
  const left = tenants.some(isIn("pending", "released", "running"));
  return [
    [
      ...(untouched.length > 0 ? [`Not begun, and as before: ${counted(untouched.length, "tenant")}.`] : []),
      ...(parts.length > 0
        ? [`May be changed in part: ${enumerate(parts.map((part) => [part])).join("")}.`]
        : []),
      ...(left && (state === "waiting" || state === "stopped") ? ["Nothing is under way."] : []),
      ...(state === "running" ? ["By itself it begins nothing more."] : []),
    ].join(" "),
  ].filter((text) => text !== "");
}

/** Describes the allows that a rollout of the files has left alone because nobody declares them. Tenants with risky ones come first. */
function unmanagedWords(report: RolloutReport): Words {
  const { state, tenants, task, rollsBack } = report;
  if (state === "planned" || isUnderWay(report) || task !== undefined || rollsBack !== undefined) return [];
  const holding = tenants
    .flatMap(({ name, unmanagedAllows: allows }) => (allows === undefined ? [] : [{ name, ...allows }]))
    .sort((one, other) => other.risky - one.risky || other.count - one.count);
  if (holding.length === 0) return [];
  const count = holding.reduce((sum, one) => sum + one.count, 0);
  const risky = holding.reduce((sum, one) => sum + one.risky, 0);
  const named = holding
    .slice(0, NAMED)
    .map((one): Words => say`${given(one.name)} (${firstNames(one.values, one.count)})`);
  const rest = holding.length - named.length;
  const all = rest > 0 ? [...named, say`${counted(rest, "more tenant")}`] : named;
  return say`${counted(count, "unmanaged allow")} ${count === 1 ? "stays" : "stay"}${risky > 0 ? `, ${number(risky)} of them risky` : ""}: ${enumerate(all)}.`;
}

function factsOf({ id, startedAt, finishedAt, rollsBack, task, createdAt }: RolloutReport): Words[] {
  const took = between(startedAt, finishedAt);
  const begun = startedAt ?? createdAt;
  return [
    say`Rollout ${given(excerpt(id, LONGEST_ID))}`,
    ...(rollsBack === undefined ? [] : [say`rolls back ${given(excerpt(rollsBack, LONGEST_ID))}`]),
    ...taskWords(task),
    say`${startedAt === undefined ? "planned" : "begun"} ${minute(begun)}`,
    ...(took === undefined ? [] : [say`took ${duration(took)}`]),
  ];
}

/** Describes the purpose of a rollout that doesn't apply the files. */
export function taskWords(task: Task | undefined): readonly Words[] {
  return task === undefined ? [] : [[TASK_WORDS[task].does]];
}

const LONGEST_ID = 100;

/**
 * Finds tenants without changes at the service, where only the state of the stack changes. Excludes tenants with guards, because their
 * changes are unknown.
 */
export function onlyStacks(
  { tenants }: Pick<RolloutReport, "tenants">,
  guards: readonly { readonly tenant: string }[],
): readonly TenantReport[] {
  const refused = new Set(guards.map(({ tenant }) => tenant));
  return tenants.filter(
    ({ name, state, planned: { added, changed, removed } }) =>
      state === "pending" && added + changed + removed === 0 && !refused.has(name),
  );
}

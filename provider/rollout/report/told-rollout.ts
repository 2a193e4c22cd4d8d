import {
  counted,
  enumerate,
  given,
  minute,
  number,
  onOneLine,
  say,
  sentence,
  type Words,
} from "../../plan/render/words";
import { excerpt } from "../../settings/text";
import { TASK_WORDS, type Task } from "../tasks/task";
import { isEndedState, type TenantState, type WaveState } from "../wave";
import { between, duration } from "./duration";
import type { RolloutReport, SkippedReport, TenantReport, WaveReport } from "./rollout-report";

/**
 * What a person is told of a rollout, in the order in which one asks: how did it go, what do I do now, which tenants
 * failed and why, how far did each wave come. Every format shows this, and decides only how.
 */
export interface ToldRollout {
  readonly mood: RolloutMood;
  /** One word or two for the mood: `Stopped`. */
  readonly verdict: string;
  readonly headline: Words;
  /** What is as it was, what may be changed in part, what is under way: what one may count on. Empty where all is well. */
  readonly standing: Words;
  /** States that some tenant is in, the worst first. */
  readonly tallies: readonly StateTally[];
  readonly failures: readonly TenantReport[];
  /** When it began, how long it took, what it rolls back. */
  readonly facts: readonly Words[];
}

export type RolloutMood = "danger" | "warning" | "none" | "running";

export interface StateTally extends StateWords {
  readonly state: TenantState;
  readonly count: number;
}

/** A state of a tenant or wave for people: a sign that stands for it without colour, and a word or two. */
export interface StateWords {
  readonly sign: string;
  readonly word: string;
}

export const TENANT_STATES: Readonly<Record<TenantState, StateWords>> = {
  failed: { sign: "✗", word: "failed" },
  skipped: { sign: "⊘", word: "skipped" },
  running: { sign: "▶", word: "running" },
  done: { sign: "✓", word: "changed" },
  unchanged: { sign: "=", word: "unchanged" },
  released: { sign: "·", word: "up next" },
  pending: { sign: "·", word: "to do" },
};

export const WAVE_STATES: Readonly<Record<WaveState, StateWords>> = {
  pending: { sign: "·", word: "not begun" },
  running: { sign: "▶", word: "running" },
  soaking: { sign: "⧖", word: "soaking" },
  checking: { sign: "▶", word: "health check" },
  gated: { sign: "‖", word: "waits for a person" },
  done: { sign: "✓", word: "done" },
  stopped: { sign: "✗", word: "stopped" },
};

/** The words for the states of a rollout's tenants and waves. */
export interface RolloutWords {
  readonly tenants: Readonly<Record<TenantState, StateWords>>;
  readonly waves: Readonly<Record<WaveState, StateWords>>;
}

/** Of a rollout that nobody is at, nothing is said to go on. */
export function rolloutWords(report: Pick<RolloutReport, "state" | "isHeld">): RolloutWords {
  if (isUnderWay(report)) return { tenants: TENANT_STATES, waves: WAVE_STATES };
  return {
    tenants: { ...TENANT_STATES, running: { sign: "▶", word: "were under way" } },
    waves: {
      ...WAVE_STATES,
      running: { sign: "‖", word: "interrupted" },
      checking: { sign: "‖", word: "to be checked" },
    },
  };
}

function isUnderWay({ state, isHeld }: Pick<RolloutReport, "state" | "isHeld">): boolean {
  return state === "running" && isHeld;
}

/** What is told of a rollout as its report has it. */
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

/** How many tenants of it nothing is left to do for, but those that a rollout's end left out. */
export function throughOf(counts: Readonly<Record<TenantState, number>>): number {
  return counts.done + counts.unchanged + counts.failed + counts.skipped;
}

/** How a wave stands: `stopped`, `soaking until 2026-11-21 08:12:05 UTC`. */
export function waveStateWords({ state, soakUntil }: WaveReport, { waves }: RolloutWords): Words {
  const { word } = waves[state];
  return state === "soaking" && soakUntil !== undefined ? say`${word} until ${timeWords(soakUntil)}` : [word];
}

/** What a wave's line says beside its name and state: `1 failed (2 tolerated) and 20 changed`. */
export function waveWords(
  { counts, tolerated, health }: WaveReport,
  { tenants: words }: RolloutWords,
): Words {
  const parts = STATES.filter((state) => counts[state] > 0).map((state): Words => {
    const count = `${number(counts[state])} ${words[state].word}`;
    return [state === "failed" && tolerated > 0 ? `${count} (${number(tolerated)} tolerated)` : count];
  });
  const said = enumerate(parts);
  return health === undefined || health.isWell ? said : say`${said}; unhealthy: ${sentence(health.message)}`;
}

/** When a wave's tenants were being changed. */
export interface WaveTimes {
  /** For how long, in milliseconds: without soaking and waiting, and without the time between two runs. */
  readonly workMs: number;
  /** When the last was through. */
  readonly lastAt: string;
}

/**
 * When the tenants of each wave were being changed, by the wave's name. Those in which somebody is still at work or nothing
 * was done are not in it.
 */
export function waveTimes({ waves, tenants }: RolloutReport): ReadonlyMap<string, WaveTimes> {
  const byWave = Map.groupBy(tenants, ({ wave }) => wave);
  const times = new Map<string, WaveTimes>();
  for (const { name, counts } of waves) {
    if (counts.running + counts.released > 0) continue;
    const spans = (byWave.get(name) ?? []).flatMap(({ startedAt, finishedAt }) =>
      startedAt === undefined || finishedAt === undefined ? [] : [{ startedAt, finishedAt }],
    );
    // Times in UTC are in the order of their texts.
    spans.sort((one, other) => (one.startedAt < other.startedAt ? -1 : 1));
    let workMs = 0;
    let lastAt = "";
    for (const { startedAt, finishedAt } of spans) {
      workMs += between(startedAt > lastAt ? startedAt : lastAt, finishedAt) ?? 0;
      if (finishedAt > lastAt) lastAt = finishedAt;
    }
    if (spans.length > 0) times.set(name, { workMs, lastAt });
  }
  return times;
}

/** What a tenant's plan changes: `+3 ~1 -2`; empty where it changes nothing. */
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

/** How many changes of its plan a report leaves out. */
export function leftOut({ planned, changes }: TenantReport): number {
  return Math.max(0, planned.added + planned.changed + planned.removed - changes.length);
}

/** What is told of changes that are left out: a plan keeps the most dangerous. */
export function leftOutText(count: number): string {
  return `and ${number(count)} more, none more dangerous`;
}

/** The first line of each tenant, then the second of each, and so on: a tenant's first is its most dangerous. */
export function firstOfEachFirst<Line>(tenants: readonly (readonly Line[])[]): Line[] {
  return tenants
    .flatMap((lines) => lines.map((line, position) => ({ line, position })))
    .sort((one, other) => one.position - other.position)
    .map(({ line }) => line);
}

/** What became of a tenant that failed, as far as it is known. */
export function touchedWords({ error }: Pick<TenantReport, "error">): Words {
  return error?.phase === "plan" ? ["Found while planning: nothing of it was touched."] : [];
}

const STATES = Object.keys(TENANT_STATES) as TenantState[];

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

function headlineOf(report: RolloutReport): Words {
  const why = whyOf(report);
  const how = [...howFar(report), ...withoutWords(report)];
  return why.length === 0 ? how : [...why, " ", ...how];
}

/** Why it is as it is, and since when, or until when. */
function whyOf({ state, reason, isHeld, waitingSince, waves }: RolloutReport): Words {
  const why = reason === undefined ? [] : [sentence(reason)];
  switch (state) {
    case "waiting":
      return waitingSince === undefined
        ? why
        : [...why, ...say` It has waited since ${minute(waitingSince)}.`];
    case "running": {
      if (!isHeld) return why;
      const open = waves.find((wave) => wave.state === "soaking" || wave.state === "checking");
      if (open === undefined) return why;
      if (open.state === "checking") return say`The health of the wave ${given(open.name)} is being checked.`;
      const until: Words = open.soakUntil === undefined ? [] : say` until ${timeWords(open.soakUntil)}`;
      return say`The wave ${given(open.name)} is through, and soaks${until}.`;
    }
    default:
      return why;
  }
}

const NOBODY: NonNullable<RolloutReport["skipped"]> = [];
/** So many tenants are named in a sentence. */
const NAMED = 5;

/** Whom it goes on without: a sentence behind another one; empty where there is nobody. */
export function withoutWords({ skipped = NOBODY }: RolloutReport): Words {
  if (skipped.length === 0) return [];
  return say` Skipped: ${tenantNames(skipped)}.`;
}

/** The first names, and how many more there are. */
function tenantNames(tenants: readonly { readonly name: string }[]): Words {
  const names = tenants.slice(0, NAMED).map(({ name }): Words => [given(name)]);
  const more = tenants.length - names.length;
  return enumerate(more > 0 ? [...names, [`${number(more)} more`]] : names);
}

/** Who is skipped, since when, who said so and why. */
export function skippedWords({ name, since, by, reason }: SkippedReport): Words {
  const who: Words = by === undefined ? [] : say` by ${given(by)}`;
  return say`${given(name)}, since ${minute(since)}${who}: ${sentence(onOneLine(reason))}`;
}

/** What stands above those that are skipped. */
export function skippedHeading(skipped: readonly unknown[]): string {
  return `Skipped (${number(skipped.length)})`;
}

function howFar({
  counts,
  tenants,
  state,
  waves,
  rollsBack,
  rollsBackTo,
  skipped = NOBODY,
  task,
}: RolloutReport): Words {
  // Those it goes on without are told by themselves.
  const total = tenants.length - counts.skipped;
  const through = throughOf(counts) - counts.skipped;
  if (state === "planned") {
    const failed = counts.failed > 0 ? `, ${number(counts.failed)} failed` : "";
    return say`${counted(total, "tenant")} in ${counted(waves.length, "wave")}: ${counted(
      total - counts.unchanged - counts.failed,
      "tenant",
    )} to change, ${counts.unchanged} ${task === undefined ? "as declared already" : "left as they are"}${failed}.`;
  }
  // It is not known here what they hold since.
  if (isEndedState(state)) {
    return say`It changed ${counts.done} of ${counted(total, "tenant")}, ${counts.failed} failed, ${
      total - through
    } were left.`;
  }
  if (task !== undefined) {
    const { done, unchanged, failed } = counts;
    const staying = tenants.filter(({ left = [] }) => left.length > 0).length;
    const stays = staying === 0 ? "" : ` In ${counted(staying, "tenant")} something stays, as its plan told.`;
    return say`It changed ${done} of ${counted(total, "tenant")}, and left ${unchanged} as they are. ${failed} failed, and ${total - through} are still to do.${stays}`;
  }
  const back = rollsBack === undefined || rollsBackTo?.startsWith("the files") === true;
  const held = (who: string) =>
    back ? say`what is declared` : say`what ${who} held before ${given(rollsBack ?? "")}`;
  const changed = rollsBack === undefined ? [] : changedSince(tenants);
  if (changed.length > 0) {
    const hold = through - counts.failed - changed.length;
    const failed = counts.failed > 0 ? `, ${number(counts.failed)} failed` : "";
    const open = total - through > 0 ? `, ${number(total - through)} left` : "";
    return say`${hold} of ${counted(total, "tenant")} hold ${held("they")}${failed}${open}. Somebody changed ${tenantNames(changed)} after the rollout; what was changed stays.`;
  }
  if (through === total && counts.failed === 0) {
    if (skipped.length > 0) {
      return total === 0
        ? say`Nothing is left of it to do.`
        : say`${counted(total, "tenant")} ${total === 1 ? "holds" : "hold"} ${held(total === 1 ? "it" : "they")}.`;
    }
    return total === 1
      ? say`The one tenant holds ${held("it")}.`
      : say`All ${counted(total, "tenant")} hold ${held("they")}.`;
  }
  return say`${through - counts.failed} of ${counted(total, "tenant")} hold ${held("they")}, ${counts.failed} failed, ${
    total - through
  } left.`;
}

/** The tenants that don't hold all that they held before, since somebody changed them after the rollout. */
function changedSince(tenants: readonly TenantReport[]): readonly TenantReport[] {
  return tenants.filter(
    ({ state, left = [] }) => left.length > 0 && (state === "done" || state === "unchanged"),
  );
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

/** The allows that a rollout of the files has left since nobody declares them; risky ones first. */
function unmanagedWords(report: RolloutReport): Words {
  const { state, tenants, task, rollsBack } = report;
  if (state === "planned" || isUnderWay(report) || task !== undefined || rollsBack !== undefined) return [];
  const holding = tenants
    .flatMap(({ name, unmanagedAllows: allows }) => (allows === undefined ? [] : [{ name, ...allows }]))
    .sort((one, other) => other.risky - one.risky || other.count - one.count);
  if (holding.length === 0) return [];
  const count = holding.reduce((sum, one) => sum + one.count, 0);
  const risky = holding.reduce((sum, one) => sum + one.risky, 0);
  const named = holding.slice(0, NAMED).map((one): Words => {
    const values = one.values.slice(0, NAMED).map((value): Words => [given(value)]);
    const more = one.count - values.length;
    return say`${given(one.name)} (${enumerate(more > 0 ? [...values, [`${number(more)} more`]] : values)})`;
  });
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

/** What a rollout is for, where it does not bring what the files say. */
export function taskWords(task: Task | undefined): readonly Words[] {
  return task === undefined ? [] : [[TASK_WORDS[task].does]];
}

const LONGEST_ID = 100;

/** A time to the second in UTC; what is none is shown as it came. */
export function timeWords(time: string): Words {
  const [, date, clock] = /^(\d{4}-\d{2}-\d{2})T(\d{2}:\d{2}:\d{2})(?:\.\d+)?Z$/.exec(time) ?? [];
  return date === undefined || clock === undefined ? [given(time)] : [`${date} ${clock} UTC`];
}

/** Tenants in which nothing changes that the service holds, but the state of the stack; of those that are refused, nobody knows. */
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

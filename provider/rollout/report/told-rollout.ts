import {
  counted,
  enumerate,
  given,
  minute,
  number,
  say,
  sentence,
  type Words,
} from "../../gitops/plan/render/words";
import { excerpt } from "../../settings/text";
import type { TenantState, WaveState } from "../wave";
import { between, duration } from "./duration";
import type { RolloutReport, TenantChange, TenantReport, WaveReport } from "./rollout-report";

/**
 * What a person is told of a rollout, in the order in which one asks: how did it go, what do I do now, which tenants
 * failed and why, how far did each wave come. Every format shows this, and decides only how.
 */
export interface ToldRollout {
  readonly mood: RolloutMood;
  /** One word or two for the mood: `Stopped`. */
  readonly verdict: string;
  readonly headline: Words;
  /** States that some tenant is in, the worst first. */
  readonly tallies: readonly StateTally[];
  readonly failures: readonly TenantReport[];
  /** When it began, how long it took, what it takes back. */
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

/** What is told of a rollout as its report has it. */
export function toldRollout(report: RolloutReport): ToldRollout {
  return {
    ...verdictOf(report),
    headline: headlineOf(report),
    tallies: STATES.map((state) => ({
      state,
      ...TENANT_STATES[state],
      count: report.counts[state],
    })).filter(({ count }) => count > 0),
    failures: report.tenants.filter(({ state }) => state === "failed"),
    facts: factsOf(report),
  };
}

/** How many tenants of it nothing is left to do for, but those that a rollout's end left out. */
export function throughOf(counts: Readonly<Record<TenantState, number>>): number {
  return counts.done + counts.unchanged + counts.failed;
}

/** What a wave's line says beside its name and state: `1 failed (2 tolerated) and 20 changed`. */
export function waveWords({ counts, tolerated, health }: WaveReport): Words {
  const parts = STATES.filter((state) => counts[state] > 0).map((state): Words => {
    const count = `${number(counts[state])} ${TENANT_STATES[state].word}`;
    return [state === "failed" && tolerated > 0 ? `${count} (${number(tolerated)} tolerated)` : count];
  });
  const said = enumerate(parts);
  return health === undefined || health.isWell ? said : say`${said}; unhealthy: ${sentence(health.message)}`;
}

/**
 * How long the tenants of each wave took together, in milliseconds, by the wave's name: without its soaking and waiting.
 * Those in which somebody is still at work or nothing was done are not in it.
 */
export function waveDurations({ waves, tenants }: RolloutReport): ReadonlyMap<string, number> {
  const last = new Map<string, string>();
  for (const { wave, finishedAt } of tenants) {
    // Times in UTC are in the order of their texts.
    if (finishedAt !== undefined && finishedAt > (last.get(wave) ?? "")) last.set(wave, finishedAt);
  }
  const durations = new Map<string, number>();
  for (const { name, startedAt, counts } of waves) {
    const ms = between(startedAt, last.get(name));
    if (ms !== undefined && counts.running + counts.released === 0) durations.set(name, ms);
  }
  return durations;
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

/** `deny`, `allow → deny`, `VIP`: what a change is of. */
export function listOf({ kind, list }: TenantChange): string {
  return kind === "vip" ? "VIP" : (list ?? "entry");
}

export const SIGNS = { add: "+", change: "~", remove: "-" } as const;

/** What became of a tenant that failed, as far as it is known. */
export function touchedWords({ error }: Pick<TenantReport, "error">): Words {
  return error?.phase === "plan" ? ["Found while planning: nothing of it was touched."] : [];
}

const STATES = Object.keys(TENANT_STATES) as TenantState[];

function verdictOf({ state, isHeld, counts }: RolloutReport): { mood: RolloutMood; verdict: string } {
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
      return { mood: "warning", verdict: "Given up" };
    case "done":
      return counts.failed > 0
        ? { mood: "warning", verdict: "Done, with failures" }
        : { mood: "none", verdict: "Done" };
  }
}

function headlineOf(report: RolloutReport): Words {
  const { counts, tenants, state } = report;
  const total = tenants.length;
  const through = throughOf(counts);
  const how =
    state === "planned"
      ? say`${counted(total, "tenant")} in ${counted(report.waves.length, "wave")}: ${counted(
          total - counts.unchanged - counts.failed,
          "tenant",
        )} to change, ${counts.unchanged} as declared already${counts.failed > 0 ? `, ${number(counts.failed)} failed` : ""}.`
      : through === total && counts.failed === 0
        ? say`All ${counted(total, "tenant")} hold what is declared.`
        : say`${number(through - counts.failed)} of ${counted(total, "tenant")} hold what is declared, ${counts.failed} failed, ${
            total - through
          } left.`;
  return report.reason === undefined ? how : say`${sentence(report.reason)} ${how}`;
}

function factsOf({ id, startedAt, finishedAt, rollsBack, createdAt }: RolloutReport): Words[] {
  const took = between(startedAt, finishedAt);
  const begun = startedAt ?? createdAt;
  return [
    say`Rollout ${given(excerpt(id, LONGEST_ID))}`,
    ...(rollsBack === undefined ? [] : [say`takes back ${given(excerpt(rollsBack, LONGEST_ID))}`]),
    say`${startedAt === undefined ? "planned" : "begun"} ${minute(begun)}`,
    ...(took === undefined ? [] : [say`took ${duration(took)}`]),
  ];
}

const LONGEST_ID = 100;

/** A time to the second in UTC; what is none is shown as it came. */
export function timeWords(time: string): Words {
  const [, date, clock] = /^(\d{4}-\d{2}-\d{2})T(\d{2}:\d{2}:\d{2})(?:\.\d+)?Z$/.exec(time) ?? [];
  return date === undefined || clock === undefined ? [given(time)] : [`${date} ${clock} UTC`];
}

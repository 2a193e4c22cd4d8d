import { SIGNS } from "../../../plan/render/plan-words";
import { type Html, html, htmlWords } from "../../../render/html-text";
import { enumerate, given, minute, number, say, type Words } from "../../../render/words";
import { changeLine } from "../../../rollout/history/shown-page";
import { duration } from "../../../rollout/model/duration";
import type { KeptChange, ShownRollout } from "../../../rollout/model/history-schema";
import type { RolloutReport, WaveReport } from "../../../rollout/model/rollout-report";
import type { TenantState } from "../../../rollout/model/wave";
import { rolloutWords, TENANT_STATES } from "../../../rollout/report/state-words";
import { type RolloutMood, toldRollout } from "../../../rollout/report/told-rollout";
import { waveTimes } from "../../../rollout/report/wave-times";
import { excerpt } from "../../../settings/text";
import { rolloutPage, tenantPage } from "./paths";

const STATE_CLASSES: Readonly<Record<RolloutMood, string>> = {
  danger: "is-stopped",
  warning: "is-waiting",
  none: "is-done",
  running: "is-running",
};

/** Renders the state of a rollout with its colour. */
export function rolloutState(report: RolloutReport): Html {
  const { mood, verdict } = toldRollout(report);
  return html`<span class="state ${STATE_CLASSES[mood]}">${verdict}</span>`;
}

/** Renders links to the pages of rollouts and tenants, if the site has these pages. */
export class PageLinks {
  readonly #rollouts: ReadonlyMap<string, RolloutReport>;
  readonly #tenants: ReadonlySet<string>;
  readonly #root: string;

  /**
   * @param tenants the names of the tenants that have a page.
   * @param root the relative path from the present page to the site's directory.
   */
  constructor(rollouts: readonly ShownRollout[], tenants: ReadonlySet<string>, root = "") {
    this.#rollouts = new Map(rollouts.map(({ report }) => [report.id, report]));
    this.#tenants = tenants;
    this.#root = root;
  }

  rollout(id: string): Html {
    const label = html`<bdi>${excerpt(id)}</bdi>`;
    return this.#rollouts.has(id) ? html`<a href="${this.#root}${rolloutPage(id)}">${label}</a>` : label;
  }

  tenants(names: readonly string[]): Html {
    return html`${names.map((name, index) => {
      const label = html`<bdi>${excerpt(name)}</bdi>`;
      const link = this.#tenants.has(name) ? html`<a href="${this.#root}${tenantPage(name)}">${label}</a>` : label;
      return html`${index === 0 ? "" : ", "}${link}`;
    })}`;
  }

  /** Renders which rollout this one rolls back, and which rollouts roll this one back. */
  rollbacks({ id, rollsBack, rolledBackBy }: RolloutReport): Html {
    const otherRollouts = [...this.#rollouts.values()].filter((other) => other.rollsBack === id);
    const rollbackIds = new Set([
      ...(rolledBackBy === undefined ? [] : [rolledBackBy]),
      ...otherRollouts.map((other) => other.id),
    ]);
    return html`${rollsBack === undefined ? "" : html`<p>Rolls back ${this.rollout(rollsBack)}.</p>`}${
      rollbackIds.size === 0
        ? ""
        : html`<p>${rolledBackBy === undefined ? "Partly rolled back" : "Rolled back"} by ${[...rollbackIds].map((one, index) => html`${index === 0 ? "" : ", "}${this.rollout(one)}`)}.</p>`
    }`;
  }
}

/** Renders a change and its tenants. */
export function changeHtml(change: KeptChange, tenantsHtml: Html): Html {
  const { words, more = [] } = changeLine(change);
  return html`<li><span class="sign s-${change.sign}"><i>${SIGNS[change.sign]}</i>${change.sign}</span><div>${htmlWords(words)} ${tenantsHtml}${more.map(
    (one) => html`<p class="facts">${htmlWords(one)}</p>`,
  )}</div></li>
`;
}

/** Formats the time of a rollout's beginning, and the person who began it. */
export function startWords({ report, happened }: ShownRollout): Words {
  const by = happened.find(({ kind }) => kind === "started")?.by;
  const at = minute(report.startedAt ?? report.createdAt);
  return by === undefined ? at : say`${at} by ${given(excerpt(by))}`;
}

/** The person who planned the rollout; undefined if the journal doesn't know. */
export function plannedBy({ origin }: ShownRollout): string | undefined {
  if (origin === undefined) return undefined;
  return excerpt(origin.user === undefined ? origin.host : `${origin.user}@${origin.host}`);
}

/** The commit of the plan; undefined if the journal doesn't know. */
export function commitWords({ origin }: ShownRollout, length = 40): Words | undefined {
  if (origin?.revision === undefined) return undefined;
  const commit = given(excerpt(origin.revision.slice(0, length)));
  return origin.isChanged === true ? say`${commit} and uncommitted changes` : [commit];
}

/** States the day on which the rollout's files and whole plans were deleted from the journal. */
export function prunedWords({ prunedAt }: ShownRollout): Words | undefined {
  if (prunedAt === undefined) return undefined;
  return [
    `Pruned on ${prunedAt.slice(0, 10)}: the journal no longer has its settings files, whole plans and tenants' steps.`,
  ];
}

/** Renders the time of each wave's work and of its soak, as bars on one time axis. */
export function timeline(report: RolloutReport): Html {
  const times = waveTimes(report);
  const { waves: states } = rolloutWords(report);
  const waveSpans = report.waves.map((wave) => ({
    wave,
    ...getWaveSpan(wave, times.get(wave.name)?.lastAt),
  }));
  const started = waveSpans.flatMap(({ from, soaked }) => (from === undefined ? [] : [[from, soaked] as const]));
  const first = Math.min(...started.map(([from]) => from));
  const totalMs = Math.max(1, Math.max(...started.map(([, until]) => until)) - first);
  const formatPercent = (ms: number): string => `${((ms / totalMs) * 100).toFixed(2)}%`;
  return html`<ul class="timeline">${waveSpans.map(({ wave, from, until, soaked }) => {
    const bars =
      from === undefined
        ? ""
        : html`<rect class="ran" x="${formatPercent(from - first)}" width="${formatPercent(Math.max(until - from, totalMs / 200))}" height="100%"/>${
            soaked > until
              ? html`<rect class="soaked" x="${formatPercent(until - first)}" width="${formatPercent(soaked - until)}" height="100%"/>`
              : ""
          }`;
    const durationText =
      from === undefined
        ? ""
        : html`, took ${duration(until - from)}${soaked > until ? html`, waited ${duration(soaked - until)}` : ""}`;
    return html`<li class="is-${wave.state}"><span class="of"><bdi>${excerpt(wave.name)}</bdi></span><svg class="track" aria-hidden="true">${bars}</svg><span class="took">${states[wave.state].word}: ${htmlWords(countWords(wave.counts, "no tenants"))}${durationText}</span></li>`;
  })}</ul>`;
}

interface WaveSpan {
  readonly from: number | undefined;
  readonly until: number;
  readonly soaked: number;
}

function getWaveSpan({ startedAt, finishedAt, soakUntil }: WaveReport, lastAt = ""): WaveSpan {
  const [from, lastMs, finishedMs, soakMs] = [startedAt, lastAt, finishedAt, soakUntil].map((time) => {
    const ms = Date.parse(time ?? "");
    return Number.isNaN(ms) ? undefined : ms;
  });
  if (from === undefined) return { from, until: 0, soaked: 0 };
  const until = Math.max(from, lastMs ?? from);
  return { from, until, soaked: Math.max(until, Math.min(soakMs ?? until, finishedMs ?? soakMs ?? until)) };
}

/** For example: `10 changed, 2 failed and 1 unchanged`. */
export function countWords(counts: Readonly<Record<TenantState, number>>, emptyText: string): Words {
  const states = Object.keys(TENANT_STATES) as TenantState[];
  const parts = states
    .filter((state) => counts[state] > 0)
    .map((state): Words => [`${number(counts[state])} ${TENANT_STATES[state].word}`]);
  return parts.length === 0 ? [emptyText] : enumerate(parts);
}

import { type Html, html, htmlWords } from "../../../plan/render/html-text";
import {
  enumerate,
  given,
  join,
  minute,
  number,
  say,
  sentence,
  type Words,
} from "../../../plan/render/words";
import type { RolloutsTold, RolloutTold, WaveTold } from "../../../rollout/journal/rollouts-told";
import { duration } from "../../../rollout/report/duration";
import { TENANT_STATES, taskWords, WAVE_STATES } from "../../../rollout/report/told-rollout";
import type { RolloutState, TenantState } from "../../../rollout/wave";
import { excerpt } from "../../../settings/text";
import { type Shell, shellPage } from "./shell";

/** The newest rollouts, each with its waves on one line of time. */
export function rolloutsPage(shell: Shell, told: RolloutsTold | undefined): string {
  const { rollouts = [], older = 0 } = told ?? {};
  return shellPage(shell, {
    title: "Rollouts",
    path: "rollouts.html",
    main: html`<h1>Rollouts</h1>
<p class="source">${
      told === undefined
        ? "There was no rollouts' journal where the site was made."
        : rollouts.length === 0
          ? "The journal has none of this project."
          : "The newest first. rollout status tells more of each."
    }</p>
${rollouts.map(rolloutHtml)}
${older > 0 ? html`<p class="source">and ${number(older)} before</p>` : ""}`,
  });
}

const STATES: Readonly<Record<RolloutState, string>> = {
  planned: "planned",
  running: "under way, or interrupted",
  waiting: "waits for a person",
  stopped: "stopped",
  abandoned: "abandoned",
  "rolled-back": "rolled back",
  done: "done",
};

function rolloutHtml({
  id,
  state,
  source,
  digest,
  reason,
  rollsBack,
  task,
  startedAtMs,
  finishedAtMs,
  waves,
}: RolloutTold): Html {
  const facts: Words[] = [
    say`begun ${minute(new Date(startedAtMs).toISOString())}`,
    ...(finishedAtMs === undefined ? [] : [say`took ${duration(finishedAtMs - startedAtMs)}`]),
    say`${given(excerpt(source, 200))}`,
    ...(rollsBack === undefined ? [] : [say`rolls back ${given(excerpt(rollsBack))}`]),
    ...taskWords(task),
    ...(digest === "" ? [] : [say`${given(excerpt(digest))}`]),
  ];
  return html`<article class="rollout" id="r-${excerpt(id)}"><h2><bdi>${excerpt(id)}</bdi> <span class="state is-${state}">${STATES[state]}</span></h2>
<p class="facts">${htmlWords(join(facts, " · "))}</p>${reason === undefined ? "" : html`<p>${htmlWords([sentence(excerpt(reason, 500))])}</p>`}
${timeline(waves)}</article>
`;
}

/** When each wave ran and how long it was waited for: bars on one line of time. */
function timeline(waves: readonly WaveTold[]): Html {
  const spans = waves.map((wave) => {
    const { startedAtMs: from, throughAtMs: through, soakUntilMs: soaked, finishedAtMs: finished } = wave;
    if (from === undefined) return { wave };
    const until = Math.max(from, through ?? from);
    return {
      wave,
      from,
      until,
      soaked: Math.max(until, Math.min(soaked ?? until, finished ?? soaked ?? until)),
    };
  });
  const begun = spans.flatMap(({ from, soaked }) => (from === undefined ? [] : [[from, soaked] as const]));
  const first = Math.min(...begun.map(([from]) => from));
  const all = Math.max(1, Math.max(...begun.map(([, until]) => until)) - first);
  const part = (ms: number): string => `${((ms / all) * 100).toFixed(2)}%`;
  return html`<ul class="timeline">${spans.map(({ wave, from, until = 0, soaked = 0 }) => {
    const bars =
      from === undefined
        ? ""
        : html`<rect class="ran" x="${part(from - first)}" width="${part(Math.max(until - from, all / 200))}" height="100%"/>${
            soaked > until
              ? html`<rect class="soaked" x="${part(until - first)}" width="${part(soaked - until)}" height="100%"/>`
              : ""
          }`;
    const took =
      from === undefined
        ? ""
        : html`, took ${duration(until - from)}${soaked > until ? html`, waited ${duration(soaked - until)}` : ""}`;
    return html`<li class="is-${wave.state}"><span class="of"><bdi>${excerpt(wave.name)}</bdi></span><svg class="track" aria-hidden="true">${bars}</svg><span class="took">${WAVE_STATES[wave.state].word}: ${htmlWords(countsOf(wave))}${took}</span></li>`;
  })}</ul>`;
}

function countsOf({ counts }: WaveTold): Words {
  const states = Object.keys(TENANT_STATES) as TenantState[];
  const parts = states
    .filter((state) => counts[state] > 0)
    .map((state): Words => [`${number(counts[state])} ${TENANT_STATES[state].word}`]);
  return parts.length === 0 ? ["no tenants"] : enumerate(parts);
}

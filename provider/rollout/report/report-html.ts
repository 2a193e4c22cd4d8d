import { LOOSENED, listOf, SIGNS, valueWords } from "../../plan/render/plan-words";
import { htmlPage, htmlVerdict } from "../../render/html-page";
import { given, Html, html, htmlWords } from "../../render/html-text";
import { join, number, say, sentence, timeWords, given as told, type Words } from "../../render/words";
import { duration } from "../model/duration";
import type { RolloutReport, TenantReport, WaveReport } from "../model/rollout-report";
import { keyRoutes, routeWords } from "./key-routes";
import { looseningWords, sharedLoosenings } from "./loosened";
import { REPORT_STYLE } from "./report-style";
import { throughOf } from "./rollout-headline";
import { skippedWords } from "./skip-words";
import { type RolloutWords, rolloutWords, type StateWords } from "./state-words";
import {
  leftOut,
  leftOutText,
  plannedText,
  type ToldRollout,
  toldRollout,
  touchedWords,
} from "./told-rollout";
import { type WaveTimes, waveTimes } from "./wave-times";
import { waveStateWords, waveWords } from "./wave-words";

/**
 * Renders the report of a rollout as an HTML page: a self-contained file without scripts or network requests. It shows the outcome and the
 * next steps, a grid of all tenants by wave, the failed tenants, and then each tenant. It suits screens of any width, light and dark mode,
 * and paper.
 */
export function reportHtml(report: RolloutReport): string {
  const rollout = toldRollout(report);
  const times = waveTimes(report);
  const words = rolloutWords(report);
  const numbered = report.tenants.map(
    (tenant, index): Numbered => ({ tenant, anchor: `t-${index}`, words: words.tenants[tenant.state] }),
  );
  const byWave = Map.groupBy(numbered, ({ tenant }) => tenant.wave);
  return htmlPage({
    title: `Rollout of ${report.source}: ${rollout.verdict}`,
    style: REPORT_STYLE,
    body: html`<header>
<p class="eyebrow">Email security rollout</p>
<h1><bdi>${given(report.source.slice(0, LONGEST_TITLE))}</bdi></h1>
<p class="source">${htmlWords(join(rollout.facts, " · "))}</p>
</header>
<main>
${htmlVerdict(rollout.mood, rollout.verdict, rollout.headline)}
${tallies(rollout)}
${rollout.standing.length === 0 ? undefined : html`<p>${htmlWords(rollout.standing)}</p>`}
${advice(report)}
${skippedHtml(report)}
${loosened(report)}
${timeline(report, times)}
${report.waves.map((wave) => waveHtml(wave, words, byWave.get(wave.name) ?? [], times.get(wave.name)?.workMs))}
${failures(numbered.filter(({ tenant }) => tenant.state === "failed"))}
${tenants(report, byWave)}
${keys(report)}
</main>
<footer>
<p>Digest <code>${report.digest}</code></p>
</footer>`,
  });
}

/** A tenant, and the position of its details on the page. */
interface Numbered {
  readonly tenant: TenantReport;
  readonly anchor: string;
  /** The name of its state. */
  readonly words: StateWords;
}

const LONGEST_TITLE = 200;

function tallies({ tallies: all }: ToldRollout): Html {
  return html`<ul class="tallies">${all.map(
    ({ state, sign, word, count }) =>
      html`<li class="is-${state}"><b><i>${sign}</i> ${number(count)}</b>${
        state === "failed" ? html`<a href="#failed">${word}: see why</a>` : word
      }</li>`,
  )}</ul>`;
}

function advice({ advice: all }: RolloutReport): Html | undefined {
  if (all.length === 0) return undefined;
  return html`<section class="advice"><h2>What to do next</h2>${all.map(
    ({ why, command }) =>
      html`<p>${htmlWords([sentence(why)])}</p>${command === undefined ? "" : html`<pre>${given(command)}</pre>`}`,
  )}</section>`;
}

function skippedHtml({ skipped = [] }: RolloutReport): Html | undefined {
  if (skipped.length === 0) return undefined;
  const more = skipped.length - MANY;
  return html`<section><h2>Skipped <span class="n">${number(skipped.length)}</span></h2><ul class="loosened">${skipped
    .slice(0, MANY)
    .map(
      (one) => html`<li>${htmlWords(skippedWords(one))}</li>`,
    )}${more > 0 ? html`<li>… and ${number(more)} more</li>` : ""}</ul></section>`;
}

function loosened({ tenants: all }: RolloutReport): Html | undefined {
  const shared = sharedLoosenings(all);
  if (shared.length === 0) return undefined;
  const more = shared.length - MANY;
  return html`<section><h2>${LOOSENED} <span class="n">${number(shared.length)}</span></h2><ul class="loosened">${shared
    .slice(0, MANY)
    .map(
      (one) => html`<li>${htmlWords(looseningWords(one))}</li>`,
    )}${more > 0 ? html`<li>… and ${number(more)} more</li>` : ""}</ul></section>`;
}

/** Renders the time of each wave's work and of the waiting after it, as bars on one time axis. */
function timeline({ waves }: RolloutReport, times: ReadonlyMap<string, WaveTimes>): Html | undefined {
  const begun = waves.flatMap((wave) => {
    const from = Date.parse(wave.startedAt ?? "");
    const { workMs = 0, lastAt = "" } = times.get(wave.name) ?? {};
    const until = Math.max(from, Date.parse(lastAt));
    if (Number.isNaN(until)) return [];
    const soaked = Date.parse(wave.soakUntil ?? "");
    return [{ wave, from, until, workMs, soaked: Number.isNaN(soaked) ? until : Math.max(soaked, until) }];
  });
  if (begun.length < 2) return undefined;
  const first = Math.min(...begun.map(({ from }) => from));
  const all = Math.max(...begun.map(({ soaked }) => soaked)) - first;
  if (all === 0) return undefined;
  const part = (ms: number) => `${((ms / all) * 100).toFixed(2)}%`;
  return html`<section><h2>Time</h2><ul class="timeline">${begun.map(
    ({ wave, from, until, workMs, soaked }) =>
      html`<li><span class="of">${shortName(wave.name)}</span><span class="track" aria-hidden="true"><span class="ran is-${wave.state}" style="left:${part(
        from - first,
      )};width:${part(until - from)}"></span>${
        soaked > until
          ? html`<span class="soaked" style="left:${part(until - first)};width:${part(soaked - until)}"></span>`
          : ""
      }</span><span class="took">${duration(workMs)}${
        soaked > until ? `, soak ${duration(wave.after.soakMs)}` : ""
      }</span></li>`,
  )}</ul></section>`;
}

function waveHtml(
  wave: WaveReport,
  words: RolloutWords,
  all: readonly Numbered[],
  took: number | undefined,
): Html {
  const { sign } = words.waves[wave.state];
  const facts: Words[] = [
    say`${throughOf(wave.counts)} of ${wave.tenants} through`,
    waveWords(wave, words),
    say`${wave.maxConcurrent} at once`,
    ...(took === undefined ? [] : [say`took ${duration(took)}`]),
    ...(wave.health?.isWell === true ? [say`health: ${sentence(wave.health.message)}`] : []),
    ...(wave.after.isGated ? [["a person says when to go on"]] : []),
  ];
  return html`<section class="wave"><h2><span class="of">${shortName(wave.name)}</span> <span class="state is-${wave.state}"><i>${sign}</i> ${htmlWords(waveStateWords(wave, words))}</span></h2>
${barOf(wave)}<p class="facts">${htmlWords(join(facts, " · "))}</p>
<ul class="grid${all.length > MANY ? " dense" : ""}">
${all.map(cell)}</ul></section>
`;
}

/** The limit for lists. With more tenants, cards are smaller, and the browser lays them out only when they become visible. */
const MANY = 100;

/** Renders the progress of a wave. The text below it contains the same information. */
function barOf({ counts }: WaveReport): Html {
  const states = ["done", "unchanged", "failed", "skipped", "running", "released", "pending"] as const;
  return html`<div class="bar" aria-hidden="true">${states
    .filter((state) => counts[state] > 0)
    .map((state) => html`<span class="is-${state}" style="flex-grow:${counts[state]}"></span>`)}</div>`;
}

function cell({ tenant, anchor, words: { sign, word } }: Numbered): Html {
  return html`<li><a class="is-${tenant.state}" href="#${anchor}" title="${titleOf(tenant, word)}"><i>${sign}</i><span class="hidden">${word}</span> <bdi>${given(tenant.name)}</bdi></a></li>
`;
}

/** For example: `failed: ERR_AUTH · mail.example · took 12 s`. The cell itself shows the name. */
function titleOf(tenant: TenantReport, word: string): string {
  const { host, durationMs, error } = tenant;
  const parts = [
    error === undefined ? word : `${word}: ${error.code}`,
    plannedText(tenant),
    host,
    durationMs === undefined ? "" : `took ${duration(durationMs)}`,
  ];
  return parts
    .filter((part) => part !== "")
    .map((part) => part.slice(0, LONGEST_TITLE))
    .join(" · ");
}

function failures(all: readonly Numbered[]): Html | undefined {
  if (all.length === 0) return undefined;
  return html`<section><h2 class="red" id="failed">Failed <span class="n">${number(all.length)}</span></h2>
<ul class="tenants${all.length > MANY ? " many" : ""}">
${all.map((one) => tenantHtml(one, all.length <= MANY))}</ul></section>`;
}

function tenants({ waves }: RolloutReport, byWave: ReadonlyMap<string, readonly Numbered[]>): Html {
  return html`<section><h2>Tenants</h2>${waves.map((wave) => {
    const all = (byWave.get(wave.name) ?? []).filter(({ tenant }) => tenant.state !== "failed");
    if (all.length === 0) return undefined;
    return html`<details class="aside"${all.length <= FEW ? new Html(" open") : ""}><summary><h3>${shortName(
      wave.name,
    )}</h3> <span class="n">${number(all.length)}</span></summary><ul class="tenants${all.length > MANY ? " many" : ""}">
${all.map((one) => tenantHtml(one, false))}</ul></details>`;
  })}</section>`;
}

/** Renders which addresses get which keys. Tenants with the same route share a line. */
function keys({ tenants: all }: RolloutReport): Html | undefined {
  if (all.length === 0) return undefined;
  const routes = keyRoutes(all);
  return html`<section><h2>Keys</h2><ul class="keys">${routes.map(
    (route) => html`<li>${htmlWords(routeWords(route, all.length))}</li>
`,
  )}</ul></section>`;
}

/** The maximum number of a wave's tenants to show without expanding the list. */
const FEW = 30;

function tenantHtml({ tenant, anchor, words: { sign, word } }: Numbered, isOpen: boolean): Html {
  const { error, durationMs } = tenant;
  return html`<li class="tenant is-${tenant.state}"><details${isOpen ? new Html(" open") : ""}><summary><span class="state is-${tenant.state}"><i>${sign}</i> ${word}</span><span class="name"><bdi>${given(tenant.name)}</bdi></span><span class="counts">${plannedText(tenant)}</span><span class="took">${durationMs === undefined ? "" : duration(durationMs)}</span></summary><div class="body" id="${anchor}">${
    error === undefined ? "" : errorHtml(tenant, error)
  }${changesHtml(tenant)}<dl>${factsOf(tenant).map(
    ([label, words]) => html`<dt>${label}</dt><dd>${htmlWords(words)}</dd>`,
  )}</dl></div></details></li>
`;
}

function errorHtml(tenant: TenantReport, error: NonNullable<TenantReport["error"]>): Html {
  return html`<p class="why">${htmlWords([sentence(error.message)])} <code>${given(error.code)}</code></p><p class="touched">${htmlWords(
    touchedWords(tenant),
  )}</p><p><b>What to do:</b> ${htmlWords([sentence(error.advice)])}</p>`;
}

function changesHtml(tenant: TenantReport): Html | undefined {
  if (tenant.changes.length === 0) return undefined;
  const more = leftOut(tenant);
  return html`<ul class="edits">${tenant.changes.map(
    (change) =>
      html`<li><span class="sign s-${change.sign}"><i>${SIGNS[change.sign]}</i>${change.sign}</span> <span class="list">${given(listOf(change))}</span> ${htmlWords(valueWords(change.value))}</li>`,
  )}${more > 0 ? html`<li>${leftOutText(more)}</li>` : ""}</ul>`;
}

function factsOf(tenant: TenantReport): [label: string, words: Words][] {
  const { address, keyFrom, stack, labels, attempts, worker, startedAt, durationMs, alarms } = tenant;
  const named = Object.entries(labels).map(([key, value]): Words => say`${told(key)} = ${told(value)}`);
  const alarming = [
    ...(alarms.danger > 0 ? [`${number(alarms.danger)} risky`] : []),
    ...((alarms.accepted ?? 0) > 0 ? [`${number(alarms.accepted ?? 0)} of an accepted risk`] : []),
    ...(alarms.warning > 0 ? [`${number(alarms.warning)} with a warning`] : []),
  ].join(", ");
  return [
    ["Service", [told(address)]],
    ["Key from", [told(keyFrom)]],
    ["Stack", [told(stack)]],
    ...(named.length > 0 ? [["Labels", join(named, ", ")] as [string, Words]] : []),
    ...(alarming === "" ? [] : [["Alarms", [alarming]] as [string, Words]]),
    ...(startedAt === undefined ? [] : [["Begun", timeWords(startedAt)] as [string, Words]]),
    ...(durationMs === undefined ? [] : [["Took", [duration(durationMs)]] as [string, Words]]),
    ...(attempts > 0 ? [["Attempts", [number(attempts)]] as [string, Words]] : []),
    ...(worker === undefined ? [] : [["Worker", [told(worker)]] as [string, Words]]),
  ];
}

function shortName(name: string): Html {
  return html`<bdi>${given(name.length > LONGEST_TITLE ? `${name.slice(0, LONGEST_TITLE)}…` : name)}</bdi>`;
}

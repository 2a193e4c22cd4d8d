import { LOOSENED, listOf, SIGNS, valueWords } from "../../plan/render/plan-words";
import { markdownBlock, markdownCode, markdownRow, markdownWords } from "../../render/markdown-text";
import { bytesOf, filled } from "../../render/room";
import { counted, given, join, number, say, sentence, type Words } from "../../render/words";
import { duration } from "../model/duration";
import type { RolloutReport, TenantReport, WaveReport } from "../model/rollout-report";
import { sortTenantsByDanger } from "./change-danger";
import { keyRoutes, routeWords } from "./key-routes";
import { looseningWords, type SharedLoosening, sharedLoosenings } from "./loosened";
import { throughOf } from "./rollout-headline";
import { skippedHeading, skippedWords } from "./skip-words";
import { type RolloutWords, rolloutWords } from "./state-words";
import {
  leftOut,
  leftOutText,
  plannedText,
  type RolloutMood,
  type ToldRollout,
  toldRollout,
  touchedWords,
} from "./told-rollout";
import { waveTimes } from "./wave-times";
import { waveStateWords, waveWords } from "./wave-words";

/** The first line of a rollout's report in Markdown. A bot finds its own comment by this line, to update it. */
export const ROLLOUT_MARK = "<!-- email-security-rollout -->";

export interface ReportMarkdownOptions {
  /** The maximum number of characters, and of bytes in UTF-8. Default: 65,536, the limit of GitHub. Minimum: 32,768. */
  readonly limit?: number;
  /** The first line. Default: {@link ROLLOUT_MARK}. */
  readonly mark?: string;
}

/**
 * Renders the report of a rollout for a comment or a job summary on GitHub or GitLab, failures first. Anything that doesn't fit is only
 * counted. Values from outside can't become markup, links or mentions.
 *
 * @throws RangeError if the limit is too low for a useful report.
 */
export function reportMarkdown(
  report: RolloutReport,
  { limit = 65_536, mark = ROLLOUT_MARK }: ReportMarkdownOptions = {},
): string {
  if (!(limit >= MIN_LIMIT))
    throw new RangeError(`The limit is ${limit}; it can't be less than ${MIN_LIMIT}`);
  const told = toldRollout(report);
  const head = `${mark}\n${headOf(report, told)}`;
  const foot = `Digest: ${markdownCode(report.digest, 100)}\n`;
  let left = limit - bytesOf(head) - bytesOf(foot);
  const sections = sectionsOf(report, told);
  const shown = sections.map((section, index) => {
    const others = sections.length - index - 1;
    const text = section(Math.min(left - others * RESERVE, Math.max(RESERVE, left * SHARE)));
    left -= bytesOf(text);
    return text;
  });
  return [head, ...shown, foot].join("");
}

/** Enough room for the head, the foot, and a summary of every section, whatever they contain. */
const MIN_LIMIT = 32_768;
/** The room for the summary of a section: a heading and a count. */
const RESERVE = 1_500;
/** The share of the remaining room that a section may take, so that even the last section gets some. */
const SHARE = 0.7;

/** Renders Markdown in at most `room` bytes. {@link RESERVE} bytes are enough. */
type Section = (room: number) => string;

function sectionsOf(report: RolloutReport, { failures }: ToldRollout): Section[] {
  const { waves, tenants, skipped = [] } = report;
  const words = rolloutWords(report);
  const others = sortTenantsByDanger(tenants.filter(({ state }) => state !== "failed"));
  const looser = sharedLoosenings(tenants);
  return [
    ...(failures.length === 0 ? [] : [(room: number) => failed(failures, room)]),
    ...(skipped.length === 0 ? [] : [(room: number) => skippedList(skipped, room)]),
    ...(looser.length === 0 ? [] : [(room: number) => loosenedMarkdown(looser, room)]),
    ...(waves.length === 0 ? [] : [(room: number) => waveTable(report, words, room)]),
    ...(others.length === 0 ? [] : [(room: number) => tenantTable(others, words, room)]),
    ...(tenants.length === 0 ? [] : [(room: number) => keysMarkdown(tenants, room)]),
  ];
}

const ALERTS: Readonly<Record<RolloutMood, string>> = {
  danger: "CAUTION",
  warning: "WARNING",
  none: "TIP",
  running: "NOTE",
};

function headOf(
  { source, advice }: RolloutReport,
  { mood, verdict, headline, standing, tallies, facts }: ToldRollout,
): string {
  return [
    `## Email security rollout of ${markdownCode(source, 60)}`,
    "",
    `> [!${ALERTS[mood]}]`,
    `> **${verdict}.** ${markdownWords(headline, { limit: 300 })}`,
    "",
    tallies.map(({ sign, word, count }) => `${sign} **${number(count)}** ${word}`).join(" · "),
    "",
    ...(standing.length === 0 ? [] : [markdownWords(standing), ""]),
    markdownWords(join(facts, " · "), { limit: 60 }),
    "",
    ...advice
      .slice(0, MOST_ADVICE)
      .flatMap(({ why, command }) => [
        markdownWords([sentence(why)], { limit: 200 }),
        "",
        ...(command === undefined ? [] : [markdownBlock(command, 400)]),
      ]),
    "",
  ].join("\n");
}

const MOST_ADVICE = 3;

function failed(all: readonly TenantReport[], room: number): string {
  return filled(
    `### Failed (${number(all.length)})\n\n`,
    [all.map((tenant) => () => failureText(tenant)), all.map((tenant) => () => failureLine(tenant))],
    room,
    (rest) => `… and ${number(rest)} more that failed.\n\n`,
  );
}

function failureText(tenant: TenantReport): string {
  const { name, wave, host, error } = tenant;
  const facts: Words[] =
    error === undefined
      ? []
      : [
          say`Why: ${sentence(error.message)} (${given(error.code)}) ${touchedWords(tenant)}`,
          say`What to do: ${sentence(error.advice)}`,
        ];
  const lines = facts.map((words) => `- ${markdownWords(words, { limit: 500 }).trimEnd()}`);
  const where = markdownWords(say`wave ${given(wave)}, ${given(host)}`, { limit: 80 });
  return [`#### ✗ ${markdownCode(name, 200)} (${where})`, "", ...lines, "", ""].join("\n");
}

function skippedList(all: NonNullable<RolloutReport["skipped"]>, room: number): string {
  return `${filled(
    `### ${skippedHeading(all)}\n\n`,
    [all.map((one) => () => `- ${markdownWords(skippedWords(one), { limit: 500 }).trimEnd()}\n`)],
    room - 1,
    (rest) => `… and ${number(rest)} more.\n`,
  )}\n`;
}

/** Renders the overrides that tenants share, in at most `room` bytes. */
export function loosenedMarkdown(all: readonly SharedLoosening[], room: number): string {
  return `${filled(
    `### ${LOOSENED} (${number(all.length)})\n\n`,
    [all.map((one) => () => `- ${markdownWords(looseningWords(one), { limit: 500 })}\n`)],
    room - 1,
    (rest) => `… and ${number(rest)} more.\n`,
  )}\n`;
}

function failureLine({ name, error }: TenantReport): string {
  const code = error === undefined ? "" : `: ${markdownCode(error.code, 60)}`;
  return `- ✗ ${markdownCode(name, 80)}${code}\n`;
}

function waveTable(report: RolloutReport, words: RolloutWords, room: number): string {
  const times = waveTimes(report);
  const head = "### Waves\n\n| Wave | Through | Tenants | Took |\n|---|---|---|---|\n";
  const rows = report.waves.map((wave) => () => `${waveRow(wave, words, times.get(wave.name)?.workMs)}\n`);
  return `${filled(head, [rows], room, (rest) => `… and ${number(rest)} more waves.\n`)}\n`;
}

function waveRow(wave: WaveReport, words: RolloutWords, took: number | undefined): string {
  const { sign } = words.waves[wave.state];
  return markdownRow([
    say`${sign} ${given(wave.name)} ${waveStateWords(wave, words)}`,
    say`${throughOf(wave.counts)} of ${wave.tenants}`,
    waveWords(wave, words),
    [took === undefined ? "" : duration(took)],
  ]);
}

function tenantTable(all: readonly TenantReport[], words: RolloutWords, room: number): string {
  const close = "\n</details>\n\n";
  const head = [
    `<details${all.length <= MOST_OPEN ? " open" : ""}><summary>${counted(all.length, "tenant")} that did not fail${all.some(({ state }) => state === "skipped") ? ", or are skipped" : ""}</summary>`,
    "",
    "| Tenant | Wave | Planned changes | Took |",
    "|---|---|---|---|",
    "",
  ].join("\n");
  const rows = all.map((tenant) => () => `${tenantRow(tenant, words, MOST_CHANGES)}\n`);
  const short = all.map((tenant) => () => `${tenantRow(tenant, words, 0)}\n`);
  return `${filled(head, [rows, short], room - close.length, (rest) => `… and ${number(rest)} more.\n`)}${close}`;
}

/** Renders which addresses get which keys, in at most `room` bytes. Tenants with the same route share a line. */
export function keysMarkdown(tenants: readonly TenantReport[], room: number): string {
  const lines = keyRoutes(tenants).map(
    (route) => () => `- ${markdownWords(routeWords(route, tenants.length), { limit: 200 }).trimEnd()}\n`,
  );
  return `${filled("### Keys\n\n", [lines], room - 1, (rest) => `… and ${number(rest)} more.\n`)}\n`;
}

/** The maximum number of rows to show without expanding them. */
const MOST_OPEN = 20;
const MOST_CHANGES = 3;

function tenantRow(tenant: TenantReport, words: RolloutWords, limit: number): string {
  const { sign, word } = words.tenants[tenant.state];
  const shown = tenant.changes.slice(0, limit);
  const more = leftOut(tenant) + tenant.changes.length - shown.length;
  const changes = shown.map(
    (change): Words => say`\`${SIGNS[change.sign]}\` ${given(listOf(change))} ${valueWords(change.value)}`,
  );
  const all: Words[] = limit === 0 || more === 0 ? changes : [...changes, [leftOutText(more)]];
  return markdownRow([
    say`${sign} ${given(tenant.name)} ${word}`,
    [given(tenant.wave)],
    limit === 0 ? [plannedText(tenant)] : join(all, "<br>"),
    [tenant.durationMs === undefined ? "" : duration(tenant.durationMs)],
  ]);
}

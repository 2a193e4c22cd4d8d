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

/** The first line of a rollout's report in Markdown, by which a bot finds its own comment and updates it. */
export const ROLLOUT_MARK = "<!-- email-security-rollout -->";

export interface ReportMarkdownOptions {
  /** The most characters, and bytes of UTF-8, that it may have: 65,536 when left out, as GitHub takes; at least 32,768. */
  readonly limit?: number;
  /** Its first line. Default: {@link ROLLOUT_MARK}. */
  readonly mark?: string;
}

/**
 * What a rollout did, for a comment or a job's summary on GitHub or GitLab: failures first. What has no room is counted.
 * Nothing from outside is markup, a link or a mention in it.
 *
 * @throws RangeError for a limit that is too low to say anything.
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

/** What the head, the foot, and every section summed up have room in, whatever they hold. */
const MIN_LIMIT = 32_768;
/** What a section summed up needs: a heading, and how many there are. */
const RESERVE = 1_500;
/** Of what is left, what a section may take: so that even what comes last gets a little. */
const SHARE = 0.7;

/** Markdown in at most so many bytes; {@link RESERVE} of them are enough. */
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

/** What tenants' files loosen alike, in at most so many bytes. */
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

/** Who is sent which keys, in at most so many bytes; of those that are alike one line. */
export function keysMarkdown(tenants: readonly TenantReport[], room: number): string {
  const lines = keyRoutes(tenants).map(
    (route) => () => `- ${markdownWords(routeWords(route, tenants.length), { limit: 200 }).trimEnd()}\n`,
  );
  return `${filled("### Keys\n\n", [lines], room - 1, (rest) => `… and ${number(rest)} more.\n`)}\n`;
}

/** So many rows are read without unfolding them. */
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

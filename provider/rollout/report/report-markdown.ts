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
  if (!(limit >= MIN_LIMIT)) throw new RangeError(`The limit is ${limit}; it can't be less than ${MIN_LIMIT}`);
  const view = toldRollout(report);
  const head = `${mark}\n${renderReportHeadMarkdown(report, view)}`;
  const footer = `Digest: ${markdownCode(report.digest, 100)}\n`;
  let remainingBytes = limit - bytesOf(head) - bytesOf(footer);
  const sections = buildReportSections(report, view);
  const renderedSections = sections.map((section, index) => {
    const remainingCount = sections.length - index - 1;
    const text = section(
      Math.min(
        remainingBytes - remainingCount * SECTION_RESERVE,
        Math.max(SECTION_RESERVE, remainingBytes * SECTION_SHARE),
      ),
    );
    remainingBytes -= bytesOf(text);
    return text;
  });
  return [head, ...renderedSections, footer].join("");
}

/** Enough room for the head, the foot, and a summary of every section, whatever they contain. */
const MIN_LIMIT = 32_768;
/** The room for the summary of a section: a heading and a count. */
const SECTION_RESERVE = 1_500;
/** The share of the remaining room that a section may take, so that even the last section gets some. */
const SECTION_SHARE = 0.7;

/** Renders Markdown in at most `room` bytes. {@link SECTION_RESERVE} bytes are enough. */
type SectionRenderer = (maxBytes: number) => string;

function buildReportSections(report: RolloutReport, { failures }: ToldRollout): SectionRenderer[] {
  const { waves, tenants, skipped = [] } = report;
  const labels = rolloutWords(report);
  const otherTenants = sortTenantsByDanger(tenants.filter(({ state }) => state !== "failed"));
  const overrides = sharedLoosenings(tenants);
  return [
    ...(failures.length === 0 ? [] : [(maxBytes: number) => renderFailuresMarkdown(failures, maxBytes)]),
    ...(skipped.length === 0 ? [] : [(maxBytes: number) => renderSkippedMarkdown(skipped, maxBytes)]),
    ...(overrides.length === 0 ? [] : [(maxBytes: number) => loosenedMarkdown(overrides, maxBytes)]),
    ...(waves.length === 0 ? [] : [(maxBytes: number) => renderWaveTable(report, labels, maxBytes)]),
    ...(otherTenants.length === 0 ? [] : [(maxBytes: number) => renderTenantTable(otherTenants, labels, maxBytes)]),
    ...(tenants.length === 0 ? [] : [(maxBytes: number) => keysMarkdown(tenants, maxBytes)]),
  ];
}

const ALERTS: Readonly<Record<RolloutMood, string>> = {
  danger: "CAUTION",
  warning: "WARNING",
  none: "TIP",
  running: "NOTE",
};

function renderReportHeadMarkdown(
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
      .slice(0, MAX_ADVICE)
      .flatMap(({ why, command }) => [
        markdownWords([sentence(why)], { limit: 200 }),
        "",
        ...(command === undefined ? [] : [markdownBlock(command, 400)]),
      ]),
    "",
  ].join("\n");
}

const MAX_ADVICE = 3;

function renderFailuresMarkdown(failedTenants: readonly TenantReport[], maxBytes: number): string {
  return filled(
    `### Failed (${number(failedTenants.length)})\n\n`,
    [
      failedTenants.map((tenant) => () => renderFailure(tenant)),
      failedTenants.map((tenant) => () => renderFailureLine(tenant)),
    ],
    maxBytes,
    (hiddenCount) => `… and ${number(hiddenCount)} more that failed.\n\n`,
  );
}

function renderFailure(tenant: TenantReport): string {
  const { name, wave, host, error } = tenant;
  const details: Words[] =
    error === undefined
      ? []
      : [
          say`Why: ${sentence(error.message)} (${given(error.code)}) ${touchedWords(tenant)}`,
          say`What to do: ${sentence(error.advice)}`,
        ];
  const lines = details.map((detail) => `- ${markdownWords(detail, { limit: 500 }).trimEnd()}`);
  const locationText = markdownWords(say`wave ${given(wave)}, ${given(host)}`, { limit: 80 });
  return [`#### ✗ ${markdownCode(name, 200)} (${locationText})`, "", ...lines, "", ""].join("\n");
}

function renderSkippedMarkdown(skippedTenants: NonNullable<RolloutReport["skipped"]>, maxBytes: number): string {
  return `${filled(
    `### ${skippedHeading(skippedTenants)}\n\n`,
    [
      skippedTenants.map(
        (skippedTenant) => () => `- ${markdownWords(skippedWords(skippedTenant), { limit: 500 }).trimEnd()}\n`,
      ),
    ],
    maxBytes - 1,
    (hiddenCount) => `… and ${number(hiddenCount)} more.\n`,
  )}\n`;
}

/** Renders the overrides that tenants share, in at most `room` bytes. */
export function loosenedMarkdown(overrides: readonly SharedLoosening[], maxBytes: number): string {
  return `${filled(
    `### ${LOOSENED} (${number(overrides.length)})\n\n`,
    [overrides.map((override) => () => `- ${markdownWords(looseningWords(override), { limit: 500 })}\n`)],
    maxBytes - 1,
    (hiddenCount) => `… and ${number(hiddenCount)} more.\n`,
  )}\n`;
}

function renderFailureLine({ name, error }: TenantReport): string {
  const code = error === undefined ? "" : `: ${markdownCode(error.code, 60)}`;
  return `- ✗ ${markdownCode(name, 80)}${code}\n`;
}

function renderWaveTable(report: RolloutReport, labels: RolloutWords, maxBytes: number): string {
  const times = waveTimes(report);
  const head = "### Waves\n\n| Wave | Through | Tenants | Took |\n|---|---|---|---|\n";
  const rows = report.waves.map((wave) => () => `${renderWaveRow(wave, labels, times.get(wave.name)?.workMs)}\n`);
  return `${filled(head, [rows], maxBytes, (hiddenCount) => `… and ${number(hiddenCount)} more waves.\n`)}\n`;
}

function renderWaveRow(wave: WaveReport, labels: RolloutWords, workMs: number | undefined): string {
  const { sign } = labels.waves[wave.state];
  return markdownRow([
    say`${sign} ${given(wave.name)} ${waveStateWords(wave, labels)}`,
    say`${throughOf(wave.counts)} of ${wave.tenants}`,
    waveWords(wave, labels),
    [workMs === undefined ? "" : duration(workMs)],
  ]);
}

function renderTenantTable(tenants: readonly TenantReport[], labels: RolloutWords, maxBytes: number): string {
  const closing = "\n</details>\n\n";
  const head = [
    `<details${tenants.length <= MAX_UNFOLDED ? " open" : ""}><summary>${counted(tenants.length, "tenant")} that did not fail${tenants.some(({ state }) => state === "skipped") ? ", or are skipped" : ""}</summary>`,
    "",
    "| Tenant | Wave | Planned changes | Took |",
    "|---|---|---|---|",
    "",
  ].join("\n");
  const rows = tenants.map((tenant) => () => `${renderTenantRowMarkdown(tenant, labels, MAX_ROW_CHANGES)}\n`);
  const shortRows = tenants.map((tenant) => () => `${renderTenantRowMarkdown(tenant, labels, 0)}\n`);
  return `${filled(head, [rows, shortRows], maxBytes - closing.length, (hiddenCount) => `… and ${number(hiddenCount)} more.\n`)}${closing}`;
}

/** Renders which addresses get which keys, in at most `room` bytes. Tenants with the same route share a line. */
export function keysMarkdown(tenants: readonly TenantReport[], maxBytes: number): string {
  const lines = keyRoutes(tenants).map(
    (route) => () => `- ${markdownWords(routeWords(route, tenants.length), { limit: 200 }).trimEnd()}\n`,
  );
  return `${filled("### Keys\n\n", [lines], maxBytes - 1, (hiddenCount) => `… and ${number(hiddenCount)} more.\n`)}\n`;
}

/** The maximum number of rows to show without expanding them. */
const MAX_UNFOLDED = 20;
const MAX_ROW_CHANGES = 3;

function renderTenantRowMarkdown(tenant: TenantReport, labels: RolloutWords, limit: number): string {
  const { sign, word } = labels.tenants[tenant.state];
  const visible = tenant.changes.slice(0, limit);
  const hiddenCount = leftOut(tenant) + tenant.changes.length - visible.length;
  const changes = visible.map(
    (change): Words => say`\`${SIGNS[change.sign]}\` ${given(listOf(change))} ${valueWords(change.value)}`,
  );
  const changeTexts: Words[] = limit === 0 || hiddenCount === 0 ? changes : [...changes, [leftOutText(hiddenCount)]];
  return markdownRow([
    say`${sign} ${given(tenant.name)} ${word}`,
    [given(tenant.wave)],
    limit === 0 ? [plannedText(tenant)] : join(changeTexts, "<br>"),
    [tenant.durationMs === undefined ? "" : duration(tenant.durationMs)],
  ]);
}

import {
  cardSections,
  guardsMarkdown,
  type MarkdownSection,
  planHead,
  withSections,
} from "../../plan/render/markdown";
import { markdownCode, markdownWords } from "../../render/markdown-text";
import { filled } from "../../render/room";
import { counted, given, join, number, type Words } from "../../render/words";
import { sharedLoosenings } from "../report/loosened";
import { keysMarkdown, loosenedMarkdown, type ReportMarkdownOptions } from "../report/report-markdown";
import { skippedHeading } from "../report/skip-words";
import type { TenantGroup } from "./tenant-groups";
import { type ShownPlan, type ToldWhole, toldWhole } from "./told-whole";

/** Enough room for the head, the foot, and a summary of every section, whatever they contain. */
const MIN_LIMIT = 32_768;

/**
 * Renders the plan of all tenants for a comment on a pull request on GitHub or GitLab. The most important changes come first, and a change
 * that several tenants share appears once. Anything that doesn't fit is summarized. Values from outside can't become markup, links or
 * mentions. The first line is the same as in the plan of a single tenant.
 *
 * @throws RangeError if the limit is too low for a useful comment.
 */
export function wholePlanMarkdown(
  shown: ShownPlan,
  { limit = 65_536 }: Pick<ReportMarkdownOptions, "limit"> = {},
): string {
  if (!(limit >= MIN_LIMIT))
    throw new RangeError(`The limit is ${limit}; it can't be less than ${MIN_LIMIT}`);
  const told = toldWhole(shown);
  const foot = `Digest: ${markdownCode(shown.report.digest, 100)}\n`;
  return withSections(headOf(told), sectionsOf(shown, told), foot, limit);
}

function headOf({ title, mail, ...told }: ToldWhole): string {
  return `${planHead(`of ${markdownWords(title, { limit: 60 })}`, told)}${markdownWords(mail, { limit: 100 })}\n\n`;
}

function sectionsOf({ report, whole }: ShownPlan, told: ToldWhole): MarkdownSection[] {
  const { tenants } = report;
  const { guards, again, failures, skipped, missing, drift, left, leftTitle, tenants: each, waves } = told;
  const looser = sharedLoosenings(tenants);
  const sections: (MarkdownSection & { readonly isThere: boolean })[] = [
    { isThere: guards.length > 0, share: 0.2, render: (room) => guardsMarkdown(guards, room) },
    {
      isThere: again.length > 0,
      share: 0.1,
      render: (room) => list("### Rolled back before, and planned again\n\n", again, room),
    },
    { isThere: failures.length > 0, share: 0.2, render: (room) => unplanned(failures, room) },
    {
      isThere: skipped.length > 0,
      share: 0.1,
      render: (room) => list(`### ${skippedHeading(skipped)}\n\n`, skipped, room),
    },
    { isThere: looser.length > 0, share: 0.1, render: (room) => loosenedMarkdown(looser, room) },
    {
      isThere: missing.length > 0,
      share: 0.1,
      render: (room) => list("### What the mail does not tell\n\n", missing, room),
    },
    ...cardSections(whole, "in the artifact").map((one) => ({
      ...one,
      isThere: true,
      share: one.share * 0.75,
    })),
    {
      isThere: drift.length > 0,
      share: 0.1,
      render: (room) => list("### Reverted\n\n", drift, room),
    },
    {
      isThere: left.length > 0,
      share: 0.1,
      render: (room) => list(`### ${leftTitle}\n\n`, left, room),
    },
    {
      isThere: each.length > 0,
      share: 0.25,
      render: (room) => eachTenant(each, room),
    },
    { isThere: whole.groups.all.length > 0, share: 0.3, render: (room) => groups(whole.groups.all, room) },
    {
      isThere: waves.length > 0,
      share: 0.1,
      render: (room) => fold("Waves", waves.length, waves, room, (rest) => `${number(rest)} more`),
    },
    { isThere: tenants.length > 0, share: 0.1, render: (room) => keysMarkdown(tenants, room) },
  ];
  return sections.filter(({ isThere }) => isThere);
}

function unplanned(all: ToldWhole["failures"], room: number): string {
  const title = ({ title: words }: (typeof all)[number]): string => markdownWords(words, { limit: 100 });
  const text = (one: (typeof all)[number]): string =>
    [
      `#### ✗ ${title(one)}`,
      "",
      ...one.facts.map((fact) => `- ${markdownWords(fact, { limit: 500 })}`),
      "",
      "",
    ].join("\n");
  return filled(
    "### Can't be planned\n\n",
    [all.map((one) => () => text(one)), all.map((one) => () => `- ✗ ${title(one)}\n`)],
    room,
    (rest) => `… and ${counted(rest, "more reason")}.\n\n`,
  );
}

function eachTenant(all: ToldWhole["tenants"], room: number): string {
  const tenants = (lines: typeof all): number => lines.reduce((sum, { count }) => sum + count, 0);
  const words = all.map((line) => line.words);
  return fold("Each tenant", tenants(all), words, room, (rest) =>
    counted(tenants(all.slice(-rest)), "more tenant"),
  );
}

function list(head: string, all: readonly Words[], room: number): string {
  return `${lines(head, all, room - 1, (rest) => `${number(rest)} more`)}\n`;
}

/** Renders lines inside an expandable section. */
function fold(
  title: string,
  count: number,
  all: readonly Words[],
  room: number,
  more: (rest: number) => string,
): string {
  const close = "\n</details>\n\n";
  const head = `<details><summary>${title} (${number(count)})</summary>\n\n`;
  return `${lines(head, all, room - close.length, more)}${close}`;
}

/** Renders as many whole lines as fit, and describes the others. */
function lines(head: string, all: readonly Words[], room: number, more: (rest: number) => string): string {
  const items = all.map((words) => () => `- ${markdownWords(words, { limit: 300 })}\n`);
  return filled(head, [items], room, (rest) => `… and ${more(rest)}, in the artifact.\n`);
}

/** Lists the tenants of each group. If not all names fit, lists some of them. */
function groups(all: readonly TenantGroup[], room: number): string {
  const text = ({ name, tenants }: TenantGroup, most: number): string => {
    const names = tenants.slice(0, most).map((one): Words => [given(one)]);
    const more = tenants.length > most ? ` and ${number(tenants.length - most)} more` : "";
    const title = `${name.charAt(0).toUpperCase()}${name.slice(1)}: ${counted(tenants.length, "tenant")}`;
    return `<details><summary>${title}</summary>\n\n${markdownWords(join(names, ", "), { limit: 100 })}${more}\n\n</details>\n`;
  };
  const forms = [MANY_NAMES, SOME_NAMES].map((most) => all.map((group) => () => text(group, most)));
  const head = "### Groups of tenants\n\n";
  return `${filled(head, forms, room - 1, (rest) => `… and ${counted(rest, "more group")}, in the artifact.\n`)}\n`;
}

const MANY_NAMES = 1_000;
const SOME_NAMES = 10;

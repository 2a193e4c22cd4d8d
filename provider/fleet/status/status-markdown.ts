import { escapeMarkdown, markdownBlock } from "../../render/markdown-text";
import { bytesOf, filled } from "../../render/room";
import { RolloutCommands } from "../../rollout/model/commands";
import type { Target } from "../../rollout/model/target";
import { isDangerous } from "../../settings/danger";
import { type StatusAdvice, statusAdvice } from "./status-advice";
import type { FleetStatus } from "./status-schema";
import { hiddenText, type ToldPoint, type ToldSection, toldStatus } from "./told-status";

/** The maximum size of the text in bytes. The limit of GitHub is 65,536 characters in total. */
const ROOM = 60_000;
/** The room that each section has, however long the sections before it are. */
const RESERVE = 1_500;

/**
 * Renders a fleet's status for an issue, in at most 60,000 bytes. Dangerous drift has priority. Anything that doesn't fit is only counted.
 */
export function statusMarkdown(
  status: FleetStatus,
  commands = new RolloutCommands(),
  targets: readonly Target[] = [],
): string {
  const { summary, sections } = toldStatus(status);
  const head = [
    "<!-- email-security-fleet-status -->",
    ...summary.flatMap((one) => [escapeMarkdown(one), ""]),
  ].join("\n");
  const texts = new Map<ToldSection, string>();
  const foot = adviceMarkdown(statusAdvice(status, commands, targets));
  let room = ROOM - bytesOf(head) - bytesOf(foot);
  for (const section of sections.toSorted((one, other) => hasDanger(other) - hasDanger(one))) {
    const others = sections.length - texts.size - 1;
    const text = sectionMarkdown(section, room - others * RESERVE);
    texts.set(section, text);
    room -= bytesOf(text);
  }
  return `${[head, ...sections.map((section) => texts.get(section) ?? ""), foot].join("\n").trimEnd()}\n`;
}

function adviceMarkdown(advice: readonly StatusAdvice[]): string {
  if (advice.length === 0) return "";
  const steps = advice.map(
    ({ why, command }) =>
      `${escapeMarkdown(why)}\n\n${command === undefined ? "" : markdownBlock(command, MOST_COMMAND)}`,
  );
  return `### What to do next\n\n${steps.join("\n")}`;
}

/** Longer commands are cut off. */
const MOST_COMMAND = 400;

function hasDanger({ points }: ToldSection): number {
  return Number(points.some(({ transition }) => transition !== undefined && isDangerous(transition)));
}

function sectionMarkdown({ title, points, hidden }: ToldSection, room: number): string {
  let left = hidden;
  const text = filled(
    `### ${escapeMarkdown(title)}\n\n`,
    [
      points.map((point) => () => pointMarkdown(point)),
      points.map(
        ({ head }) =>
          () =>
            lineMarkdown(head),
      ),
    ],
    room - MORE,
    (rest) => {
      left = [...points.slice(-rest), ...hidden];
      return "";
    },
  );
  const more = left.length === 0 ? "" : `- … and ${hiddenText(left)}; \`--format json\` shows all of them\n`;
  return `${text.trimEnd()}\n${more}`;
}

/** The room for the note about the omitted points. */
const MORE = 300;

function pointMarkdown({ head, facts }: ToldPoint): string {
  return [lineMarkdown(head), ...facts.map((fact) => `  - ${escapeMarkdown(fact)}\n`)].join("");
}

function lineMarkdown(head: string): string {
  return `- ${escapeMarkdown(head)}\n`;
}

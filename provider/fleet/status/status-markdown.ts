import { escapeMarkdown, markdownBlock } from "../../render/markdown-text";
import { bytesOf, filled } from "../../render/room";
import { RolloutCommands } from "../../rollout/model/commands";
import type { Target } from "../../rollout/model/target";
import { isDangerous } from "../../settings/danger";
import { type StatusAdvice, statusAdvice } from "./status-advice";
import type { FleetStatus } from "./status-schema";
import { hiddenText, type ToldPoint, type ToldSection, toldStatus } from "./told-status";

/** The maximum size of the text in bytes. The limit of GitHub is 65,536 characters in total. */
const MAX_BYTES = 60_000;
/** The room that each section has, however long the sections before it are. */
const MIN_SECTION_BYTES = 1_500;

/**
 * Renders a fleet's status for an issue, in at most 60,000 bytes. Dangerous drift has priority. Anything that doesn't fit is only counted.
 */
export function statusMarkdown(
  status: FleetStatus,
  commands = new RolloutCommands(),
  targets: readonly Target[] = [],
): string {
  const { summary, sections } = toldStatus(status);
  const header = ["<!-- email-security-fleet-status -->", ...summary.flatMap((one) => [escapeMarkdown(one), ""])].join(
    "\n",
  );
  const sectionTexts = new Map<ToldSection, string>();
  const footer = renderAdviceMarkdown(statusAdvice(status, commands, targets));
  let remainingBytes = MAX_BYTES - bytesOf(header) - bytesOf(footer);
  for (const section of sections.toSorted((one, other) => hasDanger(other) - hasDanger(one))) {
    const remainingSections = sections.length - sectionTexts.size - 1;
    const text = renderSectionMarkdown(section, remainingBytes - remainingSections * MIN_SECTION_BYTES);
    sectionTexts.set(section, text);
    remainingBytes -= bytesOf(text);
  }
  return `${[header, ...sections.map((section) => sectionTexts.get(section) ?? ""), footer].join("\n").trimEnd()}\n`;
}

function renderAdviceMarkdown(advice: readonly StatusAdvice[]): string {
  if (advice.length === 0) return "";
  const steps = advice.map(
    ({ why, command }) =>
      `${escapeMarkdown(why)}\n\n${command === undefined ? "" : markdownBlock(command, MAX_COMMAND_LENGTH)}`,
  );
  return `### What to do next\n\n${steps.join("\n")}`;
}

/** Longer commands are cut off. */
const MAX_COMMAND_LENGTH = 400;

function hasDanger({ points }: ToldSection): number {
  return Number(points.some(({ transition }) => transition !== undefined && isDangerous(transition)));
}

function renderSectionMarkdown({ title, points, hidden }: ToldSection, remainingBytes: number): string {
  let hiddenPoints = hidden;
  const text = filled(
    `### ${escapeMarkdown(title)}\n\n`,
    [
      points.map((point) => () => renderPointMarkdown(point)),
      points.map(
        ({ head }) =>
          () =>
            renderLineMarkdown(head),
      ),
    ],
    remainingBytes - HIDDEN_LINE_BYTES,
    (remainingCount) => {
      hiddenPoints = [...points.slice(-remainingCount), ...hidden];
      return "";
    },
  );
  const more =
    hiddenPoints.length === 0 ? "" : `- … and ${hiddenText(hiddenPoints)}; \`--format json\` shows all of them\n`;
  return `${text.trimEnd()}\n${more}`;
}

/** The room for the note about the omitted points. */
const HIDDEN_LINE_BYTES = 300;

function renderPointMarkdown({ head, facts }: ToldPoint): string {
  return [renderLineMarkdown(head), ...facts.map((fact) => `  - ${escapeMarkdown(fact)}\n`)].join("");
}

function renderLineMarkdown(head: string): string {
  return `- ${escapeMarkdown(head)}\n`;
}

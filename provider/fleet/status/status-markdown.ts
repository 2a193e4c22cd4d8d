import { isDangerous } from "../../model/danger";
import { escapeMarkdown, formatMarkdownBlock } from "../../render/markdown-text";
import { getByteLength, renderWithinLimit } from "../../render/render-within-limit";
import { RolloutCommands } from "../../rollout/model/rollout-commands";
import type { Target } from "../../rollout/model/target";
import { buildStatusAdvice, type StatusAdvice } from "./status-advice";
import type { FleetStatus } from "./status-schema";
import { buildStatusView, formatHiddenPoints, type StatusPoint, type StatusSection } from "./status-view";

/** The maximum size of the text in bytes. The limit of GitHub is 65,536 characters in total. */
const MAX_BYTES = 60_000;
/** The room that each section has, however long the sections before it are. */
const MIN_SECTION_BYTES = 1_500;

/**
 * Renders a fleet's status for an issue, in at most 60,000 bytes. Dangerous drift has priority. Anything that doesn't fit is only counted.
 */
export function renderStatusMarkdown(
  status: FleetStatus,
  commands = new RolloutCommands(),
  targets: readonly Target[] = [],
): string {
  const { summary, sections } = buildStatusView(status);
  const header = [
    "<!-- email-security-fleet-status -->",
    ...summary.flatMap((item) => [escapeMarkdown(item), ""]),
  ].join("\n");
  const sectionTexts = new Map<StatusSection, string>();
  const footer = renderAdviceMarkdown(buildStatusAdvice(status, commands, targets));
  let remainingBytes = MAX_BYTES - getByteLength(header) - getByteLength(footer);
  for (const section of sections.toSorted((a, b) => hasDanger(b) - hasDanger(a))) {
    const remainingSections = sections.length - sectionTexts.size - 1;
    const text = renderSectionMarkdown(section, remainingBytes - remainingSections * MIN_SECTION_BYTES);
    sectionTexts.set(section, text);
    remainingBytes -= getByteLength(text);
  }
  return `${[header, ...sections.map((section) => sectionTexts.get(section) ?? ""), footer].join("\n").trimEnd()}\n`;
}

function renderAdviceMarkdown(advice: readonly StatusAdvice[]): string {
  if (advice.length === 0) return "";
  const steps = advice.map(
    ({ reason, command }) =>
      `${escapeMarkdown(reason)}\n\n${command === undefined ? "" : formatMarkdownBlock(command, MAX_COMMAND_LENGTH)}`,
  );
  return `### Next steps\n\n${steps.join("\n")}`;
}

/** Longer commands are cut off. */
const MAX_COMMAND_LENGTH = 400;

function hasDanger({ points }: StatusSection): number {
  return Number(points.some(({ transition }) => transition !== undefined && isDangerous(transition)));
}

function renderSectionMarkdown({ title, points, hidden }: StatusSection, remainingBytes: number): string {
  let hiddenPoints = hidden;
  const text = renderWithinLimit(
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
    hiddenPoints.length === 0
      ? ""
      : `- … and ${formatHiddenPoints(hiddenPoints)}; \`--format json\` shows all of them\n`;
  return `${text.trimEnd()}\n${more}`;
}

/** The room for the note about the omitted points. */
const HIDDEN_LINE_BYTES = 300;

function renderPointMarkdown({ head, details }: StatusPoint): string {
  return [renderLineMarkdown(head), ...details.map((fact) => `  - ${escapeMarkdown(fact)}\n`)].join("");
}

function renderLineMarkdown(head: string): string {
  return `- ${escapeMarkdown(head)}\n`;
}

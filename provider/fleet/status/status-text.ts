import { sanitizeLine, sanitizeMultiline } from "../../model/text";
import { wrapText } from "../../render/text-width";
import { RolloutCommands } from "../../rollout/model/rollout-commands";
import type { Target } from "../../rollout/model/target";
import { buildStatusAdvice } from "./status-advice";
import type { FleetStatus } from "./status-schema";
import { buildStatusView, formatHiddenPoints } from "./status-view";

const MIN_WIDTH = 40;
const MAX_WIDTH = 100;

/**
 * Renders a fleet's status for a terminal. Values from outside are sanitized.
 *
 * @param targets the tenants, whose addresses and key sources appear in the commands.
 */
export function renderStatusText(
  status: FleetStatus,
  columns = 80,
  commands = new RolloutCommands(),
  targets: readonly Target[] = [],
): string {
  const width = Math.min(MAX_WIDTH, Math.max(MIN_WIDTH, columns));
  const lines: string[] = [];
  const addLine = (indent: number, text: string): void => {
    const hangingIndent = indent === 0 ? 0 : indent + 2;
    const [first = "", ...continuation] = wrapText(sanitizeLine(text), width - hangingIndent);
    lines.push(" ".repeat(indent) + first, ...continuation.map((line) => " ".repeat(hangingIndent) + line));
  };
  const { summary, sections } = buildStatusView(status);
  for (const sentence of summary) addLine(0, sentence);
  for (const { title, points, hidden } of sections) {
    lines.push("");
    addLine(0, `${title}:`);
    for (const { head, details } of points) {
      addLine(2, head);
      for (const fact of details) addLine(6, fact);
    }
    if (hidden.length > 0) addLine(2, `and ${formatHiddenPoints(hidden)}; --format json shows all of them`);
  }
  const advice = buildStatusAdvice(status, commands, targets);
  if (advice.length > 0) lines.push("", "Next steps:");
  for (const { reason, command } of advice) {
    addLine(2, reason);
    if (command !== undefined) lines.push(`    ${sanitizeLine(command)}`);
  }
  return sanitizeMultiline(`${lines.join("\n")}\n`);
}

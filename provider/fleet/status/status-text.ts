import { wrapTo } from "../../render/columns";
import { RolloutCommands } from "../../rollout/model/commands";
import type { Target } from "../../rollout/model/target";
import { harmless, printable } from "../../settings/text";
import { statusAdvice } from "./status-advice";
import type { FleetStatus } from "./status-schema";
import { hiddenText, toldStatus } from "./told-status";

const NARROWEST = 40;
const WIDEST = 100;

/**
 * Renders a fleet's status for a terminal. Values from outside are sanitized.
 *
 * @param columns the width of the terminal.
 * @param commands the commands of the next steps.
 * @param targets the tenants, whose addresses and key sources appear in the commands.
 */
export function statusText(
  status: FleetStatus,
  columns = 80,
  commands = new RolloutCommands(),
  targets: readonly Target[] = [],
): string {
  const width = Math.min(WIDEST, Math.max(NARROWEST, columns));
  const lines: string[] = [];
  const say = (indent: number, text: string): void => {
    const hanging = indent === 0 ? 0 : indent + 2;
    const [first = "", ...rest] = wrapTo(printable(text), width - hanging);
    lines.push(" ".repeat(indent) + first, ...rest.map((line) => " ".repeat(hanging) + line));
  };
  const { summary, sections } = toldStatus(status);
  for (const sentence of summary) say(0, sentence);
  for (const { title, points, hidden } of sections) {
    lines.push("");
    say(0, `${title}:`);
    for (const { head, facts } of points) {
      say(2, head);
      for (const fact of facts) say(6, fact);
    }
    if (hidden.length > 0) say(2, `and ${hiddenText(hidden)}; --format json shows all of them`);
  }
  const advice = statusAdvice(status, commands, targets);
  if (advice.length > 0) lines.push("", "What to do next:");
  for (const { why, command } of advice) {
    say(2, why);
    if (command !== undefined) lines.push(`    ${printable(command)}`);
  }
  return harmless(`${lines.join("\n")}\n`);
}

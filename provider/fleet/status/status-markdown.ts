import { escapeMarkdown } from "../../plan/render/markdown-text";
import type { FleetStatus } from "./fleet-status";
import { toldStatus } from "./told-status";

/** How many bytes of an issue's text tell what there is; GitHub takes 65,536 characters in all. */
const ROOM = 60_000;

/** A fleet's status for an issue: at most 60,000 bytes, what does not fit is counted. */
export function statusMarkdown(status: FleetStatus): string {
  const { summary, sections } = toldStatus(status);
  const lines = [
    "<!-- email-security-fleet-status -->",
    ...summary.flatMap((one) => [escapeMarkdown(one), ""]),
  ];
  let room = ROOM;
  for (const { title, points, more } of sections) {
    lines.push(`### ${escapeMarkdown(title)}`, "");
    let left = more;
    for (const { head, facts } of points) {
      const told = [`- ${escapeMarkdown(head)}`, ...facts.map((fact) => `  - ${escapeMarkdown(fact)}`)];
      room -= Buffer.byteLength(told.join("\n")) + 1;
      if (room > 0) lines.push(...told);
      else left += 1;
    }
    if (left > 0) lines.push(`- … and ${left} more`);
    lines.push("");
  }
  return `${lines.join("\n").trimEnd()}\n`;
}

import { createHash } from "node:crypto";

/** The rows of an exported journal, changed, as somebody would who also mends its sum. */
export function forged(text: string, change: (lines: string[]) => string[]): string {
  const [head = "", ...rest] = text.trimEnd().split("\n");
  const lines = [head, ...change(rest.slice(0, -1))];
  const sum = createHash("sha256");
  for (const line of lines) sum.update(`${line}\n`);
  return `${[...lines, JSON.stringify({ lines: lines.length, sha256: sum.digest("hex") })].join("\n")}\n`;
}

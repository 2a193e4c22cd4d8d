import { wrapText } from "../../render/text-width";

const MIN_WIDTH = 60;
const MAX_WIDTH = 100;
/** The width without a terminal. */
const DEFAULT_WIDTH = 80;

export function wrapParagraph(text: string, indent = ""): string {
  const width = Math.min(MAX_WIDTH, Math.max(MIN_WIDTH, process.stdout.columns ?? DEFAULT_WIDTH));
  return wrapText(text, width - indent.length).join(`\n${indent}`);
}

/** Wraps a list item after its prefix, and aligns all lines with the text of the first. */
export function formatListItem(prefix: string, text: string): string {
  return `${prefix}${wrapParagraph(text, " ".repeat(prefix.length))}`;
}

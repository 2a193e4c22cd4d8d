import { wrapTo } from "../../render/columns";

const MIN_WIDTH = 60;
const MAX_WIDTH = 100;
/** The width where no terminal is. */
const DEFAULT_WIDTH = 80;

/** Text in lines as wide as the terminal, and never so wide that they are hard to read. */
export function wrapped(text: string, indent = ""): string {
  const width = Math.min(MAX_WIDTH, Math.max(MIN_WIDTH, process.stdout.columns ?? DEFAULT_WIDTH));
  return wrapTo(text, width - indent.length).join(`\n${indent}`);
}

/** The same after what a list begins its items with; the lines below the first stand below its text. */
export function itemText(prefix: string, text: string): string {
  return `${prefix}${wrapped(text, " ".repeat(prefix.length))}`;
}

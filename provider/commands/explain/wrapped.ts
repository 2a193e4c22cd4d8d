import { wrapTo } from "../../render/columns";

const NARROWEST = 60;
const WIDEST = 100;
/** The width where no terminal is. */
const USUAL = 80;

/** Text in lines as wide as the terminal, and never so wide that they are hard to read. */
export function wrapped(text: string, indent = ""): string {
  const width = Math.min(WIDEST, Math.max(NARROWEST, process.stdout.columns ?? USUAL));
  return wrapTo(text, width - indent.length).join(`\n${indent}`);
}

/** The same after what a list begins its items with; the lines below the first stand below its text. */
export function itemText(start: string, text: string): string {
  return `${start}${wrapped(text, " ".repeat(start.length))}`;
}

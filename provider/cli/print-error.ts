import { sanitizeMultiline } from "../model/text";
import { wrapText } from "../render/text-width";
import type { TerminalInfo } from "./wrap-for-terminal";

const LABEL = "error: ";
const MIN_WIDTH = 40;

/** Prints an error message to stderr, wrapped to the terminal's width. */
export function printError(message: string): void {
  console.error(formatErrorMessage(message, process.stderr));
}

/**
 * Labels, sanitizes and wraps an error message. Commands, addresses and paths stay on one line. In a pipe, indented lines
 * are not wrapped, because programs read their locations.
 */
export function formatErrorMessage(message: string, { isTTY = false, columns }: TerminalInfo): string {
  const width = Math.max(MIN_WIDTH, columns || 80);
  return sanitizeMultiline(message)
    .split("\n")
    .flatMap((line, index) => {
      const indent = line.length - line.trimStart().length;
      const label = index === 0 ? LABEL : line.slice(0, indent);
      if (COMMAND_LINE.test(line) || (indent > 0 && !isTTY)) return [line];
      const hangingIndent = " ".repeat(indent === 0 ? LABEL.length : indent + 2);
      const [first = "", ...others] = wrapText(line.slice(indent), width - hangingIndent.length);
      return [label + first, ...others.map((other) => hangingIndent + other)];
    })
    .map(sanitizeMultiline)
    .join("\n");
}

/** An indented command, which a person copies as a whole. */
const COMMAND_LINE = /^\s+(?:\$ )?(?:npx|npm|pulumi|email-security|git|gh|glab|export|curl)\s/;

import { printable } from "../settings/text";

/** How a text is written in YAML: as a sibling of what is there already, where that is possible. */
export interface TextStyle {
  /** What is preferred; what can't be written so is written in double quotes. Default: plain. */
  readonly quotes?: "plain" | "single" | "double";
  /** Whether it stands between brackets, where commas and colons have a meaning. */
  readonly inFlow?: boolean;
}

/**
 * A text in YAML that every tool reads back as exactly that text: plain where nobody could read it as anything else, else
 * in quotes, with what can't be seen escaped. Always on one line: the lines of a block could look like entries to a reviewer.
 */
export function yamlText(text: string, style: TextStyle = {}): string {
  const { quotes = "plain", inFlow = false } = style;
  if (quotes === "plain" && isPlain(text, inFlow)) return text;
  if (quotes === "single" && isVisible(text)) return `'${text.replaceAll("'", "''")}'`;
  return inDoubleQuotes(text);
}

/** A text for a comment of YAML, on as many lines as it has: each begins with `#`, and nothing in it does anything. */
export function yamlComment(text: string, indent: number, lineEnd = "\n"): string {
  const lines = text.split(/\r\n?|\n/);
  return lines
    .map(
      (line) =>
        `${" ".repeat(indent)}${`# ${printable(line).replace(/[\uFFFE\uFFFF]/g, escaped)}`.trimEnd()}${lineEnd}`,
    )
    .join("");
}

/**
 * Read as a text by YAML 1.1 and 1.2 alike: it begins with a letter or digit, and has no sign that means something. A
 * date is one as well (by YAML 1.1 it is a date, but only where somebody asks for one).
 */
function isPlain(text: string, inFlow: boolean): boolean {
  if (!/^[\p{L}\p{N}](?:.*[\p{L}\p{N})./!?;'"%+=_@~*&$€–…-])?$/u.test(text)) return false;
  if (!isVisible(text) || / #|: /.test(text)) return false;
  if (inFlow && /[,[\]{}:]/.test(text)) return false;
  return !/^(?:y|yes|n|no|on|off|true|false|null|~)$/i.test(text) && !isNumber(text);
}

function isNumber(text: string): boolean {
  return (
    /^[\d_]+(?:\.[\d_]*)*(?:e[-+]?\d*)?$/i.test(text.replace(IPV4, "ip")) ||
    /^0[xob][\da-f_]+$/i.test(text) ||
    // Hours and minutes, to YAML 1.1; some IPv6 addresses are among them.
    /^\d[\d_]*(?::\d+)+(?:\.[\d_]*)?$/.test(text) ||
    /^\d{4}-\d{1,2}-\d{1,2}[Tt ]/.test(text)
  );
}

const IPV4 = /^\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3}$/;

/** What can't be seen, or is not what it seems, and white space that an editor may take away or change. */
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}\p{Zl}\p{Zp}]|(?! )\p{Zs}/gu;

function isVisible(text: string): boolean {
  return text.search(INVISIBLE) < 0;
}

function inDoubleQuotes(text: string): string {
  return JSON.stringify(text).replace(INVISIBLE, escaped);
}

function escaped(text: string): string {
  return text.replace(INVISIBLE, (character) => {
    const code = character.codePointAt(0) ?? 0;
    const digits = code.toString(16);
    return code > 0xffff ? `\\U${digits.padStart(8, "0")}` : `\\u${digits.padStart(4, "0")}`;
  });
}

import { sanitizeLine } from "../model/text";

/** The style of a text in YAML, copied from its neighbours if possible. */
export interface TextStyle {
  /** The preferred quoting; falls back to double quotes. Default: plain. */
  readonly quotes?: "plain" | "single" | "double";
  /** Whether it is in flow style, where commas and colons are special. */
  readonly isFlow?: boolean;
}

/**
 * Formats a text in YAML that every tool reads back exactly: plain if unambiguous, otherwise quoted, with invisible characters escaped.
 * Always one line, because lines of a block scalar could look like entries.
 */
export function formatYamlText(text: string, style: TextStyle = {}): string {
  const { quotes = "plain", isFlow = false } = style;
  if (quotes === "plain" && isPlainScalar(text, isFlow)) return text;
  if (quotes === "single" && isVisible(text)) return `'${text.replaceAll("'", "''")}'`;
  return quoteDouble(text);
}

/** Formats a text as YAML comment lines, with control characters escaped. */
export function formatYamlComment(text: string, indent: number, lineEnd = "\n"): string {
  const lines = text.split(/\r\n?|\n/);
  return lines
    .map(
      (line) =>
        `${" ".repeat(indent)}${`# ${sanitizeLine(line).replace(/[\uFFFE\uFFFF]/g, escapeInvisible)}`.trimEnd()}${lineEnd}`,
    )
    .join("");
}

/**
 * Returns whether YAML 1.1 and 1.2 both read the text as a string: it starts with a letter or digit and has no special characters. Dates
 * are allowed, because YAML 1.1 converts them only on request.
 */
function isPlainScalar(text: string, inFlow: boolean): boolean {
  if (!/^[\p{L}\p{N}](?:.*[\p{L}\p{N})./!?;'"%+=_@~*&$€–…-])?$/u.test(text)) return false;
  if (!isVisible(text) || / #|: /.test(text)) return false;
  if (inFlow && /[,[\]{}:]/.test(text)) return false;
  return !/^(?:y|yes|n|no|on|off|true|false|null|~)$/i.test(text) && !isNumber(text);
}

function isNumber(text: string): boolean {
  return (
    /^[\d_]+(?:\.[\d_]*)*(?:e[-+]?\d*)?$/i.test(text.replace(IPV4, "ip")) ||
    /^0[xob][\da-f_]+$/i.test(text) ||
    // Sexagesimal numbers in YAML 1.1; they match some IPv6 addresses.
    /^\d[\d_]*(?::\d+)+(?:\.[\d_]*)?$/.test(text) ||
    /^\d{4}-\d{1,2}-\d{1,2}[Tt ]/.test(text)
  );
}

const IPV4 = /^\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3}$/;

/** Invisible or deceptive characters, and white space that editors may change. */
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}\p{Zl}\p{Zp}]|(?! )\p{Zs}/gu;

function isVisible(text: string): boolean {
  return text.search(INVISIBLE) < 0;
}

function quoteDouble(text: string): string {
  return JSON.stringify(text).replace(INVISIBLE, escapeInvisible);
}

function escapeInvisible(text: string): string {
  return text.replace(INVISIBLE, (character) => {
    const code = character.codePointAt(0) ?? 0;
    const digits = code.toString(16);
    return code > 0xffff ? `\\U${digits.padStart(8, "0")}` : `\\u${digits.padStart(4, "0")}`;
  });
}

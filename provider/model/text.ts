import { PULUMI_UNKNOWNS } from "./unknown-value";

/**
 * Formats a value from outside for a message. Text is quoted; anything else is JSON without quotes, so that `5` and `"5"` differ. The
 * result is on one line, with control characters escaped. The value is shortened to `limit` characters.
 */
export function quote(value: unknown, limit = 120): string {
  if (typeof value === "string") return addQuotes(excerpt(value, limit));
  return excerpt(formatNotation(value), limit);
}

/** Escapes quotes inside the text, which would end it early. */
function addQuotes(text: string): string {
  if (!text.includes('"')) return `"${text}"`;
  return text.includes("'") ? `"${text.replaceAll('"', '\\"')}"` : `'${text}'`;
}

/** Returns the first `limit` characters of a text from outside, without quotes and with control characters escaped. */
export function excerpt(text: string, limit = 120): string {
  return sanitizeLine(shorten(text, limit));
}

/**
 * Shortens sentences between words. Anything that a person types, such as a variable's name, is therefore complete or absent. Text without
 * white space is cut anywhere.
 */
export function excerptSentences(text: string, limit: number): string {
  if (text.length <= limit) return sanitizeLine(text);
  const shortened = text.slice(0, limit + 1).replace(/\s+\S*$/, "");
  return shortened.length > limit ? excerpt(text, limit) : `${sanitizeLine(shortened)} …`;
}

function shorten(text: string, limit: number): string {
  // A cut inside a surrogate pair would leave a lone surrogate.
  return text.length > limit ? `${text.slice(0, limit).replace(/[\uD800-\uDBFF]$/, "")}…` : text;
}

function formatNotation(value: unknown): string {
  try {
    return JSON.stringify(value) ?? String(value);
  } catch {
    // JSON can't represent a bigint, a circular reference, or an object with a toJSON that throws.
    return typeof value === "object" ? "an object" : String(value);
  }
}

/**
 * Matches text with a special meaning for programs that print it: Pulumi's unknown values and colour directives, and the commands of build
 * pipelines. Pulumi's engine fails on an unknown colour directive. The commands are `##vso[…]`, `##[…]`, and `::…::` at the start of a
 * line. IPv6 addresses don't match.
 */
const COMMAND_PATTERN = [
  String.raw`<(?=\{%)|#(?=#\w*\[)|:(?=:[\w-]*[g-z_-])(?<=^\s*:)`,
  ...PULUMI_UNKNOWNS.map((unknown) => `${unknown.slice(0, 1)}(?=${unknown.slice(1)})`),
].join("|");

const UNPRINTABLE_PATTERN = new RegExp(String.raw`[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]|${COMMAND_PATTERN}`, "gimu");

/** A comment may contain line ends, tabs, and characters that join or order the letters of a script. */
const HARMFUL_PATTERN = new RegExp(
  String.raw`(?![\n\t])\p{Cc}|(?![\u061c\u200e\u200f])\p{Bidi_Control}|[\p{Cs}\p{Zl}\p{Zp}]|${COMMAND_PATTERN}`,
  "gimu",
);

/**
 * Makes text from outside safe to print on one line. It escapes control, format and line-breaking characters and lone
 * surrogates. It also escapes text that the engine or a build pipeline would treat as a command.
 */
export function sanitizeLine(text: string): string {
  return text.replace(UNPRINTABLE_PATTERN, escapeCharacter);
}

/**
 * Percent-encodes the characters that {@link sanitizeLine} escapes, so that the text can be decoded. Lone surrogates
 * are lost.
 */
export function percentEncodeUnprintable(text: string): string {
  return text.toWellFormed().replace(UNPRINTABLE_PATTERN, encodeURIComponent);
}

/** Escapes the characters that {@link sanitizeLine} escapes in JSON text, without changing its meaning. */
export function escapeUnprintableJson(json: string): string {
  return json.replace(UNPRINTABLE_PATTERN, (character) => (character === "\n" ? character : escapeUnicode(character)));
}

/** Formats the JSON output of a command: indented, escaped as in {@link escapeUnprintableJson}, with a newline at the end. */
export function formatJson<T>(value: T): string {
  return `${escapeUnprintableJson(JSON.stringify(value, undefined, 2))}\n`;
}

/** Returns the first harmful part of a comment, with some context. Undefined if the comment is harmless. */
export function findHarmfulText(comment: string): string | undefined {
  const lines = comment.replaceAll("\r\n", "\n");
  const index = lines.search(HARMFUL_PATTERN);
  return index < 0 ? undefined : quote(lines.slice(Math.max(0, index - 10), index + 30));
}

/** Whether a value can be printed unchanged: nothing in it needs escaping, and no text is very long. */
export function isPrintable(value: unknown): boolean {
  if (typeof value === "string") return value.length <= MAX_PRINTABLE_LENGTH && sanitizeLine(value) === value;
  if (typeof value !== "object" || value === null) return true;
  return Object.entries(value).every(([key, inner]) => isPrintable(key) && isPrintable(inner));
}

const MAX_PRINTABLE_LENGTH = 1_000;

/**
 * Makes text of several lines, such as a comment, safe to print line by line, as Pulumi's engine does. Line ends and tabs stay. Text that
 * affects a terminal or a pipeline is escaped.
 */
export function sanitizeMultiline(text: string): string {
  return text.replace(/\r\n?/g, "\n").replace(HARMFUL_PATTERN, escapeCharacter);
}

function escapeCharacter(character: string): string {
  return `\\u{${character.codePointAt(0)?.toString(16)}}`;
}

function escapeUnicode(character: string): string {
  return character
    .split("")
    .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`)
    .join("");
}

/** Whether a text has the most common form: one line of printable ASCII, without surrounding spaces and commands. */
export function isPlainText(text: string): boolean {
  return text !== "" && !text.startsWith(" ") && !text.endsWith(" ") && !NOT_PLAIN_PATTERN.test(text);
}

const NOT_PLAIN_PATTERN = /[^ -~]|<\{|##|::|[\da-fA-F]{8}-/;

/**
 * Returns the canonical form of a comment: line ends as `\n`, composed Unicode, no surrounding white space, harmless. Lists send and store
 * comments in this form, and so does state for undeclared entries. An empty comment equals a missing one.
 */
export function canonicalizeComment(comment: string | null | undefined): string {
  // A fast path: most entries have no comment.
  if (comment == null || comment === "") return "";
  if (isPlainText(comment)) return comment;
  return sanitizeMultiline(comment).normalize("NFC").trim();
}

/**
 * Returns the form in which comments, or texts with comments, are compared: canonical, in Unicode's compatibility form, with each run of
 * white space as one space. A service may collapse white space and normalize Unicode without a visible change. Requests and state keep the
 * text as written.
 */
export function toComparisonText(text: string | null | undefined): string {
  const canonical = canonicalizeComment(text);
  const isSimple = !canonical.includes("  ") && isPlainText(canonical);
  return isSimple ? canonical : canonical.normalize("NFKC").replace(/\s+/g, " ").trim();
}

export function describeTextChange(sent: string, stored: string): string {
  if (stored === "") return "stores no comment";
  const [sentText, storedText] = [toComparisonText(sent), toComparisonText(stored)];
  if (sentText.startsWith(storedText)) return `stores only the first ${stored.length} characters`;
  let index = 0;
  while (sentText[index] === storedText[index]) index += 1;
  const quoteAround = (text: string) => quote(text.slice(Math.max(0, index - 10), index + 30));
  return `stores ${quoteAround(storedText)} instead of ${quoteAround(sentText)}`;
}

/** Returns a text with its first letter in upper case. */
export function capitalize(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}`;
}

/** Formats the first five items and the number of remaining ones: `a, b, c, d, e, … and 3 more`. */
export function formatFirstItems<Item>(
  items: readonly Item[],
  format: (item: Item) => string,
  separator = ", ",
): string {
  const first = items.slice(0, 5).map(format).join(separator);
  return items.length > 5 ? `${first}${separator}… and ${items.length - 5} more` : first;
}

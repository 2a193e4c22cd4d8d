import { PULUMI_UNKNOWNS } from "./unknown";

/**
 * Shows a value that came from outside inside a message: text quoted, anything else as JSON without quotes (so that
 * `5` and `"5"` differ), on one line, with control characters escaped, and at most `limit` characters long.
 */
export function quote(value: unknown, limit = 120): string {
  if (typeof value === "string") return addQuotes(excerpt(value, limit));
  return excerpt(formatNotation(value), limit);
}

/** Quotes that the text itself has would end it too early. */
function addQuotes(text: string): string {
  if (!text.includes('"')) return `"${text}"`;
  return text.includes("'") ? `"${text.replaceAll('"', '\\"')}"` : `'${text}'`;
}

/** The first `limit` characters of a text from outside, with control characters escaped and no quotes around. */
export function excerpt(text: string, limit = 120): string {
  return printable(shorten(text, limit));
}

/** The same of sentences, cut only between words: what a person is to type, such as a variable's name, is whole or missing. */
export function excerptOfSentences(text: string, limit: number): string {
  if (text.length <= limit) return printable(text);
  const shortened = text.slice(0, limit + 1).replace(/\s+\S*$/, "");
  return shortened.length > limit ? excerpt(text, limit) : `${printable(shortened)} …`;
}

function shorten(text: string, limit: number): string {
  // A cut through a surrogate pair would leave half a character.
  return text.length > limit ? `${text.slice(0, limit).replace(/[\uD800-\uDBFF]$/, "")}…` : text;
}

function formatNotation(value: unknown): string {
  try {
    return JSON.stringify(value) ?? String(value);
  } catch {
    // What JSON can't hold: a bigint, a circle, a toJSON that throws.
    return typeof value === "object" ? "an object" : String(value);
  }
}

/**
 * What is no text to those who print it: Pulumi's unknown values, its colour directives (its engine fails on one that it doesn't know) and
 * the commands of build pipelines, `##vso[…]`, `##[…]`, and `::…::` at the start of a line. An IPv6 address is none.
 */
const COMMAND_PATTERN = [
  String.raw`<(?=\{%)|#(?=#\w*\[)|:(?=:[\w-]*[g-z_-])(?<=^\s*:)`,
  ...PULUMI_UNKNOWNS.map((unknown) => `${unknown.slice(0, 1)}(?=${unknown.slice(1)})`),
].join("|");

const UNPRINTABLE_PATTERN = new RegExp(
  String.raw`[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]|${COMMAND_PATTERN}`,
  "gimu",
);

/** Of these, a comment may hold line ends and tabs, and what joins or orders the letters of a script. */
const HARMFUL_PATTERN = new RegExp(
  String.raw`(?![\n\t])\p{Cc}|(?![\u061c\u200e\u200f])\p{Bidi_Control}|[\p{Cs}\p{Zl}\p{Zp}]|${COMMAND_PATTERN}`,
  "gimu",
);

/**
 * Text from outside on one line and as nothing but text: control, format and line-breaking characters, half a surrogate
 * pair, and what the engine or a build pipeline would take for a command, are escaped.
 */
export function printable(text: string): string {
  return text.replace(UNPRINTABLE_PATTERN, escapeCharacter);
}

/** The same, percent-encoded, so that it can be read back; half a surrogate pair can't be. */
export function percentEncoded(text: string): string {
  return text.toWellFormed().replace(UNPRINTABLE_PATTERN, encodeURIComponent);
}

/** JSON in several lines, in which the same is escaped so that it reads back as it was. */
export function printableJson(json: string): string {
  return json.replace(UNPRINTABLE_PATTERN, (character) =>
    character === "\n" ? character : escapeUnicode(character),
  );
}

/** Formats what a command writes as JSON: indented, with a newline at its end, and with the same escaped. */
export function formatJson<T>(value: T): string {
  return `${printableJson(JSON.stringify(value, undefined, 2))}\n`;
}

/** What keeps a comment from being shown as it is, with what stands around it; undefined when nothing does. */
export function harmIn(comment: string): string | undefined {
  // Windows' line ends are ends of lines.
  const lines = comment.replaceAll("\r\n", "\n");
  const index = lines.search(HARMFUL_PATTERN);
  return index < 0 ? undefined : quote(lines.slice(Math.max(0, index - 10), index + 30));
}

/** Whether a value can be printed as it is, by others too: nothing in it needs to be escaped, and no text is very long. */
export function isPrintable(value: unknown): boolean {
  if (typeof value === "string") return value.length <= MAX_PRINTABLE_LENGTH && printable(value) === value;
  if (typeof value !== "object" || value === null) return true;
  return Object.entries(value).every(([key, inner]) => isPrintable(key) && isPrintable(inner));
}

const MAX_PRINTABLE_LENGTH = 1_000;

/**
 * Text of more than one line, such as a comment, for those who print it line by line, as Pulumi's engine does: line ends
 * and tabs stay, and what would do something in a terminal or a pipeline is escaped.
 */
export function harmless(text: string): string {
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

/** Whether a text is one line of printable ASCII with nothing around it and nothing of a command in it, as almost all are. */
export function isPlainText(text: string): boolean {
  return text !== "" && !text.startsWith(" ") && !text.endsWith(" ") && !NOT_PLAIN_PATTERN.test(text);
}

const NOT_PLAIN_PATTERN = /[^ -~]|<\{|##|::|[\da-fA-F]{8}-/;

/**
 * The form in which lists send and hold a comment, and the state holds one that nobody declared: line ends as `\n`, composed
 * Unicode, no white space around, and harmless. An empty comment and none are the same.
 */
export function canonicalComment(comment: string | null | undefined): string {
  // Most entries have none.
  if (comment == null || comment === "") return "";
  if (isPlainText(comment)) return comment;
  return harmless(comment).normalize("NFC").trim();
}

/**
 * The form in which two comments, or texts that hold some, are compared: canonical, in Unicode's compatibility form, each run of
 * white space as one space. A service may collapse white space and normalize Unicode, which changes nothing that a person reads. What
 * is sent, and what the state holds, stays as it was written.
 */
export function comparisonText(text: string | null | undefined): string {
  const canonical = canonicalComment(text);
  const isSimple = !canonical.includes("  ") && isPlainText(canonical);
  return isSimple ? canonical : canonical.normalize("NFKC").replace(/\s+/g, " ").trim();
}

/** How a text that came back differs from the one that was sent, in the middle of a sentence. */
export function describeTextChange(sent: string, stored: string): string {
  if (stored === "") return "keeps no comment";
  const [sentText, storedText] = [comparisonText(sent), comparisonText(stored)];
  if (sentText.startsWith(storedText)) return `keeps the first ${stored.length} characters only`;
  let index = 0;
  while (sentText[index] === storedText[index]) index += 1;
  const quoteAround = (text: string) => quote(text.slice(Math.max(0, index - 10), index + 30));
  return `keeps ${quoteAround(storedText)} where ${quoteAround(sentText)} was sent`;
}

/** Formats the first five of several, and how many more there are: `a, b, c, d, e, … and 3 more`. */
export function formatFirst<Item>(
  items: readonly Item[],
  format: (item: Item) => string,
  separator = ", ",
): string {
  const first = items.slice(0, 5).map(format).join(separator);
  return items.length > 5 ? `${first}${separator}… and ${items.length - 5} more` : first;
}

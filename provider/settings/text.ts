/**
 * Shows a value that came from outside inside a message: text quoted, anything else as JSON without quotes (so that
 * `5` and `"5"` differ), on one line, with control characters escaped, and at most `limit` characters long.
 */
export function quote(value: unknown, limit = 120): string {
  if (typeof value === "string") return `"${excerpt(value, limit)}"`;
  return excerpt(notation(value), limit);
}

/** The first `limit` characters of a text from outside, with control characters escaped and no quotes around. */
export function excerpt(text: string, limit = 120): string {
  return printable(shorten(text, limit));
}

function shorten(text: string, limit: number): string {
  // A cut through a surrogate pair would leave half a character.
  return text.length > limit ? `${text.slice(0, limit).replace(/[\uD800-\uDBFF]$/, "")}…` : text;
}

function notation(value: unknown): string {
  try {
    return JSON.stringify(value) ?? String(value);
  } catch {
    // What JSON can't hold: a bigint, a circle, a toJSON that throws.
    return typeof value === "object" ? "an object" : String(value);
  }
}

/** Escapes control, format and line-breaking characters, so that text from outside can't move a terminal's cursor. */
export function printable(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, (character) => {
    const codePoint = character.codePointAt(0) ?? 0;
    return `\\u{${codePoint.toString(16)}}`;
  });
}

/**
 * The form in which two comments are compared: line ends as `\n`, composed Unicode, no white space around. An empty
 * comment and none are the same.
 */
export function canonicalComment(comment: string | null | undefined): string {
  return (comment ?? "").replace(/\r\n?/g, "\n").normalize("NFC").trim();
}

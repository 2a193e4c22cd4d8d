/**
 * Shows a piece of text that came from outside inside a message: quoted, on one line, with control characters
 * escaped, and at most `limit` characters long.
 */
export function quote(value: unknown, limit = 120): string {
  const text = typeof value === "string" ? value : (JSON.stringify(value) ?? String(value));
  const short = text.length > limit ? `${text.slice(0, limit)}…` : text;
  return `"${printable(short)}"`;
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

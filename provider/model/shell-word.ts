/** Quotes a word for a POSIX shell if it has special characters. */
export function quoteShellWord(text: string): string {
  return /^[\w./:=@%+,-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}

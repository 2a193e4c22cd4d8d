/** Joins wrapped lines, and replaces each run of white space by one space. */
export function collapseSpaces(text: string): string {
  return text.replaceAll(/\s+/g, " ");
}

/** So many of a tenant are told one by one. */
const SHOWN = 20;

/** The first of many lines, and how many more there are. */
export function shortened(lines: readonly string[]): readonly string[] {
  const more = lines.length - SHOWN;
  return more > 0 ? [...lines.slice(0, SHOWN), `and ${more} more`] : lines;
}

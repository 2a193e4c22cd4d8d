import type { NamedCount } from "../../provider/plan/plan";

/** Converts counts by name into evidence counts, in the same order: `{ malicious: 35, spam: 2 }`. */
export function buildNamedCounts(counts: Readonly<Record<string, number>>): NamedCount[] {
  return Object.entries(counts).map(([name, count]) => ({ name, count }));
}

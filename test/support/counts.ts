import type { NamedCount } from "../../provider/plan/plan";

/** What evidence counts under a name, in that order: `{ malicious: 35, spam: 2 }`. */
export function countsOf(counts: Readonly<Record<string, number>>): NamedCount[] {
  return Object.entries(counts).map(([name, count]) => ({ name, count }));
}

/** A deny-list entry, the same for every peer. */
export interface BenchEntry {
  readonly list: "deny";
  readonly value: string;
  readonly comment: string;
}

export type Comments = "short" | "40 characters";

/** Returns TypeScript source for an array of `count` entries. */
export function formatEntriesSource(count: number, comments: Comments = "short"): string {
  return `Array.from({ length: ${count} }, (_, index) => ({
  list: "deny" as const,
  value: \`bad-\${String(index + 1).padStart(5, "0")}.example\`,
  comment: \`${getCommentPrefix(comments)}\${index + 1}\`${comments === "short" ? "" : '.padEnd(40, ".")'},
}))`;
}

/** Returns the same entries as objects. */
export function buildBenchEntries(count: number): BenchEntry[] {
  return Array.from({ length: count }, (_, index) => ({
    list: "deny",
    value: `bad-${String(index + 1).padStart(5, "0")}.example`,
    comment: `${getCommentPrefix("short")}${index + 1}`,
  }));
}

function getCommentPrefix(comments: Comments): string {
  return comments === "short" ? "INC-" : "Seen in the phishing wave, INC-";
}

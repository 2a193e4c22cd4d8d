import { formatCount } from "../../render/safe-text";
import type { SourceReport } from "../../sources/sync-report";

/** Counts what a sync does with a source: `12 added, 3 left and 1 removed`. */
export function formatSourceSummary(source: SourceReport): string {
  const { outcome, added, departed, returned, removed, renewed, elements } = source;
  if (outcome === "blocked") return "blocked; nothing is changed";
  const totalText = source.into === "vips" ? formatCount(elements, "VIP") : formatCount(elements, "entry", "entries");
  if (outcome === "unchanged") return `up to date, with ${totalText}`;
  const counts: [number, string][] = [
    [added.length, "added"],
    [returned.length, "returned"],
    [departed.length, "left"],
    [removed.length, "removed"],
    [renewed, "renewed"],
  ];
  const parts = counts
    .filter(([count]) => count > 0)
    .map(([count, word]) => `${count.toLocaleString("en-US")} ${word}`);
  return `${parts.length === 0 ? "fields changed" : parts.join(", ")}; ${totalText} in total`;
}

/** The changed values of a source with the headings that people see, in the order of their importance. */
export function listValueGroups(
  source: SourceReport,
): readonly { readonly title: string; readonly values: readonly string[] }[] {
  const isVips = source.into === "vips";
  return [
    { title: "Removed", values: source.removed },
    { title: "Left the source, and stay until they expire", values: source.departed },
    { title: isVips ? "Joined the group" : "Added", values: source.added },
    { title: "Back in the source", values: source.returned },
  ].filter(({ values }) => values.length > 0);
}

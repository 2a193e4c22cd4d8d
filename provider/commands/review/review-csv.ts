import { sanitizeMultiline } from "../../model/text";
import { formatCsvRows } from "../../settings-files/csv-writer";
import { REVIEW_TITLES } from "./review-kinds";
import type { ReviewItem, ReviewReport } from "./review-schema";

const COLUMN_TITLES = [
  "list",
  "value",
  "scope",
  "reasons",
  "evidence",
  "file",
  "shared",
  "ticket",
  "owner",
  "expires",
  "comment",
  "source",
  "first seen",
  "last seen",
] as const;

/** Renders a review as CSV: one row per item, the worst first. Cells can't act as spreadsheet formulas or terminal control sequences. */
export function renderReviewCsv({ items }: ReviewReport): string {
  return formatCsvRows([COLUMN_TITLES, ...items.map(formatItemRow)]);
}

function formatItemRow({
  list,
  value,
  scope,
  place,
  isShared,
  ticket,
  owner,
  expires,
  comment,
  source,
  reasons,
}: ReviewItem): string[] {
  const cells: Readonly<Record<(typeof COLUMN_TITLES)[number], string | undefined>> = {
    list,
    value,
    scope,
    reasons: reasons.map(({ kind }) => REVIEW_TITLES[kind]).join("; "),
    evidence: reasons.map(({ evidence }) => evidence).join(" "),
    file: place === undefined ? undefined : `${place.file}:${place.line}`,
    shared: isShared === true ? "yes" : undefined,
    ticket,
    owner,
    expires,
    comment,
    source: source?.name,
    "first seen": source?.firstSeen,
    "last seen": source?.lastSeen,
  };
  return COLUMN_TITLES.map((title) => sanitizeMultiline(cells[title] ?? ""));
}

import { getDriftTransition } from "../../gitops/detect-drift";
import type { Drift, DriftItem, DriftKind } from "../../gitops/drift-schema";
import { describeHidden, getDangerRank, sortByDanger } from "../../model/danger";
import { decodePunycode } from "../../model/decode-punycode";
import { findDifferingTexts, getDetailTexts } from "../../model/entry-state-text";
import { capitalize, excerpt, quote, sanitizeLine } from "../../model/text";
import { escapeMarkdown, formatMarkdownCode } from "../../render/markdown-text";
import { formatMinute } from "../../render/safe-text";
import { TextPage } from "../../render/text-page";
import { formatLineLocation } from "../../settings-files/finding";

const SECTION_TITLES: Readonly<Record<DriftKind, readonly [title: string, meaning: string]>> = {
  added: ["Added", "at the tenant, but not in any file"],
  changed: ["Changed", "declared value → value at the tenant"],
  missing: ["Missing", "declared, but missing at the tenant"],
  "pending-removal": ["Pending removal", "no longer declared, but still at the tenant; removed by the next run"],
};

const DIFFERENCES = Object.keys(SECTION_TITLES) as DriftKind[];

/** The maximum size of the Markdown in bytes. GitHub accepts 65,536 characters in total. */
const MAX_MARKDOWN_BYTES = 60_000;

/** Renders drift for a terminal, at most `width` columns wide. External text is sanitized. */
export function renderDriftText(drift: Drift, width = 80): string {
  const page = new TextPage(false, width);
  page.addText([`Drift of ${formatDriftSource(drift)}`]);
  page.addBlankLine();
  page.addText([formatDriftSummary(drift)]);
  for (const [[title, meaning], items] of groupByDifference(drift)) {
    page.addHeading([`${title} (${items.length}): ${meaning}`]);
    for (const item of items) {
      page.addText([formatDriftItemName(item)], { indent: 2 });
      for (const { label, text } of describeDriftItem(item))
        page.addLabeledText(label, [text], { indent: 6, labelWidth: LABEL_WIDTH });
    }
  }
  return page.toString();
}

const LABEL_WIDTH = "declared".length;

/**
 * Renders drift as Markdown for an issue or a pull request, in at most 60,000 bytes. It counts the items that don't fit, which are never
 * more dangerous than the shown ones.
 */
export function renderDriftMarkdown(drift: Drift): string {
  const lines = [
    "<!-- email-security-drift -->",
    `**${escapeMarkdown(formatDriftSummary(drift))}**`,
    "",
    `Drift of ${escapeMarkdown(formatDriftSource(drift))}.`,
  ];
  const sections = groupByDifference(drift);
  const visible = selectShownItems(sections.map(([, items]) => items));
  for (const [[title, meaning], items] of sections) {
    lines.push("", `### ${title} (${items.length})`, "", `${capitalize(meaning)}.`, "");
    const hidden = items.filter((item) => !visible.has(item));
    lines.push(...items.filter((item) => visible.has(item)).map(renderMarkdownItem));
    if (hidden.length > 0) {
      lines.push(
        `- … and ${describeHidden(hidden.map(getDriftTransition))}; \`email-security drift\` shows all of them`,
      );
    }
  }
  return `${lines.join("\n")}\n`;
}

/** Selects the items that fit, the most dangerous first. Sections share the room for items that are equally dangerous. */
function selectShownItems(sections: readonly (readonly DriftItem[])[]): ReadonlySet<DriftItem> {
  const positions = sections.flatMap((items) => items.map((item, position) => ({ item, position })));
  const byDanger = positions.sort(
    (a, b) =>
      getDangerRank(getDriftTransition(a.item)) - getDangerRank(getDriftTransition(b.item)) || a.position - b.position,
  );
  const visible = new Set<DriftItem>();
  let remainingBytes = MAX_MARKDOWN_BYTES;
  for (const { item } of byDanger) {
    remainingBytes -= Buffer.byteLength(renderMarkdownItem(item)) + 1;
    if (remainingBytes <= 0) break;
    visible.add(item);
  }
  return visible;
}

function renderMarkdownItem(item: DriftItem): string {
  return [
    `- ${formatMarkdownCode(formatDriftItemName(item))}`,
    ...describeDriftItem(item).map(({ label, text }) => `  - ${label}: ${formatMarkdownCode(text)}`),
  ].join("\n");
}

/** Returns the sections, and the items in each, the most dangerous first. */
function groupByDifference({ items }: Drift): (readonly [readonly [string, string], readonly DriftItem[]])[] {
  const byDanger = sortByDanger(items, getDriftTransition);
  const differences = new Set(byDanger.map(({ driftKind }) => driftKind));
  return [...differences].map(
    (difference) => [SECTION_TITLES[difference], byDanger.filter((item) => item.driftKind === difference)] as const,
  );
}

function formatDriftSource({ file, host, readAt }: Drift): string {
  return `${sanitizeLine(file)} at ${sanitizeLine(host)}, read on ${formatMinute(readAt).join("")}`;
}

function formatDriftSummary({ items, unchanged }: Drift): string {
  if (items.length === 0) return `No drift. ${unchanged} unchanged.`;
  const countTexts = DIFFERENCES.flatMap((difference) => {
    const count = items.filter((item) => item.driftKind === difference).length;
    return count === 0 ? [] : [`${count} ${difference}`];
  });
  return `Drift: ${countTexts.join(", ")}. ${unchanged} unchanged.`;
}

function formatDriftItemName(item: DriftItem): string {
  const { value, verdictScope } = item;
  const scope = verdictScope === undefined || verdictScope === "global" ? "" : ` (${excerpt(verdictScope)})`;
  const unicode = decodePunycode(value);
  const unicodeText = unicode === undefined ? "" : ` (${excerpt(unicode, 300)})`;
  return `${getItemListName(item)} ${excerpt(value, 300)}${unicodeText}${scope}`;
}

function getItemListName({ kind, actual, declared }: DriftItem): string {
  return kind === "vip" ? "VIP" : ((actual ?? declared)?.list ?? "");
}

interface DriftDetail {
  /** At most as long as {@link LABEL_WIDTH}. */
  readonly label: string;
  readonly text: string;
}

/** Describes the details of an item, one attribute each: `comment: "declared" → "actual"`. */
function describeDriftItem({
  driftKind,
  actual,
  declared,
  place,
  reason,
  kind,
  changedSide,
}: DriftItem): DriftDetail[] {
  const details: DriftDetail[] = [];
  if (actual !== undefined && declared !== undefined) {
    if (actual.list !== declared.list) details.push({ label: "list", text: `${declared.list} → ${actual.list}` });
    for (const [name, actualText, declaredText] of findDifferingTexts(actual, declared))
      details.push({ label: name, text: `${formatOptionalQuote(declaredText)} → ${formatOptionalQuote(actualText)}` });
  } else {
    for (const [name, actualText] of getDetailTexts(actual ?? {}))
      details.push({ label: name, text: quote(actualText, 300) });
  }
  if (actual?.createdBy !== undefined || actual?.createdAt !== undefined) {
    const authorText = actual.createdBy === undefined ? [] : [`by ${excerpt(actual.createdBy)}`];
    const dateText = actual.createdAt === undefined ? [] : [`on ${excerpt(actual.createdAt)}`];
    // With the stack's state, the author of the change is known, and a later line shows it.
    const isAuthorUnknown = driftKind === "changed" && changedSide === undefined;
    const authorNote = isAuthorUnknown ? "; the service doesn't report later changes" : "";
    details.push({
      label: kind === "vip" ? "added" : "created",
      text: `${[...authorText, ...dateText].join(" ")}${authorNote}`,
    });
  }
  if (reason !== undefined) details.push({ label: "reason", text: reason });
  if (place !== undefined) details.push({ label: "declared", text: formatLineLocation(place) });
  return details;
}

function formatOptionalQuote(text: string | undefined): string {
  return text === undefined ? "(none)" : quote(text, 300);
}

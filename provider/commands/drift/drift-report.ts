import { formatLineLocation } from "../../files/finding";
import { getDriftTransition } from "../../gitops/detect-drift";
import type { Drift, DriftItem, DriftKind } from "../../gitops/drift-schema";
import { escapeMarkdown, formatMarkdownCode } from "../../render/markdown-text";
import { describeHidden, getDangerRank, sortByDanger } from "../../settings/danger";
import { decodePunycode } from "../../settings/decode-punycode";
import { findDifferingTexts, getDetailTexts } from "../../settings/entry-state-text";
import { excerpt, quote, sanitizeLine } from "../../settings/text";

const SECTION_TITLES: Readonly<Record<DriftKind, readonly [title: string, meaning: string]>> = {
  added: ["Added", "at the tenant, but not in any file"],
  changed: ["Changed", "at the tenant with other values than declared"],
  missing: ["Missing", "declared, but missing at the tenant"],
  leaving: ["Leaving", "no longer declared, but still at the tenant; the next run removes them"],
};

const DIFFERENCES = Object.keys(SECTION_TITLES) as DriftKind[];

/** The maximum size of the Markdown in bytes. GitHub accepts 65,536 characters in total. */
const MAX_MARKDOWN_BYTES = 60_000;

/** Renders drift for a terminal. External text is sanitized. */
export function renderDriftText(drift: Drift): string {
  const lines = [formatDriftSummary(drift)];
  for (const [[title, meaning], items] of groupByDifference(drift)) {
    lines.push("", `${title} (${items.length}): ${meaning}`);
    for (const item of items)
      lines.push(`  ${formatDriftItemName(item)}`, ...describeDriftItem(item).map((detail) => `      ${detail}`));
  }
  return `${lines.join("\n")}\n`;
}

/**
 * Renders drift as Markdown for an issue or a pull request, in at most 60,000 bytes. It counts the items that don't fit, which are never
 * more dangerous than the shown ones.
 */
export function renderDriftMarkdown(drift: Drift): string {
  const lines = ["<!-- email-security-drift -->", `**${escapeMarkdown(formatDriftSummary(drift))}**`];
  const sections = groupByDifference(drift);
  const visible = selectShownItems(sections.map(([, items]) => items));
  for (const [[title, meaning], items] of sections) {
    lines.push("", `### ${title} (${items.length})`, "", `These are ${meaning}.`, "");
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
    (one, declaredText) =>
      getDangerRank(getDriftTransition(one.item)) - getDangerRank(getDriftTransition(declaredText.item)) ||
      one.position - declaredText.position,
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
    ...describeDriftItem(item).map((detail) => `  - ${formatMarkdownCode(detail)}`),
  ].join("\n");
}

/** Returns the sections, and the items in each, the most dangerous first. */
function groupByDifference({ items }: Drift): (readonly [readonly [string, string], readonly DriftItem[]])[] {
  const byDanger = sortByDanger(items, getDriftTransition);
  const differences = new Set(byDanger.map(({ what }) => what));
  return [...differences].map(
    (difference) => [SECTION_TITLES[difference], byDanger.filter((item) => item.what === difference)] as const,
  );
}

function formatDriftSummary({ items, host, file, at, unchanged }: Drift): string {
  const target = `${sanitizeLine(file)} at ${sanitizeLine(host)}`;
  const countText = `${unchanged} as declared, read ${at}`;
  if (items.length === 0) return `No drift: ${target} is as declared (${countText}).`;
  const countTexts = DIFFERENCES.flatMap((difference) => {
    const count = items.filter((item) => item.what === difference).length;
    return count === 0 ? [] : [`${count} ${difference}`];
  });
  return `Drift of ${target}: ${countTexts.join(", ")} (${countText}).`;
}

function formatDriftItemName(item: DriftItem): string {
  const { value, verdictScope } = item;
  const scope = verdictScope === undefined || verdictScope === "global" ? "" : ` (${excerpt(verdictScope)})`;
  const unicode = decodePunycode(value);
  const unicodeText = unicode === undefined ? "" : ` (${excerpt(unicode, 300)})`;
  return `${getItemListName(item)} ${excerpt(value, 300)}${unicodeText}${scope}`;
}

function getItemListName({ kind, there, declared }: DriftItem): string {
  return kind === "vip" ? "VIP" : ((there ?? declared)?.list ?? "");
}

function describeDriftItem({ what, there, declared, place, why, kind, movedBy }: DriftItem): string[] {
  const details: string[] = [];
  if (there !== undefined && declared !== undefined) {
    if (there.list !== declared.list) details.push(`list: ${there.list}, declared ${declared.list}`);
    for (const [name, actualText = "", declaredText = ""] of findDifferingTexts(there, declared))
      details.push(`${name}: ${quote(actualText, 300)}, declared ${quote(declaredText, 300)}`);
  } else {
    for (const [name, actualText] of getDetailTexts(there ?? {})) details.push(`${name}: ${quote(actualText, 300)}`);
  }
  if (there?.by !== undefined || there?.at !== undefined) {
    const authorText = there.by === undefined ? "" : ` by ${excerpt(there.by)}`;
    const dateText = there.at === undefined ? "" : ` on ${excerpt(there.at)}`;
    const creationVerb = kind === "vip" ? "added" : "made";
    // With the stack's state, the author of the change is known, and a later line shows it.
    const isAuthorUnknown = what === "changed" && movedBy === undefined;
    const authorNote = isAuthorUnknown ? "; if it was changed since, the service does not tell by whom" : "";
    details.push(`${creationVerb}${authorText}${dateText}${authorNote}`);
  }
  if (why !== undefined) details.push(why);
  if (place !== undefined) details.push(`declared at ${formatLineLocation(place)}`);
  return details;
}

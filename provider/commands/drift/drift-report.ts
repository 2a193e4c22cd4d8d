import { lineText } from "../../files/finding";
import { driftTransition } from "../../gitops/drift";
import type { Drift, DriftItem, DriftWhat } from "../../gitops/drift-schema";
import { escapeMarkdown, markdownCode } from "../../render/markdown-text";
import { dangerRank, describeHidden, sortByDanger } from "../../settings/danger";
import { detailsOf, differingTexts } from "../../settings/standing-text";
import { excerpt, printable, quote } from "../../settings/text";
import { unicodeOf } from "../../settings/unicode-value";

const TITLES: Readonly<Record<DriftWhat, readonly [title: string, meaning: string]>> = {
  added: ["Added", "at the tenant, and no file declares it"],
  changed: ["Changed", "at the tenant, otherwise than declared"],
  missing: ["Missing", "declared, and not at the tenant"],
  leaving: ["Leaving", "at the tenant still, and no longer declared; the next run removes it"],
};

const WHAT = Object.keys(TITLES) as DriftWhat[];

/** How many bytes of an issue's text tell what differs; GitHub takes 65,536 characters in all. */
const MARKDOWN_ROOM = 60_000;

/** Drift for a terminal. Nothing from outside does anything in it. */
export function driftText(drift: Drift): string {
  const lines = [summary(drift)];
  for (const [[title, meaning], items] of groups(drift)) {
    lines.push("", `${title} (${items.length}): ${meaning}`);
    for (const item of items)
      lines.push(`  ${nameOf(item)}`, ...factsOf(item).map((fact) => `      ${fact}`));
  }
  return `${lines.join("\n")}\n`;
}

/**
 * Drift for an issue or a pull request: at most 60,000 bytes. What does not fit is counted, and is never more dangerous than
 * what is shown.
 */
export function driftMarkdown(drift: Drift): string {
  const lines = ["<!-- email-security-drift -->", `**${escapeMarkdown(summary(drift))}**`];
  const sections = groups(drift);
  const shown = selectShown(sections.map(([, items]) => items));
  for (const [[title, meaning], items] of sections) {
    lines.push("", `### ${title} (${items.length})`, "", `What is ${meaning}.`, "");
    const hidden = items.filter((item) => !shown.has(item));
    lines.push(...items.filter((item) => shown.has(item)).map(markdownItem));
    if (hidden.length > 0) {
      lines.push(
        `- … and ${describeHidden(hidden.map(driftTransition))}; \`email-security drift\` shows all of them`,
      );
    }
  }
  return `${lines.join("\n")}\n`;
}

/** Selects the items that fit, the most dangerous first. Sections share the room for items that are equally dangerous. */
function selectShown(sections: readonly (readonly DriftItem[])[]): ReadonlySet<DriftItem> {
  const positions = sections.flatMap((items) => items.map((item, position) => ({ item, position })));
  const ordered = positions.sort(
    (one, other) =>
      dangerRank(driftTransition(one.item)) - dangerRank(driftTransition(other.item)) ||
      one.position - other.position,
  );
  const shown = new Set<DriftItem>();
  let room = MARKDOWN_ROOM;
  for (const { item } of ordered) {
    room -= Buffer.byteLength(markdownItem(item)) + 1;
    if (room <= 0) break;
    shown.add(item);
  }
  return shown;
}

function markdownItem(item: DriftItem): string {
  return [
    `- ${markdownCode(nameOf(item))}`,
    ...factsOf(item).map((fact) => `  - ${markdownCode(fact)}`),
  ].join("\n");
}

/** Returns the sections, and the items in each, the most dangerous first. */
function groups({ items }: Drift): (readonly [readonly [string, string], readonly DriftItem[]])[] {
  const ordered = sortByDanger(items, driftTransition);
  const order = new Set(ordered.map(({ what }) => what));
  return [...order].map((what) => [TITLES[what], ordered.filter((item) => item.what === what)] as const);
}

function summary({ items, host, file, at, unchanged }: Drift): string {
  const of = `${printable(file)} at ${printable(host)}`;
  const when = `${unchanged} as declared, read ${at}`;
  if (items.length === 0) return `No drift: ${of} is as declared (${when}).`;
  const counts = WHAT.flatMap((what) => {
    const count = items.filter((item) => item.what === what).length;
    return count === 0 ? [] : [`${count} ${what}`];
  });
  return `Drift of ${of}: ${counts.join(", ")} (${when}).`;
}

function nameOf(item: DriftItem): string {
  const { value, verdictScope } = item;
  const scope = verdictScope === undefined || verdictScope === "global" ? "" : ` (${excerpt(verdictScope)})`;
  const unicode = unicodeOf(value);
  const told = unicode === undefined ? "" : ` (${excerpt(unicode, 300)})`;
  return `${listName(item)} ${excerpt(value, 300)}${told}${scope}`;
}

function listName({ kind, there, declared }: DriftItem): string {
  return kind === "vip" ? "VIP" : ((there ?? declared)?.list ?? "");
}

function factsOf({ what, there, declared, place, why, kind, movedBy }: DriftItem): string[] {
  const facts: string[] = [];
  if (there !== undefined && declared !== undefined) {
    if (there.list !== declared.list) facts.push(`list: ${there.list}, declared ${declared.list}`);
    for (const [name, text = "", other = ""] of differingTexts(there, declared))
      facts.push(`${name}: ${quote(text, 300)}, declared ${quote(other, 300)}`);
  } else {
    for (const [name, text] of detailsOf(there ?? {})) facts.push(`${name}: ${quote(text, 300)}`);
  }
  if (there?.by !== undefined || there?.at !== undefined) {
    const by = there.by === undefined ? "" : ` by ${excerpt(there.by)}`;
    const at = there.at === undefined ? "" : ` on ${excerpt(there.at)}`;
    const made = kind === "vip" ? "added" : "made";
    // With the stack's state, it is known whether anybody did; that stands below.
    const isUnsure = what === "changed" && movedBy === undefined;
    const changer = isUnsure ? "; if it was changed since, the service does not tell by whom" : "";
    facts.push(`${made}${by}${at}${changer}`);
  }
  if (why !== undefined) facts.push(why);
  if (place !== undefined) facts.push(`declared at ${lineText(place)}`);
  return facts;
}

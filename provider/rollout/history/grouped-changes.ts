import { getDangerRank } from "../../model/danger";
import { type ChangedLists, getChangeTransition } from "../../plan/plan";
import { describeValue } from "../../plan/render/plan-descriptions";
import { formatNumber, joinTexts, type SafeText, safeText, untrusted } from "../../render/safe-text";
import type { PageLine } from "./history-page-view";

/** Formats names, and counts those beyond `maxNames`: `t001`; `t001, t002, t003 and 37 more`. */
export function formatNameList(tenantNames: readonly string[], maxNames = 5): SafeText {
  const shown = tenantNames.slice(0, maxNames).map((name): SafeText => [untrusted(name)]);
  const remaining = tenantNames.length - shown.length;
  return remaining > 0
    ? safeText`${joinTexts(shown, ", ")} and ${formatNumber(remaining)} more`
    : joinTexts(shown, ", ");
}

/** Formats a change: `deny evil.example`, `allow → deny news.example`, `VIP ceo@acme.example`. */
export function formatChangeSubject({
  kind,
  value,
  before,
  after,
}: {
  readonly kind: "entry" | "vip";
  readonly value: string;
  readonly before?: { readonly list?: string };
  readonly after?: { readonly list?: string };
}): SafeText {
  if (kind === "vip") return safeText`VIP ${describeValue(value)}`;
  const lists = [...new Set([before?.list, after?.list].filter((list) => list !== undefined))];
  const list = joinTexts(
    lists.map((listName): SafeText => [untrusted(listName)]),
    " → ",
  );
  return lists.length === 0 ? describeValue(value) : safeText`${list} ${describeValue(value)}`;
}

export interface GroupedChange<Of> {
  readonly change: Of;
  readonly names: readonly string[];
}

/** Lists each change of the tenants once: the most dangerous first, then by the number of tenants, descending. */
export function groupChanges<Of extends ChangedLists>(
  tenants: readonly { readonly name: string; readonly changes: readonly Of[] }[],
): readonly GroupedChange<Of>[] {
  const byContent = new Map<string, { readonly change: Of; readonly names: string[] }>();
  for (const { name, changes } of tenants) {
    for (const change of changes) {
      const content = JSON.stringify(change);
      const group = byContent.get(content) ?? { change, names: [] };
      byContent.set(content, group);
      group.names.push(name);
    }
  }
  return [...byContent.values()].sort(
    (a, b) =>
      getDangerRank(getChangeTransition(a.change)) - getDangerRank(getChangeTransition(b.change)) ||
      b.names.length - a.names.length,
  );
}

/**
 * Formats the shared changes, one line each.
 *
 * @param buildLine formats one change, without its tenants.
 */
export function buildGroupedLines<Of extends ChangedLists>(
  tenants: readonly { readonly name: string; readonly changes: readonly Of[] }[],
  buildLine: (change: Of) => PageLine,
): readonly PageLine[] {
  return groupChanges(tenants).map(({ change, names }) => {
    const { text, ...rest } = buildLine(change);
    return {
      ...rest,
      text: safeText`${text} in ${names.length > 1 && names.length === tenants.length ? `all ${formatNumber(names.length)}` : formatNameList(names)}`,
    };
  });
}

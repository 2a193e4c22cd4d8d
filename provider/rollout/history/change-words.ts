import { type ChangedLists, changeTransition } from "../../plan/plan";
import { valueWords } from "../../plan/render/plan-words";
import { given, join, number, say, type Words } from "../../render/words";
import { dangerRank } from "../../settings/danger";
import type { ToldLine } from "./told-page";

/** Formats names, and counts those beyond `most`: `t001`; `t001, t002, t003 and 37 more`. */
export function namesWords(tenantNames: readonly string[], maxNames = 5): Words {
  const shown = tenantNames.slice(0, maxNames).map((name): Words => [given(name)]);
  const remaining = tenantNames.length - shown.length;
  return remaining > 0 ? say`${join(shown, ", ")} and ${number(remaining)} more` : join(shown, ", ");
}

/** Formats a change: `deny evil.example`, `allow → deny news.example`, `VIP ceo@acme.example`. */
export function whatWords({
  kind,
  value,
  before,
  after,
}: {
  readonly kind: "entry" | "vip";
  readonly value: string;
  readonly before?: { readonly list?: string };
  readonly after?: { readonly list?: string };
}): Words {
  if (kind === "vip") return say`VIP ${valueWords(value)}`;
  const lists = [...new Set([before?.list, after?.list].filter((list) => list !== undefined))];
  const list = join(
    lists.map((listName): Words => [given(listName)]),
    " → ",
  );
  return lists.length === 0 ? valueWords(value) : say`${list} ${valueWords(value)}`;
}

/** A change, and the tenants that share it. */
export interface SharedChange<Of> {
  readonly change: Of;
  readonly names: readonly string[];
}

/** Lists each change of the tenants once: the most dangerous first, then by the number of tenants, descending. */
export function sharedChanges<Of extends ChangedLists>(
  tenants: readonly { readonly name: string; readonly changes: readonly Of[] }[],
): readonly SharedChange<Of>[] {
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
    (one, other) =>
      dangerRank(changeTransition(one.change)) - dangerRank(changeTransition(other.change)) ||
      other.names.length - one.names.length,
  );
}

/**
 * Formats the shared changes, one line each.
 *
 * @param buildLine formats one change, without its tenants.
 */
export function sharedLines<Of extends ChangedLists>(
  tenants: readonly { readonly name: string; readonly changes: readonly Of[] }[],
  buildLine: (change: Of) => ToldLine,
): readonly ToldLine[] {
  return sharedChanges(tenants).map(({ change, names }) => {
    const { words, ...rest } = buildLine(change);
    return {
      ...rest,
      words: say`${words} in ${names.length > 1 && names.length === tenants.length ? `all ${number(names.length)}` : namesWords(names)}`,
    };
  });
}

import { stringify } from "yaml";
import { readEntry, readVip } from "../../settings/keyed-list";
import type { DeclaredLists } from "./what-undoes";

/** How many of each list are removed, which its guard is told: they are what a rollout brought, and no more. */
export interface MeantRemovals {
  readonly entries: number;
  readonly vips: number;
}

/**
 * The settings file that declares two lists just so, with nothing of a team's own rules. What is not declared and not in the stack
 * stays as it is; a VIP that goes is excluded.
 */
export function settingsText({ entries, vips }: DeclaredLists, removals: MeantRemovals): string {
  const listed = Object.entries(entries).flatMap(([key, text]) => readEntry(key, text) ?? []);
  const section = (list: "allow" | "deny") =>
    listed
      .filter((entry) => entry.list === list)
      .map(({ list: _section, entryType: type, verdictScope: scope, unknown: _unknown, ...entry }) => ({
        ...entry,
        type,
        scope,
      }));
  const limits = (count: number) => (count === 0 ? {} : { maxRemovals: count, maxRemovalFraction: 1 });
  return stringify(
    {
      version: 1,
      lists: {
        entries: { mode: "additive", adopt: true, ...limits(removals.entries) },
        vips: { mode: "additive", onDelete: "exclude", ...limits(removals.vips) },
      },
      allow: section("allow"),
      deny: section("deny"),
      vips: Object.entries(vips).map(([key, text]) => {
        const { unknown: _unknown, ...vip } = readVip(key, text);
        return vip;
      }),
    },
    // One form for every text, which no reader takes for something else.
    { defaultStringType: "QUOTE_DOUBLE", defaultKeyType: "PLAIN", lineWidth: 0, keepUndefined: false },
  );
}

import { stringify } from "yaml";
import { decodeEntry, decodeVip } from "../../model/encoded-list";
import type { RollbackLists } from "./inverse-changes";

/** The expected number of removals from each list. The removal guard allows these, because the rollout added them, and no others. */
export interface ExpectedRemovals {
  readonly entries: number;
  readonly vips: number;
}

/**
 * Generates the settings file that declares exactly these two lists, without any policy of the team. The mode
 * `additive` leaves all other entries of the tenant unchanged. Removed VIPs become exclusions.
 */
export function renderRollbackSettings({ entries, vips }: RollbackLists, removals: ExpectedRemovals): string {
  const parsedEntries = Object.entries(entries).flatMap(([key, text]) => decodeEntry(key, text) ?? []);
  const buildSettingsSection = (list: "allow" | "deny") =>
    parsedEntries
      .filter((entry) => entry.list === list)
      .map(({ list: _section, entryType: type, verdictScope: scope, unknown: _unknown, ...entry }) => ({
        ...entry,
        type,
        scope,
      }));
  const buildRemovalLimits = (count: number) => (count === 0 ? {} : { maxRemovals: count, maxRemovalFraction: 1 });
  return stringify(
    {
      version: 1,
      lists: {
        entries: { mode: "additive", adopt: true, ...buildRemovalLimits(removals.entries) },
        vips: { mode: "additive", onDelete: "exclude", ...buildRemovalLimits(removals.vips) },
      },
      allow: buildSettingsSection("allow"),
      deny: buildSettingsSection("deny"),
      vips: Object.entries(vips).map(([key, text]) => {
        const { unknown: _unknown, ...vip } = decodeVip(key, text);
        return vip;
      }),
    },
    // Quotes every text in the same way, so that no YAML reader parses it as another type.
    { defaultStringType: "QUOTE_DOUBLE", defaultKeyType: "PLAIN", lineWidth: 0, keepUndefined: false },
  );
}

import { formatCount } from "../../render/safe-text";
import type { Queryable } from "../database/database";
import type { RolloutScope, SkippedTenant } from "../journal/rollout-record";
import { readActiveSkips, type Skip, toSkippedTenant } from "../journal/tenant-skips";
import type { RolloutCommands } from "../model/rollout-commands";
import { RolloutError } from "../model/rollout-error";
import type { Target } from "../model/target";
import { formatSkip } from "../report/skipped-tenants";
import type { TargetSelection } from "../targets/select-targets";

export interface UnskippedTargets {
  readonly targets: readonly Target[];
  /** Never empty. Absent: none. */
  readonly skipped?: readonly SkippedTenant[];
}

/**
 * Excludes skipped tenants.
 *
 * @param only the names in the selection. Naming a skipped tenant is an error, because the user wants that tenant.
 * @throws {RolloutError} (`ERR_ROLLOUT_SKIPPED`) if a skipped tenant is selected by name, or all selected tenants are
 * skipped.
 */
export async function excludeSkipped(
  database: Queryable,
  scope: RolloutScope,
  targets: readonly Target[],
  { only = [] }: TargetSelection,
  { commands, source }: { readonly commands: RolloutCommands; readonly source: string },
): Promise<UnskippedTargets> {
  const activeSkips = await readActiveSkips(database, scope);
  const excludedSkips = targets.flatMap(({ name, stack }) => {
    const skip = activeSkips.get(stack);
    return skip === undefined ? [] : [{ ...skip, name }];
  });
  if (excludedSkips.length === 0) return { targets };
  const excludedByName = excludedSkips.filter(({ name }) => only.includes(name));
  const remaining = targets.filter(({ stack }) => !activeSkips.has(stack));
  const refusedSkips = excludedByName.length > 0 ? excludedByName : remaining.length === 0 ? excludedSkips : [];
  if (refusedSkips.length > 0) throw buildSkippedError(refusedSkips, commands, source);
  return { targets: remaining, skipped: excludedSkips.map(toSkippedTenant) };
}

const MAX_LISTED = 5;

function buildSkippedError(skips: readonly Skip[], commands: RolloutCommands, source: string): RolloutError {
  const skipTexts = skips.slice(0, MAX_LISTED).map(formatSkip);
  const suffix = skips.length > MAX_LISTED ? `; and ${formatCount(skips.length - MAX_LISTED, "more tenant")}` : "";
  const names = skips.slice(0, MAX_LISTED).map(({ name }) => name);
  return new RolloutError(
    "ERR_ROLLOUT_SKIPPED",
    `${skips.length === 1 ? "The tenant is" : "The tenants are"} skipped: ${skipTexts.join("; ")}${suffix}. Nothing was changed. To unskip ${skips.length === 1 ? "it" : "them"}: \`${commands.unskip(names, source)}\``,
  );
}

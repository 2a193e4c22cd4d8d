import { quote } from "../../model/text";
import type { SkippedTenant } from "../journal/rollout-record";
import { RolloutError } from "../model/rollout-error";
import type { Target, Targets } from "../model/target";
import { RESTORE_ADVICE } from "../report/remaining-rollback-advice";
import type { TargetComparison } from "../targets/compare-targets";
import { SelectionError, selectTargets, type TargetSelection } from "../targets/select-targets";

/** The tenants of a rollout that a rollback may write to, and those that it leaves out. */
export interface RollbackTargets {
  readonly targets: readonly Target[];
  /** The tenants that the targets file no longer names with the address and stack that the rollout changed. */
  readonly excludedTenants: readonly SkippedTenant[];
}

/**
 * Selects the tenants of a rollback. A name means the tenant that has it now, whatever the rollout called that tenant.
 *
 * @param recorded the tenants as the rollout recorded them, in the order of the comparison.
 * @param excludedStacks the reasons, by stack, why tenants must not be written to.
 * @throws {SelectionError} (`ERR_ROLLOUT_SELECTION`) if no tenant has a selected name now, or no tenant is selected.
 * @throws {RolloutError} (`ERR_ROLLOUT_NOT_FOUND`) if an excluded tenant is selected by name, or all are excluded.
 */
export function selectRollbackTargets(
  id: string,
  recorded: readonly Target[],
  { targets }: Pick<TargetComparison, "targets">,
  declared: Targets,
  excludedStacks: ReadonlyMap<string, string>,
  selection: TargetSelection,
): RollbackTargets {
  const declaredNames = new Set(declared.targets.map(({ name }) => name));
  const declaredStacks = new Set(declared.targets.map(({ stack }) => stack));
  // Another tenant may have the name of a tenant that left the targets file.
  const isNamed = ({ name, stack }: Target): boolean => declaredStacks.has(stack) || !declaredNames.has(name);
  const selected = addRenames(recorded, targets, selection, () => selectTargets(targets, selection, isNamed));
  return excludeTargets(id, selected, excludedStacks, selection);
}

/** Adds the present names of selected tenants to the error if nobody has the selected names now. */
function addRenames<T>(
  recorded: readonly Target[],
  targets: readonly Target[],
  { only = [], except = [] }: TargetSelection,
  select: () => T,
): T {
  try {
    return select();
  } catch (error) {
    if (!(error instanceof SelectionError)) throw error;
    const renames = recorded.flatMap(({ name }, index) => {
      const currentName = targets[index]?.name ?? name;
      const isSelected = name !== currentName && [...only, ...except].includes(name);
      return isSelected ? [` ${quote(name)} is now called ${quote(currentName)}.`] : [];
    });
    throw renames.length === 0 ? error : new SelectionError(`${error.message}${renames.join("")}`);
  }
}

function excludeTargets(
  id: string,
  selected: readonly Target[],
  excludedStacks: ReadonlyMap<string, string>,
  { only = [] }: TargetSelection,
): RollbackTargets {
  const excludedTenants = selected.flatMap(({ name, stack }) => {
    const reason = excludedStacks.get(stack);
    return reason === undefined ? [] : [{ name, stack, reason, sinceMs: Date.now() }];
  });
  const targets = selected.filter(({ stack }) => !excludedStacks.has(stack));
  const excludedByName = excludedTenants.filter(({ name }) => only.includes(name));
  const refusedTargets = excludedByName.length > 0 ? excludedByName : targets.length === 0 ? excludedTenants : [];
  if (refusedTargets.length === 0) return { targets, excludedTenants };
  const reasons = refusedTargets.slice(0, 5).map(({ name, reason }) => `${quote(name)}: ${reason}.`);
  const suffixLines = refusedTargets.length > 5 ? [`… and ${refusedTargets.length - 5} more.`] : [];
  throw new RolloutError(
    "ERR_ROLLOUT_NOT_FOUND",
    [
      `The rollout ${id} can't be rolled back at ${refusedTargets.length === 1 ? "this tenant" : "these tenants"}; nothing was changed.`,
      ...reasons,
      ...suffixLines,
      RESTORE_ADVICE,
    ].join("\n"),
  );
}

/** Formats the present name of a tenant, and the name that it had in the rollout if that differs: `"acme" (then "t1")`. */
export function formatCurrentName(recordedName: string, currentName = recordedName): string {
  return currentName === recordedName ? quote(currentName) : `${quote(currentName)} (then ${quote(recordedName)})`;
}

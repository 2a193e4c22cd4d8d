import { isDeepStrictEqual } from "node:util";
import { quote } from "../../model/text";
import { formatLineLocation } from "../../settings-files/finding";
import type { Target, Targets } from "../model/target";
import { describeKeySource } from "./read-key";

export interface TargetComparison {
  /**
   * All recorded tenants, in their order. Those that are still declared have the present key source, labels and place.
   * If tenants are found by their stacks, all that are still declared have their present names.
   */
  readonly targets: readonly Target[];
  readonly updatedTargets: readonly Target[];
  /** The reasons why tenants must not be written to, by stack. Sentences without a full stop. */
  readonly excludedStacks: ReadonlyMap<string, string>;
  /** The changes that affect tenants that may be written to, one sentence each. */
  readonly notes: readonly string[];
}

/**
 * Compares the recorded tenants of a rollout with the present targets file. Nothing may be written to a tenant that the
 * file no longer names, or names with another address, stack or settings file. If a key has moved to another variable,
 * file or command, it is read from there.
 *
 * @param ignoreSettings whether another settings file is fine: a rollback doesn't use it. Default: false.
 * @param followsStacks whether a tenant is found by its stack, whatever its current name. Default: false.
 */
export function compareTargets(
  recordedTargets: readonly Target[],
  declaredTargets: Targets,
  {
    ignoreSettings = false,
    followsStacks = false,
  }: { readonly ignoreSettings?: boolean; readonly followsStacks?: boolean } = {},
): TargetComparison {
  const byStack = new Map(followsStacks ? declaredTargets.targets.map((target) => [target.stack, target]) : []);
  const byName = new Map(declaredTargets.targets.map((target) => [target.name, target]));
  const excludedStacks = new Map<string, string>();
  const notes: string[] = [];
  const updatedTargets: Target[] = [];
  const targets = recordedTargets.map((target): Target => {
    const currentTarget = byStack.get(target.stack) ?? byName.get(target.name);
    const reason =
      currentTarget === undefined
        ? explainMissing(target, declaredTargets)
        : explainChange(target, currentTarget, ignoreSettings);
    if (reason !== undefined) excludedStacks.set(target.stack, reason);
    const currentName = byStack.get(target.stack)?.name ?? target.name;
    if (currentTarget === undefined || reason !== undefined) return { ...target, name: currentName };
    const { name, key, labels, place, allowInsecureHttp } = currentTarget;
    if (name !== target.name) {
      notes.push(
        `${quote(target.name)} is now called ${quote(name)} (${formatLineLocation(place)}): its stack is the same.`,
      );
    }
    if (!isDeepStrictEqual(key, target.key)) {
      notes.push(
        `The key of ${quote(target.name)} now comes from ${describeKeySource(key)} (${formatLineLocation(place)}), not from ${describeKeySource(target.key)}.`,
      );
    }
    const updatedTarget = { ...target, name, key, labels, place, allowInsecureHttp };
    if (!isDeepStrictEqual(updatedTarget, target)) updatedTargets.push(updatedTarget);
    return updatedTarget;
  });
  return { targets, updatedTargets, excludedStacks, notes };
}

/** Explains why a tenant that the file no longer names is excluded. Mentions a probable rename. */
function explainMissing(target: Target, { file, targets }: Targets): string {
  const missingText = `${file} no longer contains it`;
  const renamed = targets.find((candidate) => isProbableRename(target, candidate));
  return renamed === undefined
    ? missingText
    : `${missingText}; ${quote(renamed.name)} (${formatLineLocation(renamed.place)}) has its ${formatSharedParts(target, renamed)}, so it was probably renamed`;
}

function isProbableRename(target: Target, other: Target): boolean {
  return (
    other.stack === target.stack ||
    (other.baseUrl === target.baseUrl &&
      (isDeepStrictEqual(other.key, target.key) || other.settings === target.settings))
  );
}

function formatSharedParts(target: Target, other: Target): string {
  const parts = [
    ...(other.stack === target.stack ? ["stack"] : []),
    ...(isDeepStrictEqual(other.key, target.key) ? ["key"] : []),
    ...(other.settings === target.settings ? ["settings file"] : []),
  ];
  return parts.join(" and ");
}

/** Explains why a tenant whose declaration has changed since the plan is excluded. */
function explainChange(target: Target, currentTarget: Target, ignoreSettings: boolean): string | undefined {
  const locationText = formatLineLocation(currentTarget.place);
  const formatChange = (label: string, plannedValue: string, currentValue: string): string =>
    `its ${label} is now ${quote(currentValue)} (${locationText}), but the rollout was planned for ${quote(plannedValue)}`;
  if (currentTarget.baseUrl !== target.baseUrl) return formatChange("address", target.baseUrl, currentTarget.baseUrl);
  if (currentTarget.stack !== target.stack) return formatChange("stack", target.stack, currentTarget.stack);
  if (!ignoreSettings && currentTarget.settings !== target.settings) {
    return formatChange("settings file", target.settings, currentTarget.settings);
  }
  return undefined;
}

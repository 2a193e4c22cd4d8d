import { isDeepStrictEqual } from "node:util";
import { lineText } from "../../files/finding";
import { quote } from "../../settings/text";
import type { Target, Targets } from "../model/target";
import { nameOf } from "./read-key";

/** The result of comparing the recorded tenants of a rollout with the present targets file. */
export interface TargetComparison {
  /** All recorded tenants, in their order. Those that are still declared have the present key source, labels and place. */
  readonly targets: readonly Target[];
  /** The tenants that differ from the record. */
  readonly updated: readonly Target[];
  /** The reasons why tenants must not be written to, by stack. Sentences without a full stop. */
  readonly leftOut: ReadonlyMap<string, string>;
  /** The changes that affect tenants that may be written to, one sentence each. */
  readonly notes: readonly string[];
}

/**
 * Compares the recorded tenants of a rollout with the present targets file. Nothing may be written to a tenant that the file no longer
 * names, or names with another address, stack or settings file. If a key has moved to another variable, file or command, it is read from
 * there.
 *
 * @param ignoreSettings whether another settings file is fine: a rollback doesn't use it. Default: false.
 * @param followsStacks whether a tenant is found by its stack, under whatever name it has now. Default: false.
 */
export function compareTargets(
  recorded: readonly Target[],
  declared: Targets,
  {
    ignoreSettings = false,
    followsStacks = false,
  }: { readonly ignoreSettings?: boolean; readonly followsStacks?: boolean } = {},
): TargetComparison {
  const byStack = new Map(followsStacks ? declared.targets.map((target) => [target.stack, target]) : []);
  const byName = new Map(declared.targets.map((target) => [target.name, target]));
  const leftOut = new Map<string, string>();
  const notes: string[] = [];
  const updated: Target[] = [];
  const targets = recorded.map((target): Target => {
    const now = byStack.get(target.stack) ?? byName.get(target.name);
    const reason =
      now === undefined ? missingReason(target, declared) : changedReason(target, now, ignoreSettings);
    if (reason !== undefined) leftOut.set(target.stack, reason);
    if (now === undefined || reason !== undefined) return target;
    const { name, key, labels, place, allowInsecureHttp } = now;
    if (name !== target.name) {
      notes.push(
        `${quote(target.name)} is now called ${quote(name)} (${lineText(place)}): its stack is the same.`,
      );
    }
    if (!isDeepStrictEqual(key, target.key)) {
      notes.push(
        `The key of ${quote(target.name)} now comes from ${nameOf(key)} (${lineText(place)}), not from ${nameOf(target.key)}.`,
      );
    }
    const current = { ...target, name, key, labels, place, allowInsecureHttp };
    if (!isDeepStrictEqual(current, target)) updated.push(current);
    return current;
  });
  return { targets, updated, leftOut, notes };
}

/** Explains why a tenant that the file no longer names is left out. Mentions a probable rename. */
function missingReason(target: Target, { file, targets }: Targets): string {
  const gone = `${file} doesn't name it any more`;
  const renamed = targets.find((one) => isProbablySame(target, one));
  return renamed === undefined
    ? gone
    : `${gone}; ${quote(renamed.name)} (${lineText(renamed.place)}) has its ${sharedParts(target, renamed)}, so it was probably renamed`;
}

function isProbablySame(target: Target, other: Target): boolean {
  return (
    other.stack === target.stack ||
    (other.baseUrl === target.baseUrl &&
      (isDeepStrictEqual(other.key, target.key) || other.settings === target.settings))
  );
}

function sharedParts(target: Target, other: Target): string {
  const parts = [
    ...(other.stack === target.stack ? ["stack"] : []),
    ...(isDeepStrictEqual(other.key, target.key) ? ["key"] : []),
    ...(other.settings === target.settings ? ["settings file"] : []),
  ];
  return parts.join(" and ");
}

/** Explains why a tenant whose declaration has changed since the plan is left out. */
function changedReason(target: Target, now: Target, ignoreSettings: boolean): string | undefined {
  const where = lineText(now.place);
  const planned = (what: string, then: string, today: string): string =>
    `its ${what} is now ${quote(today)} (${where}), and the rollout was planned for ${quote(then)}`;
  if (now.baseUrl !== target.baseUrl) return planned("address", target.baseUrl, now.baseUrl);
  if (now.stack !== target.stack) return planned("stack", target.stack, now.stack);
  if (!ignoreSettings && now.settings !== target.settings) {
    return planned("settings file", target.settings, now.settings);
  }
  return undefined;
}

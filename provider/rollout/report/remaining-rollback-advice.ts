import { EmailSecurityError } from "../../model/email-security-error";
import { formatFirstItems, quote } from "../../model/text";
import type { Journal } from "../journal/journal";
import { readRollbackProgress } from "../journal/rollback-progress";
import type { RolloutRecord, SkippedTenant } from "../journal/rollout-record";
import { getStackRollbackStatus } from "../journal/stack-rollback-status";
import { readActiveSkips } from "../journal/tenant-skips";
import type { RolloutCommands } from "../model/rollout-commands";
import type { Advice } from "../model/rollout-report";
import type { Target } from "../model/target";
import type { TargetComparison } from "../targets/compare-targets";
import { compareTargets } from "../targets/compare-targets";
import { readTargets } from "../targets/read-targets";

/**
 * Lists the next steps for tenants that no rollback has reached. The commands match the current targets file and skips.
 */
export async function getRemainingRollbackAdvice(
  journal: Journal,
  record: RolloutRecord,
  commands: RolloutCommands,
): Promise<readonly Advice[]> {
  const { id, spec } = record;
  if (spec.prunedAtMs !== undefined) return [];
  const { remainingTenants } = await readRollbackProgress(journal, id);
  const { targets, excludedStacks } = compareIfReadable(
    spec.source,
    remainingTenants.map(({ target }) => target),
  );
  const skips = await readActiveSkips(journal.database, spec);
  const laterChanges = Map.groupBy(await journal.listLaterChanges(id), ({ stack }) => stack);
  const excludedTenants: { name: string; reason: string }[] = [];
  const skipped: { name: string }[] = [];
  const changedTenants: { name: string; rollout: string }[] = [];
  let openCount = 0;
  // `unskip` expects the names that the targets file has now.
  for (const { name, stack } of targets) {
    const reason = excludedStacks.get(stack);
    const rollout = getStackRollbackStatus(id, laterChanges.get(stack) ?? []).laterRollouts.at(-1);
    if (reason !== undefined) excludedTenants.push({ name, reason });
    else if (skips.has(stack)) skipped.push({ name });
    else if (rollout !== undefined) changedTenants.push({ name, rollout });
    else openCount += 1;
  }
  const [first] = changedTenants;
  const advice: Advice[] = [];
  if (first !== undefined) {
    advice.push({
      reason: `The rollout ${first.rollout} has changed ${quoteTenantNames(changedTenants)} since. To roll that one back first:`,
      command: commands.rollback(first.rollout),
    });
  } else if (openCount > 0) advice.push({ reason: "To roll back the rest:", command: commands.rollback(id) });
  if (skipped.length > 0) {
    const [predicate, pronoun] = skipped.length === 1 ? ["is", "it"] : ["are", "them"];
    advice.push({
      reason: `${quoteTenantNames(skipped)} ${predicate} skipped. To unskip ${pronoun}, before you roll back the rest:`,
      command: commands.unskip(
        skipped.map(({ name }) => name),
        spec.source,
      ),
    });
  }
  if (excludedTenants.length > 0)
    advice.push({ reason: `Left out: ${formatExcludedTenants(excludedTenants)}. ${RESTORE_ADVICE}` });
  return advice.map((step, index) =>
    index === 0 ? { ...step, reason: `The rollback is incomplete. ${step.reason}` } : step,
  );
}

export const RESTORE_ADVICE = "Restore the tenant in the targets file, or remove what the rollout did in the console.";

/** Explains why tenants keep the changes of a rollout: `"t1" (tenants.yaml doesn't name it any more)`. */
export function formatExcludedTenants(tenants: readonly Pick<SkippedTenant, "name" | "reason">[]): string {
  return formatFirstItems(tenants, ({ name, reason }) => `${quote(name)} (${reason})`);
}

function quoteTenantNames(tenants: readonly { readonly name: string }[]): string {
  return formatFirstItems(tenants, ({ name }) => quote(name));
}

/**
 * How a rollback finds its tenants in the targets file: it ignores settings files, and writes to the tenant that has
 * the stack now.
 */
export const ROLLBACK_COMPARISON_OPTIONS = { ignoreSettings: true, followsStacks: true } as const;

/** The rollback itself reports a targets file that can't be read. */
function compareIfReadable(
  source: string,
  targets: readonly Target[],
): Pick<TargetComparison, "targets" | "excludedStacks"> {
  try {
    return compareTargets(targets, readTargets(source), ROLLBACK_COMPARISON_OPTIONS);
  } catch (error) {
    if (error instanceof EmailSecurityError) return { targets, excludedStacks: new Map() };
    throw error;
  }
}

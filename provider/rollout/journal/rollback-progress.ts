import { formatFirstItems, quote } from "../../model/text";
import type { JournalReader } from "./journal-reader";
import type { RolloutRecord, TenantRecord } from "./rollout-record";

export interface RollbackProgress {
  readonly rollbacks: readonly string[];
  /** The tenants that it changed or tried to change. */
  readonly changedTenants: readonly TenantRecord[];
  /** Those of them that no rollback has confirmed as restored. */
  readonly remainingTenants: readonly TenantRecord[];
}

/** Returns how far a rollout was rolled back. Only tenants that were read again count. */
export async function readRollbackProgress(journal: JournalReader, id: string): Promise<RollbackProgress> {
  const changedTenants = (await journal.listTenants(id)).filter(({ attempt }) => attempt > 0);
  const rollbacks = (await journal.listLaterChanges(id)).filter(({ rollsBack }) => rollsBack === id);
  const rolledBackStacks = new Set(
    rollbacks.filter(({ state }) => state === "done" || state === "unchanged").map(({ stack }) => stack),
  );
  return {
    rollbacks: [...new Set(rollbacks.map(({ rollout }) => rollout))],
    changedTenants,
    remainingTenants: changedTenants.filter(({ target }) => !rolledBackStacks.has(target.stack)),
  };
}

/** Returns the newest rollback of a rollout, if all of the rollout's changes were rolled back. */
export async function findCompleteRollback(
  journal: JournalReader,
  { id, state }: Pick<RolloutRecord, "id" | "state">,
): Promise<string | undefined> {
  if (state !== "rolled-back") return undefined;
  const { rollbacks, remainingTenants } = await readRollbackProgress(journal, id);
  return remainingTenants.length === 0 ? rollbacks.at(-1) : undefined;
}

/**
 * Describes the progress in one or two sentences.
 *
 * @param currentNames the current names of tenants by stack. Default: their names in the rollout.
 */
export function formatRollbackProgress(
  { rollbacks, changedTenants, remainingTenants }: RollbackProgress,
  currentNames: ReadonlyMap<string, string> = new Map(),
): string {
  const allText = changedTenants.length === 1 ? "the one tenant" : `all ${changedTenants.length} tenants`;
  if (remainingTenants.length === 0)
    return `It was rolled back by ${rollbacks.join(", ")} in ${allText} that it changed or tried to change.`;
  const names = formatFirstItems(remainingTenants, ({ name, target }) => quote(currentNames.get(target.stack) ?? name));
  return `It was rolled back by ${rollbacks.join(", ")} in ${changedTenants.length - remainingTenants.length} of the ${changedTenants.length} tenants that it changed or tried to change. Not in ${names}.`;
}

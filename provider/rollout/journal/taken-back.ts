import { formatFirst, quote } from "../../settings/text";
import type { JournalReader } from "./journal-reader";
import type { RolloutRecord, TenantRecord } from "./rollout-record";

/** How far a rollout was rolled back. */
export interface TakenBackSoFar {
  /** The rollbacks of it that were started. */
  readonly by: readonly string[];
  /** The tenants that it changed or tried to change. */
  readonly touched: readonly TenantRecord[];
  /** Those of them that no rollback has confirmed as restored. */
  readonly left: readonly TenantRecord[];
}

/** Returns how far a rollout was rolled back. Only tenants that were read again count. */
export async function takenBackSoFar(journal: JournalReader, id: string): Promise<TakenBackSoFar> {
  const changedTenants = (await journal.tenants(id)).filter(({ attempt }) => attempt > 0);
  const rollbacks = (await journal.since(id)).filter(({ rollsBack }) => rollsBack === id);
  const rolledBackStacks = new Set(
    rollbacks.filter(({ state }) => state === "done" || state === "unchanged").map(({ stack }) => stack),
  );
  return {
    by: [...new Set(rollbacks.map(({ rollout }) => rollout))],
    touched: changedTenants,
    left: changedTenants.filter(({ target }) => !rolledBackStacks.has(target.stack)),
  };
}

/** Returns the newest rollback of a rollout, if all of the rollout's changes were rolled back. */
export async function wholeRollbackOf(
  journal: JournalReader,
  { id, state }: Pick<RolloutRecord, "id" | "state">,
): Promise<string | undefined> {
  if (state !== "rolled-back") return undefined;
  const { by, left } = await takenBackSoFar(journal, id);
  return left.length === 0 ? by.at(-1) : undefined;
}

/** Describes it in one or two sentences. */
export function takenBackText({ by, touched, left }: TakenBackSoFar): string {
  const allText = touched.length === 1 ? "the one tenant" : `all ${touched.length} tenants`;
  if (left.length === 0) return `It was rolled back by ${by.join(", ")} in ${allText} that it changed or tried to.`;
  const names = formatFirst(left, ({ name }) => quote(name));
  return `It was rolled back by ${by.join(", ")} in ${touched.length - left.length} of the ${touched.length} tenants that it changed or tried to. Not in ${names}.`;
}

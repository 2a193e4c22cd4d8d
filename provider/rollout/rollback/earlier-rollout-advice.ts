import { formatFirstItems, quote } from "../../model/text";
import type { Journal } from "../journal/journal";
import { compareRollouts } from "../journal/rollout-order";
import type { TenantRecord } from "../journal/rollout-record";
import type { RolloutCommands } from "../model/rollout-commands";
import type { Advice } from "../model/rollout-report";
import { isFinalState } from "../model/wave";

/**
 * Finds tenants that already had the changes of a rollout from an earlier one, for example a rollout over one label. A
 * rollback leaves these tenants unchanged, so the person who rolls back should know.
 */
export async function buildEarlierRolloutAdvice(
  journal: Journal,
  id: string,
  commands: RolloutCommands,
): Promise<readonly Advice[]> {
  const record = await journal.getRollout(id);
  const tenants = await journal.listTenants(id);
  const appliedChanges = new Set(tenants.filter(({ attempt }) => attempt > 0).flatMap(getChangeKeys));
  // A tenant may have had another name then.
  const untouched = new Set(tenants.filter(({ state }) => state === "unchanged").map(({ target }) => target.stack));
  const steps: Advice[] = [];
  for (const earlier of await journal.listRollouts()) {
    if (untouched.size === 0) break;
    const isEarlier = compareRollouts(earlier, record) < 0 && earlier.spec.source === record.spec.source;
    if (!isEarlier || earlier.spec.rollsBack !== undefined || isFinalState(earlier.state)) continue;
    const affectedTenants = (await journal.listTenants(earlier.id)).filter(
      ({ target, attempt }) => attempt > 0 && untouched.has(target.stack),
    );
    for (const { target } of affectedTenants) untouched.delete(target.stack);
    const tenantsWithSameChange = affectedTenants.filter((tenant) =>
      getChangeKeys(tenant).some((change) => appliedChanges.has(change)),
    );
    if (tenantsWithSameChange.length === 0) continue;
    const names = formatFirstItems(tenantsWithSameChange, ({ name }) => quote(name));
    steps.push({
      reason: `${names} had the same change from the rollout ${earlier.id}, and ${tenantsWithSameChange.length === 1 ? "keeps" : "keep"} it. To roll that back too:`,
      command: commands.rollback(earlier.id),
    });
  }
  return steps;
}

function getChangeKeys({ summary }: TenantRecord): string[] {
  return (summary?.changes ?? []).map(({ operation, kind, list = "", value }) =>
    JSON.stringify([operation, kind, list, value]),
  );
}

import { formatFirst, quote } from "../../settings/text";
import type { Journal } from "../journal/journal";
import { compareRollouts } from "../journal/rollout-order";
import type { TenantRecord } from "../journal/rollout-record";
import type { RolloutCommands } from "../model/commands";
import type { Advice } from "../model/rollout-report";
import { isEndedState } from "../model/wave";

/**
 * Finds tenants that already held the changes of a rollout, because an earlier rollout had applied them, such as a rollout over one label.
 * A rollback leaves these tenants alone, so the person who rolls back should know.
 */
export async function broughtBefore(
  journal: Journal,
  id: string,
  commands: RolloutCommands,
): Promise<readonly Advice[]> {
  const record = await journal.record(id);
  const tenants = await journal.tenants(id);
  const brought = new Set(tenants.filter(({ attempt }) => attempt > 0).flatMap(changesOf));
  // A tenant may have had another name then.
  const untouched = new Set(
    tenants.filter(({ state }) => state === "unchanged").map(({ target }) => target.stack),
  );
  const found: Advice[] = [];
  for (const one of await journal.records()) {
    if (untouched.size === 0) break;
    const isBefore = compareRollouts(one, record) < 0 && one.spec.source === record.spec.source;
    if (!isBefore || one.spec.rollsBack !== undefined || isEndedState(one.state)) continue;
    const own = (await journal.tenants(one.id)).filter(
      ({ target, attempt }) => attempt > 0 && untouched.has(target.stack),
    );
    for (const { target } of own) untouched.delete(target.stack);
    const alike = own.filter((tenant) => changesOf(tenant).some((change) => brought.has(change)));
    if (alike.length === 0) continue;
    const names = formatFirst(alike, ({ name }) => quote(name));
    found.push({
      why: `${names} had the same from the rollout ${one.id}, and ${alike.length === 1 ? "keeps" : "keep"} it. To roll that back too:`,
      command: commands.rollback(one.id),
    });
  }
  return found;
}

function changesOf({ summary }: TenantRecord): string[] {
  return (summary?.changes ?? []).map(({ sign, kind, list = "", value }) =>
    JSON.stringify([sign, kind, list, value]),
  );
}

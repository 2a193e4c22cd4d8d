import { quote } from "../../settings/text";
import type { Journal } from "../journal/journal";

/** Of how many tenants a rollout was taken back: only of those that were seen to hold again what they held. */
export async function takenBackText(journal: Journal, id: string): Promise<string> {
  const touched = (await journal.tenants(id)).filter(({ attempt }) => attempt > 0);
  const back = new Set<string>();
  const by = new Set<string>();
  for (const { rollout, rollsBack, state, stack } of await journal.since(id)) {
    if (rollsBack !== id) continue;
    by.add(rollout);
    if (state === "done" || state === "unchanged") back.add(stack);
  }
  const left = touched.filter(({ target }) => !back.has(target.stack));
  const count = `${touched.length - left.length} of the ${touched.length} tenants that it changed or tried to`;
  if (left.length === 0)
    return `It was taken back by ${[...by].join(", ")} of all ${touched.length} tenants that it changed or tried to.`;
  const names = left.slice(0, 5).map(({ name }) => quote(name));
  const more = left.length > 5 ? `, … and ${left.length - 5} more` : "";
  return `It was taken back by ${[...by].join(", ")} of ${count}. Not of ${names.join(", ")}${more}.`;
}

import { checkPositive } from "../../client/parameters";

/** The first items of a list, or all of them without a limit. Reads no page more than it needs. */
export async function take<Item>(items: AsyncIterable<Item>, limit?: number): Promise<Item[]> {
  if (limit !== undefined) checkPositive("limit", limit);
  const taken: Item[] = [];
  for await (const item of items) {
    taken.push(item);
    if (taken.length === limit) break;
  }
  return taken;
}

/** The look-back window of a list, as the client takes it. */
export function lookBack(minutesAgo: number | undefined): { minutes_ago?: number } {
  return minutesAgo === undefined ? {} : { minutes_ago: checkPositive("minutesAgo", minutesAgo) };
}

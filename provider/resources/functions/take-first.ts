/** Returns the first items of a list, or all of them without a limit. Reads no more pages than needed. */
export async function takeFirst<Item>(items: AsyncIterable<Item>, limit?: number): Promise<Item[]> {
  const result: Item[] = [];
  for await (const item of items) {
    result.push(item);
    if (result.length === limit) break;
  }
  return result;
}

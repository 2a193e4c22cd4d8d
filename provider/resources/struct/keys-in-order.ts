/** The keys of a map, sorted as Google's own messages do it. */
export function keysInOrder(map: Readonly<Record<string, unknown>>): string[] {
  const keys = Object.keys(map);
  return keys.every((key, index) => index === 0 || (keys[index - 1] as string) < key) ? keys : keys.sort();
}

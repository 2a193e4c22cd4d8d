/** Returns the sorted keys of a map. Google's protobuf implementation uses the same order. */
export function getSortedKeys(map: Readonly<Record<string, unknown>>): string[] {
  const keys = Object.keys(map);
  return keys.every((key, index) => index === 0 || (keys[index - 1] as string) < key) ? keys : keys.sort();
}

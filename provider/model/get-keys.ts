/** Returns the keys of a record with their type. */
export function getKeys<K extends string>(record: Readonly<Record<K, unknown>>): K[] {
  return Object.keys(record) as K[];
}

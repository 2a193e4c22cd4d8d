/** The path of a key in a property that is a map, as Pulumi writes it: only quotes are escaped. */
export function keyPath(property: string, key: string): string {
  return `${property}["${key.replaceAll('"', '\\"')}"]`;
}

/** The path of a key in a property that is a map, as Pulumi writes it: only quotes are escaped. */
export function keyPath(property: string, key: string): string {
  return `${property}["${key.replaceAll('"', '\\"')}"]`;
}

/**
 * Whether Pulumi reads a path back as what it was made from: a key that ends in a backslash can't be written as one. Pulumi
 * takes its end for an escaped quote, and fails the whole run.
 */
export function isReadablePath(path: string): boolean {
  return !path.endsWith('\\"]');
}

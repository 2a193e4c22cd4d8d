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

/** The property that a path leads into, whatever the keys in it are. */
export function propertyOfPath(path: string): string {
  return /^[^.[]*/.exec(path)?.[0] ?? path;
}

/** The steps of a path as Pulumi reads it; undefined where it can't be read. */
export function stepsOfPath(path: string): readonly (string | number)[] | undefined {
  const steps: (string | number)[] = [];
  let position = 0;
  while (position < path.length) {
    STEP_PATTERN.lastIndex = position;
    const [match = "", quotedKey, index, name] = STEP_PATTERN.exec(path) ?? [];
    if (match === "") return undefined;
    if (quotedKey !== undefined) steps.push(quotedKey.replaceAll('\\"', '"'));
    else if (index !== undefined) steps.push(index === "*" ? index : Number(index));
    else steps.push(name ?? "");
    position += match.length;
  }
  return steps.length === 0 ? undefined : steps;
}

const STEP_PATTERN = /\.?\["((?:\\"|[^"])+)"\]|\.?\[(\d+|\*)\]|\.?([^.[]+)/y;

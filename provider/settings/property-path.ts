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
  let at = 0;
  while (at < path.length) {
    STEP.lastIndex = at;
    const [found = "", quoted, index, name] = STEP.exec(path) ?? [];
    if (found === "") return undefined;
    if (quoted !== undefined) steps.push(quoted.replaceAll('\\"', '"'));
    else if (index !== undefined) steps.push(index === "*" ? index : Number(index));
    else steps.push(name ?? "");
    at += found.length;
  }
  return steps.length === 0 ? undefined : steps;
}

const STEP = /\.?\["((?:\\"|[^"])+)"\]|\.?\[(\d+|\*)\]|\.?([^.[]+)/y;

/** Formats the path of a key in a map property, as Pulumi writes it: only quotes are escaped. */
export function formatKeyPath(property: string, key: string): string {
  return `${property}["${key.replaceAll('"', '\\"')}"]`;
}

/**
 * Whether Pulumi can parse a path back. A key that ends in a backslash can't be written as a path. Pulumi mistakes its end for an escaped
 * quote and fails the whole run.
 */
export function isParsablePath(path: string): boolean {
  return !path.endsWith('\\"]');
}

export function getTopLevelProperty(path: string): string {
  return /^[^.[]*/.exec(path)?.[0] ?? path;
}

/** Parses a path into steps, as Pulumi does. Undefined if the path isn't valid. */
export function parsePropertyPath(path: string): readonly (string | number)[] | undefined {
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

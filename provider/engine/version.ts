/** A released version: major, minor, patch. */
export type SemanticVersion = readonly [major: number, minor: number, patch: number];

/**
 * Returns the first version in a text, such as `v3.259.0`, `go1.26.8` or `3.260.0-alpha.1+abc`. Anything after the
 * patch is ignored, and a missing patch is 0. Undefined if there is none.
 */
export function parseVersion(text: string): SemanticVersion | undefined {
  const match = /(\d+)\.(\d+)(?:\.(\d+))?/.exec(text);
  return match ? [Number(match[1]), Number(match[2]), Number(match[3] ?? 0)] : undefined;
}

/** Returns whether `version` is `minimum` or newer. */
export function isAtLeast(version: SemanticVersion, minimum: SemanticVersion): boolean {
  for (const [index, part] of minimum.entries()) {
    const difference = (version[index] ?? 0) - part;
    if (difference !== 0) return difference > 0;
  }
  return true;
}

/** `3.259.0` */
export function formatVersion(version: SemanticVersion): string {
  return version.join(".");
}

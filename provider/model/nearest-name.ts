import leven, { closestMatch } from "leven";

/**
 * Finds the known name that a misspelt name probably means. It prefers a name that differs only in spelling style, then the one with the
 * fewest edits. Undefined if no name is close.
 *
 * @param aliases names by their common alternatives, in lower case, without hyphens and underscores.
 */
export function findNearestName(
  input: string,
  known: readonly string[],
  aliases: Readonly<Record<string, string>> = {},
): string | undefined {
  const bareInput = normalizeBareName(input);
  const alias = Object.hasOwn(aliases, bareInput) ? aliases[bareInput] : undefined;
  const byBare = new Map(
    known
      .map((name) => [normalizeBareName(name), name] as const)
      .filter(([bare]) => !differOnlyInNumbers(bare, bareInput)),
  );
  const exactMatch = byBare.get(bareInput) ?? known.find((name) => name === alias);
  if (exactMatch !== undefined) return exactMatch;
  // A short name tolerates fewer edits. Two swapped characters count as two edits.
  const maxDistance = Math.min(3, Math.ceil(bareInput.length / 3));
  const closest = closestMatch(bareInput, [...byBare.keys()], { maxDistance });
  return closest === undefined ? undefined : byBare.get(closest);
}

/** Finds a near-certain match. Use it if the unknown name may be intentional, such as a name that belongs to someone else. */
export function findLikelyTypo(input: string, known: readonly string[]): string | undefined {
  const suggestion = findNearestName(input, known);
  if (suggestion === undefined) return undefined;
  const [a, b] = [normalizeBareName(input), normalizeBareName(suggestion)];
  const maxEdits = Math.max(1, Math.floor(Math.max(a.length, b.length) / 4));
  return leven(a, b) <= maxEdits ? suggestion : undefined;
}

/** Whether two names differ only in their numbers, such as t001 and t031. These are separate things, not a typing error. */
function differOnlyInNumbers(a: string, b: string): boolean {
  const maskNumbers = (name: string): string => name.replace(/\d+/g, "#");
  return a !== b && /\d/.test(b) && maskNumbers(a) === maskNumbers(b);
}

/** Removes differences of style: capitals, hyphens, underscores. */
function normalizeBareName(name: string): string {
  return name.replace(/[-_]/g, "").toLowerCase();
}

/** Formats a hint for an unknown name: the name that was probably meant, or else all known names. */
export function formatNameSuggestion(
  input: string,
  known: readonly string[],
  aliases: Readonly<Record<string, string>> = {},
): string {
  const suggestion = findNearestName(input, known, aliases);
  if (suggestion !== undefined) return `did you mean ${suggestion}?`;
  return known.length === 0 ? "no names are known" : `the known names are ${known.join(", ")}`;
}

import leven, { closestMatch } from "leven";

/**
 * The known name that a misspelt one was meant for: the same in other letters, else the one of the fewest edits; undefined where
 * none is near.
 *
 * @param aliases what people write for a name, bare: in lower case, without hyphens and underscores.
 */
export function nearestName(
  input: string,
  known: readonly string[],
  aliases: Readonly<Record<string, string>> = {},
): string | undefined {
  const bareInput = normalizeBareName(input);
  const alias = Object.hasOwn(aliases, bareInput) ? aliases[bareInput] : undefined;
  const byBare = new Map(
    known
      .map((name) => [normalizeBareName(name), name] as const)
      .filter(([bare]) => !isSibling(bare, bareInput)),
  );
  const exactMatch = byBare.get(bareInput) ?? known.find((name) => name === alias);
  if (exactMatch !== undefined) return exactMatch;
  // Of a short name every letter counts; two that change places are two edits.
  const maxDistance = Math.min(3, Math.ceil(bareInput.length / 3));
  const closest = closestMatch(bareInput, [...byBare.keys()], { maxDistance });
  return closest === undefined ? undefined : byBare.get(closest);
}

/** The same, where it can hardly be anything else: among names that others may have made, for purposes of their own. */
export function slipOf(input: string, known: readonly string[]): string | undefined {
  const suggestion = nearestName(input, known);
  if (suggestion === undefined) return undefined;
  const [one, other] = [normalizeBareName(input), normalizeBareName(suggestion)];
  const maxEdits = Math.max(1, Math.floor(Math.max(one.length, other.length) / 4));
  return leven(one, other) <= maxEdits ? suggestion : undefined;
}

/** Whether two names differ in their numbers alone, as t001 and t031: these are two things, and no slip. */
function isSibling(one: string, other: string): boolean {
  const withoutNumbers = (name: string): string => name.replace(/\d+/g, "#");
  return one !== other && /\d/.test(other) && withoutNumbers(one) === withoutNumbers(other);
}

/** A name without what people write differently: capitals, hyphens, underscores. */
function normalizeBareName(name: string): string {
  return name.replace(/[-_]/g, "").toLowerCase();
}

/** What is told of a name that nothing has: the one that was meant, else those there are. */
export function meantOrKnown(
  input: string,
  known: readonly string[],
  aliases: Readonly<Record<string, string>> = {},
): string {
  const suggestion = nearestName(input, known, aliases);
  if (suggestion !== undefined) return `did you mean ${suggestion}?`;
  return known.length === 0 ? "there are none" : `there are ${known.join(", ")}`;
}

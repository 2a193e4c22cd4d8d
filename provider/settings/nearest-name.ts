import leven, { closestMatch } from "leven";

/**
 * The known name that a misspelt one was meant for: the same in other letters, else the one of the fewest edits; undefined where
 * none is near.
 *
 * @param aliases what people write for a name, bare: in lower case, without hyphens and underscores.
 */
export function nearestName(
  written: string,
  known: readonly string[],
  aliases: Readonly<Record<string, string>> = {},
): string | undefined {
  const wanted = bareName(written);
  const alias = Object.hasOwn(aliases, wanted) ? aliases[wanted] : undefined;
  const byBare = new Map(
    known.map((name) => [bareName(name), name] as const).filter(([bare]) => !isSibling(bare, wanted)),
  );
  const same = byBare.get(wanted) ?? known.find((name) => name === alias);
  if (same !== undefined) return same;
  // Of a short name every letter counts; two that change places are two edits.
  const maxDistance = Math.min(3, Math.ceil(wanted.length / 3));
  const near = closestMatch(wanted, [...byBare.keys()], { maxDistance });
  return near === undefined ? undefined : byBare.get(near);
}

/** The same, where it can hardly be anything else: among names that others may have made, for purposes of their own. */
export function slipOf(written: string, known: readonly string[]): string | undefined {
  const meant = nearestName(written, known);
  if (meant === undefined) return undefined;
  const [one, other] = [bareName(written), bareName(meant)];
  const few = Math.max(1, Math.floor(Math.max(one.length, other.length) / 4));
  return leven(one, other) <= few ? meant : undefined;
}

/** Whether two names differ in their numbers alone, as t001 and t031: these are two things, and no slip. */
function isSibling(one: string, other: string): boolean {
  const withoutNumbers = (name: string): string => name.replace(/\d+/g, "#");
  return one !== other && /\d/.test(other) && withoutNumbers(one) === withoutNumbers(other);
}

/** A name without what people write differently: capitals, hyphens, underscores. */
function bareName(name: string): string {
  return name.replace(/[-_]/g, "").toLowerCase();
}

/** What is told of a name that nothing has: the one that was meant, else those there are. */
export function meantOrKnown(
  written: string,
  known: readonly string[],
  aliases: Readonly<Record<string, string>> = {},
): string {
  const meant = nearestName(written, known, aliases);
  if (meant !== undefined) return `did you mean ${meant}?`;
  return known.length === 0 ? "there are none" : `there are ${known.join(", ")}`;
}

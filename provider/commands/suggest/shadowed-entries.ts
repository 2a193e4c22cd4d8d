import { lineText } from "../../files/finding";
import type { DeclaredEntry } from "../../files/settings";
import { coveringValues } from "../../settings/coverage";
import { printable } from "../../settings/text";
import type { Context } from "./suggest-context";
import { sentences } from "./suggest-words";
import type { Suggestion } from "./suggestion";
import { isDate, removalOf } from "./suggestion-edits";

interface ShadowedEntry {
  readonly entry: DeclaredEntry;
  readonly suggestion: Suggestion;
}

export function shadowedEntries(context: Context): ShadowedEntry[] {
  const { entries, files } = context.settings;
  const domains = Map.groupBy(
    entries.filter(({ entryType }) => entryType === "domain"),
    ({ value }) => value,
  );
  return entries.flatMap((entry): ShadowedEntry[] => {
    const coveringEntry = findCoveringEntry(context, entry, domains);
    // Other tenants may include the entry's file without the covering one.
    const isSafeToRemove = coveringEntry?.place.file === entry.place.file || entry.place.file === files[0];
    if (coveringEntry === undefined || !isSafeToRemove || context.isProtected(entry)) return [];
    const name = printable(entry.value);
    const coveredText = entry.entryType === "domain" ? "all mail from below it" : "all mail from the domain";
    const suggestion: Suggestion = {
      kind: "shadowed",
      value: entry.value,
      what: `Remove the ${entry.list} of ${name}`,
      evidence: sentences(
        `The ${coveringEntry.list} of ${printable(coveringEntry.value)} (${lineText(coveringEntry.place)}) stands for ${coveredText}, in the same scope, so that this one changes nothing.`,
        context.includedNote(entry.place),
      ),
      place: entry.place,
      edits: removalOf(entry),
    };
    return [{ entry, suggestion }];
  });
}

/** Finds the nearest covering entry in the same list and scope that lasts as long, unless the other list has a nearer one. */
function findCoveringEntry(
  context: Context,
  entry: DeclaredEntry,
  domains: ReadonlyMap<string, readonly DeclaredEntry[]>,
): DeclaredEntry | undefined {
  if (entry.entryType === "ip") return undefined;
  const opposite = entry.list === "allow" ? "deny" : "allow";
  for (const name of coveringValues(entry.value)) {
    if (context.isOn(opposite, name)) return undefined;
    const coveringEntry = domains
      .get(name)
      ?.find(({ list, verdictScope }) => list === entry.list && verdictScope === entry.verdictScope);
    if (coveringEntry !== undefined) return isAtLeastAsLong(coveringEntry, entry) ? coveringEntry : undefined;
  }
  return undefined;
}

function isAtLeastAsLong(one: DeclaredEntry, other: DeclaredEntry): boolean {
  if (!isDate(one.expires)) return true;
  return isDate(other.expires) && other.expires <= one.expires;
}

import { listCoveringValues } from "../../model/covering-values";
import { sanitizeLine } from "../../model/text";
import { formatLineLocation } from "../../settings-files/finding";
import type { DeclaredEntry } from "../../settings-files/settings-model";
import { joinSentences } from "./mail-descriptions";
import type { SuggestContext } from "./suggest-context";
import type { Suggestion } from "./suggestion";
import { buildRemovalEdits, isExpiryDate } from "./suggestion-edits";

interface ShadowedEntry {
  readonly entry: DeclaredEntry;
  readonly suggestion: Suggestion;
}

export function findShadowedEntries(context: SuggestContext): ShadowedEntry[] {
  const { entries, files } = context.settings;
  const domains = Map.groupBy(
    entries.filter(({ entryType }) => entryType === "domain"),
    ({ value }) => value,
  );
  return entries.flatMap((entry): ShadowedEntry[] => {
    const coveringEntry = findCoveringEntry(context, entry, domains);
    // Other tenants may include the entry's file without the covering one.
    const isSafeToRemove = coveringEntry?.location.file === entry.location.file || entry.location.file === files[0];
    if (coveringEntry === undefined || !isSafeToRemove || context.isProtected(entry)) return [];
    const name = sanitizeLine(entry.value);
    const coveredText = entry.entryType === "domain" ? "all mail from its subdomains" : "all mail from the domain";
    const suggestion: Suggestion = {
      kind: "shadowed",
      value: entry.value,
      action: `Remove the ${entry.list} of ${name}`,
      evidence: joinSentences(
        `The ${coveringEntry.list} of ${sanitizeLine(coveringEntry.value)} (${formatLineLocation(coveringEntry.location)}) covers ${coveredText}, in the same scope, so this entry has no effect.`,
        context.formatIncludedNote(entry.location),
      ),
      place: entry.location,
      edits: buildRemovalEdits(entry),
    };
    return [{ entry, suggestion }];
  });
}

/** Finds the nearest covering entry in the same list and scope that lasts as long, unless the other list has a nearer one. */
function findCoveringEntry(
  context: SuggestContext,
  entry: DeclaredEntry,
  domains: ReadonlyMap<string, readonly DeclaredEntry[]>,
): DeclaredEntry | undefined {
  if (entry.entryType === "ip") return undefined;
  const opposite = entry.list === "allow" ? "deny" : "allow";
  for (const name of listCoveringValues(entry.value)) {
    if (context.isListed(opposite, name)) return undefined;
    const coveringEntry = domains
      .get(name)
      ?.find(({ list, verdictScope }) => list === entry.list && verdictScope === entry.verdictScope);
    if (coveringEntry !== undefined) return isAtLeastAsLong(coveringEntry, entry) ? coveringEntry : undefined;
  }
  return undefined;
}

function isAtLeastAsLong(a: DeclaredEntry, b: DeclaredEntry): boolean {
  if (!isExpiryDate(a.expires)) return true;
  return isExpiryDate(b.expires) && b.expires <= a.expires;
}

import { lineText } from "../../files/finding";
import type { DeclaredEntry } from "../../files/settings";
import { coveringValues } from "../../settings/coverage";
import { printable } from "../../settings/text";
import type { Context } from "./suggest-context";
import { sentences } from "./suggest-words";
import type { Suggestion } from "./suggestion";
import { isDate, removalOf } from "./suggestion-edits";

interface Shadowed {
  readonly entry: DeclaredEntry;
  readonly suggestion: Suggestion;
}

export function shadowedEntries(context: Context): Shadowed[] {
  const { entries, files } = context.settings;
  const domains = Map.groupBy(
    entries.filter(({ entryType }) => entryType === "domain"),
    ({ value }) => value,
  );
  return entries.flatMap((entry): Shadowed[] => {
    const by = shadowOf(context, entry, domains);
    // Whoever includes the one file need not have the other.
    const isTogether = by?.place.file === entry.place.file || entry.place.file === files[0];
    if (by === undefined || !isTogether || context.isProtected(entry)) return [];
    const name = printable(entry.value);
    const what = entry.entryType === "domain" ? "all mail from below it" : "all mail from the domain";
    const suggestion: Suggestion = {
      kind: "shadowed",
      value: entry.value,
      what: `Remove the ${entry.list} of ${name}`,
      evidence: sentences(
        `The ${by.list} of ${printable(by.value)} (${lineText(by.place)}) stands for ${what}, in the same scope, so that this one changes nothing.`,
        context.includedNote(entry.place),
      ),
      place: entry.place,
      edits: removalOf(entry),
    };
    return [{ entry, suggestion }];
  });
}

/** The nearest domain's entry that says the same, with none of the other list in between. */
function shadowOf(
  context: Context,
  entry: DeclaredEntry,
  domains: ReadonlyMap<string, readonly DeclaredEntry[]>,
): DeclaredEntry | undefined {
  if (entry.entryType === "ip") return undefined;
  const opposite = entry.list === "allow" ? "deny" : "allow";
  for (const name of coveringValues(entry.value)) {
    if (context.isOn(opposite, name)) return undefined;
    const by = domains
      .get(name)
      ?.find(({ list, verdictScope }) => list === entry.list && verdictScope === entry.verdictScope);
    if (by !== undefined) return lastsAsLong(by, entry) ? by : undefined;
  }
  return undefined;
}

function lastsAsLong(one: DeclaredEntry, other: DeclaredEntry): boolean {
  if (!isDate(one.expires)) return true;
  return isDate(other.expires) && other.expires <= one.expires;
}

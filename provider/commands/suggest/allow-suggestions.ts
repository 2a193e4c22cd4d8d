import type { DeclaredEntry } from "../../files/settings";
import { instantOf } from "../../plan/seen-mail";
import { DEFAULT_VERDICT_SCOPE } from "../../settings/assumptions";
import { excerpt, printable } from "../../settings/text";
import { type Context, DAY_MS } from "./suggest-context";
import { mailTold, sentences } from "./suggest-words";
import type { Suggestion } from "./suggestion";
import { expiryOf, isDate, removalOf } from "./suggestion-edits";

export function isFoundMalicious(context: Context, entry: DeclaredEntry): boolean {
  const { verdicts = [], reportVerdicts = [] } = context.evidenceOf(entry) ?? {};
  return [...verdicts, ...reportVerdicts].some(({ name }) => name === "malicious");
}

/** Suggests removing allows whose senders were found malicious, whenever they expire; a person decides about used or accepted ones. */
export function maliciousAllows(context: Context, allows: readonly DeclaredEntry[]): Suggestion[] {
  return allows.map((entry) => {
    const { value, place, verdictScope, acceptRisk, expires } = entry;
    const isGlobalScope = verdictScope === DEFAULT_VERDICT_SCOPE;
    const isUsed = context.evidenceOf(entry)?.verdicts.some(({ name }) => name === "allowed") ?? false;
    const isRemovable = isGlobalScope && !isUsed && acceptRisk === undefined && !context.isProtected(entry);
    const name = printable(value);
    return {
      kind: "malicious-allow",
      value,
      what: isRemovable ? `Remove the allow of ${name} now` : `Decide whether the allow of ${name} stays`,
      evidence: sentences(
        isDate(expires) ? `It ends on ${expires}.` : "",
        mailTold(context, context.evidenceOf(entry)),
        acceptRisk === undefined ? "" : `Its risk is accepted, because: ${excerpt(acceptRisk, 300)}.`,
        isGlobalScope ? "" : `It lets in ${printable(verdictScope)} alone.`,
        isUsed ? "It is in use: a narrower one may do." : "",
        context.isProtected(entry) ? "It is protected." : "",
        context.includedNote(place),
      ),
      place,
      edits: isRemovable ? removalOf(entry) : [],
    };
  });
}

export function expiringAllows(context: Context, allows: readonly DeclaredEntry[], expiringDays: number): Suggestion[] {
  return allows
    .filter(({ expires }) => isDate(expires) && expires <= context.dayIn(expiringDays))
    .sort((one, other) => ((one.expires ?? "") < (other.expires ?? "") ? -1 : 1))
    .map((entry) => {
      const evidence = context.evidenceOf(entry);
      const isUsed = evidence?.verdicts.some(({ name }) => name === "allowed") ?? false;
      const extendedUntil = context.goesOnUntil;
      const name = printable(entry.value);
      const commonFields = { kind: "expiring-allow", value: entry.value, place: entry.place } as const;
      const evidenceText = sentences(
        `It ends on ${entry.expires}.`,
        mailTold(context, evidence),
        context.includedNote(entry.place),
      );
      if (!isUsed || extendedUntil <= (entry.expires ?? "")) {
        return {
          ...commonFields,
          what: `Decide whether the allow of ${name} goes on`,
          evidence: sentences(evidenceText, "Without a change it ends."),
          edits: [],
        };
      }
      const description = `Let the allow of ${name} go on until ${extendedUntil}`;
      return {
        ...commonFields,
        what: description,
        evidence: evidenceText,
        edits: [expiryOf(entry, extendedUntil)],
      };
    });
}

export function unusedAllows(context: Context, allows: readonly DeclaredEntry[], expiringDays: number): Suggestion[] {
  const { days, complete, until } = context.base.summary;
  // Unused can't be proven from a part of the window.
  if (!complete) return [];
  const windowStart = (instantOf(until) ?? 0) - days * DAY_MS;
  const expiryDate = context.goesOnUntil;
  return allows
    .filter((entry) => {
      const { entryType, expires, list, key } = entry;
      if (entryType === "ip" || context.isProtected(entry)) return false;
      if (isDate(expires) && (expires <= expiryDate || expires <= context.dayIn(expiringDays))) return false;
      const row = context.observed.entries.get(key)?.find((row) => row.list === list);
      const createdAt = instantOf(row?.created_at);
      if (createdAt === undefined || createdAt > windowStart) return false;
      const evidence = context.evidenceOf(entry);
      return evidence?.threats === 0 && evidence.reports === 0;
    })
    .map((entry) => ({
      kind: "unused-allow",
      value: entry.value,
      what: `Let the allow of ${printable(entry.value)} end on ${expiryDate}, unless somebody needs it`,
      evidence: sentences(
        `No mail that the service detected came from it ${context.window}, and nobody reported any; whether other mail did is not told.`,
        context.includedNote(entry.place),
      ),
      place: entry.place,
      edits: [expiryOf(entry, expiryDate)],
    }));
}

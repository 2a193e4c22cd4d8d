import { DEFAULT_VERDICT_SCOPE } from "../../model/assumptions";
import { excerpt, sanitizeLine } from "../../model/text";
import { parseInstant } from "../../plan/mail-records";
import type { DeclaredEntry } from "../../settings-files/settings-model";
import { describeMail, joinSentences } from "./mail-descriptions";
import { DAY_MS, type SuggestContext } from "./suggest-context";
import type { Suggestion } from "./suggestion";
import { buildExpiryEdit, buildRemovalEdits, isExpiryDate } from "./suggestion-edits";

export function hasMaliciousVerdict(context: SuggestContext, entry: DeclaredEntry): boolean {
  const { verdicts = [], reportVerdicts = [] } = context.getEvidence(entry) ?? {};
  return [...verdicts, ...reportVerdicts].some(({ name }) => name === "malicious");
}

/**
 * Suggests removing allows whose senders were found malicious, regardless of expiry. If they are used or accepted, a
 * person decides.
 */
export function suggestMaliciousAllows(context: SuggestContext, allows: readonly DeclaredEntry[]): Suggestion[] {
  return allows.map((entry) => {
    const { value, location, verdictScope, acceptRisk, expires } = entry;
    const isGlobalScope = verdictScope === DEFAULT_VERDICT_SCOPE;
    const isUsed = context.getEvidence(entry)?.verdicts.some(({ name }) => name === "allowed") ?? false;
    const isRemovable = isGlobalScope && !isUsed && acceptRisk === undefined && !context.isProtected(entry);
    const name = sanitizeLine(value);
    return {
      kind: "malicious-allow",
      value,
      action: isRemovable ? `Remove the allow of ${name} now` : `Decide whether to keep the allow of ${name}`,
      evidence: joinSentences(
        isExpiryDate(expires) ? `It expires on ${expires}.` : "",
        describeMail(context, context.getEvidence(entry)),
        acceptRisk === undefined ? "" : `Its risk is accepted: ${excerpt(acceptRisk, 300)}.`,
        isGlobalScope ? "" : `It applies only to the verdict ${sanitizeLine(verdictScope)}.`,
        isUsed ? "It is in use; a narrower entry may be enough." : "",
        context.isProtected(entry) ? "It is protected." : "",
        context.formatIncludedNote(location),
      ),
      place: location,
      edits: isRemovable ? buildRemovalEdits(entry) : [],
    };
  });
}

export function suggestExpiringAllows(
  context: SuggestContext,
  allows: readonly DeclaredEntry[],
  expiringDays: number,
): Suggestion[] {
  return allows
    .filter(({ expires }) => isExpiryDate(expires) && expires <= context.getFutureDate(expiringDays))
    .sort((a, b) => ((a.expires ?? "") < (b.expires ?? "") ? -1 : 1))
    .map((entry) => {
      const evidence = context.getEvidence(entry);
      const isUsed = evidence?.verdicts.some(({ name }) => name === "allowed") ?? false;
      const extendedUntil = context.extensionDate;
      const name = sanitizeLine(entry.value);
      const commonFields = { kind: "expiring-allow", value: entry.value, place: entry.location } as const;
      const evidenceText = joinSentences(
        `It expires on ${entry.expires}.`,
        describeMail(context, evidence),
        context.formatIncludedNote(entry.location),
      );
      if (!isUsed || extendedUntil <= (entry.expires ?? "")) {
        return {
          ...commonFields,
          action: `Decide whether to keep the allow of ${name}`,
          evidence: evidenceText,
          edits: [],
        };
      }
      const description = `Extend the allow of ${name} until ${extendedUntil}`;
      return {
        ...commonFields,
        action: description,
        evidence: evidenceText,
        edits: [buildExpiryEdit(entry, extendedUntil)],
      };
    });
}

export function suggestUnusedAllows(
  context: SuggestContext,
  allows: readonly DeclaredEntry[],
  expiringDays: number,
): Suggestion[] {
  const { days, complete, until } = context.base.summary;
  // Part of the window can't prove that an entry is unused.
  if (!complete) return [];
  const windowStart = (parseInstant(until) ?? 0) - days * DAY_MS;
  const expiryDate = context.extensionDate;
  return allows
    .filter((entry) => {
      const { entryType, expires, list, key } = entry;
      if (entryType === "ip" || context.isProtected(entry)) return false;
      if (isExpiryDate(expires) && (expires <= expiryDate || expires <= context.getFutureDate(expiringDays)))
        return false;
      const row = context.observed.entries.get(key)?.find((row) => row.list === list);
      const createdAt = parseInstant(row?.created_at);
      if (createdAt === undefined || createdAt > windowStart) return false;
      const evidence = context.getEvidence(entry);
      return evidence?.threats === 0 && evidence.reports === 0;
    })
    .map((entry) => ({
      kind: "unused-allow",
      value: entry.value,
      action: `Set the allow of ${sanitizeLine(entry.value)} to expire on ${expiryDate}, unless somebody needs it`,
      evidence: joinSentences(
        `No mail that the service detected came from it ${context.window}, and nobody reported any; the service doesn't report other mail.`,
        context.formatIncludedNote(entry.location),
      ),
      place: entry.location,
      edits: [buildExpiryEdit(entry, expiryDate)],
    }));
}

import { getMailDomain, parseMailbox } from "../../model/entry-value";
import { sanitizeLine } from "../../model/text";
import { formatCount } from "../../render/safe-text";
import { formatVerdicts, getWasOrWere } from "./mail-descriptions";
import type { SuggestContext } from "./suggest-context";
import type { Suggestion, SuggestOptions } from "./suggestion";

/** Verdicts that don't make a recipient a target: the mail is at most unwanted. */
const HARMLESS_VERDICTS: ReadonlySet<string> = new Set(["safe", "allowed", "simulation", "spam", "graymail"]);

export function suggestVips(context: SuggestContext, { minThreats = 5, maxVips = 10 }: SuggestOptions): Suggestion[] {
  const { settings, observed, base, ownDomains } = context;
  const knownVips = new Set([...settings.vips.map(({ email }) => email), ...observed.vips.keys()]);
  const attacks = (base.threats ?? []).filter(({ verdict }) => !HARMLESS_VERDICTS.has(verdict));
  const threatsByRecipient = Map.groupBy(attacks, ({ recipient }) => recipient);
  const candidates = [...threatsByRecipient].flatMap(([email, threats]) => {
    const isCandidate =
      email !== undefined &&
      threats.length >= minThreats &&
      !knownVips.has(email) &&
      !context.isExcluded("vip", email) &&
      parseMailbox(email).ok &&
      (settings.ownDomains.length === 0 || ownDomains.findOwnDomain(getMailDomain(email)) !== undefined);
    return isCandidate ? [{ email, threats }] : [];
  });
  return candidates
    .sort((a, b) => b.threats.length - a.threats.length || (a.email < b.email ? -1 : 1))
    .slice(0, maxVips)
    .map(({ email, threats }): Suggestion => {
      const { days } = base.summary;
      const comment = `Among the most targeted: ${threats.length} threats in ${days} ${days === 1 ? "day" : "days"}`;
      return {
        kind: "vip",
        value: email,
        action: `Make ${sanitizeLine(email)} a VIP`,
        evidence: `${formatCount(threats.length, "threat")} ${getWasOrWere(threats.length)} sent to it ${context.window}${formatVerdicts(threats)}; spam and graymail are not counted.`,
        edits: [
          {
            file: context.getTargetFile("vips"),
            edit: { action: "add", section: "vips", element: { email, comment } },
          },
        ],
      };
    });
}

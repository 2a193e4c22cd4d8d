import { counted } from "../../render/words";
import { parseMailbox } from "../../settings/entry-value";
import { printable } from "../../settings/text";
import { type Context, domainOf } from "./suggest-context";
import { verdictsOf, were } from "./suggest-words";
import type { Suggestion, SuggestOptions } from "./suggestion";

/** Verdicts that don't make a recipient a target: the mail is at most unwanted. */
const HARMLESS_VERDICTS: ReadonlySet<string> = new Set(["safe", "allowed", "simulation", "spam", "graymail"]);

export function targetedPeople(context: Context, { minThreats = 5, maxVips = 10 }: SuggestOptions): Suggestion[] {
  const { settings, observed, base, own } = context;
  const knownVips = new Set([...settings.vips.map(({ email }) => email), ...observed.vips.keys()]);
  const attacks = (base.threats ?? []).filter(({ verdict }) => !HARMLESS_VERDICTS.has(verdict));
  const threatsByRecipient = Map.groupBy(attacks, ({ recipient }) => recipient);
  const candidates = [...threatsByRecipient].flatMap(([email, threats]) => {
    const isCandidate =
      email !== undefined &&
      threats.length >= minThreats &&
      !knownVips.has(email) &&
      !context.isTakenOut("vip", email) &&
      parseMailbox(email).ok &&
      (settings.ownDomains.length === 0 || own.holding(domainOf(email)) !== undefined);
    return isCandidate ? [{ email, threats }] : [];
  });
  return candidates
    .sort((one, other) => other.threats.length - one.threats.length || (one.email < other.email ? -1 : 1))
    .slice(0, maxVips)
    .map(({ email, threats }): Suggestion => {
      const { days } = base.summary;
      const comment = `Among the most targeted: ${threats.length} threats in ${days} ${days === 1 ? "day" : "days"}`;
      return {
        kind: "vip",
        value: email,
        what: `Make ${printable(email)} a VIP`,
        evidence: `${counted(threats.length, "threat")} ${were(threats.length)} sent to it ${context.window}${verdictsOf(threats)}; spam and graymail are not counted.`,
        edits: [
          {
            file: context.homeOf("vips"),
            edit: { do: "add", section: "vips", element: { email, comment } },
          },
        ],
      };
    });
}

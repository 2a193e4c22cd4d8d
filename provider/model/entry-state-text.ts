import { encodeBracketFields } from "./encoded-list";
import { findDifferingDetails, pickSentFields } from "./entry-fields";
import { canonicalizeComment, quote, sanitizeLine } from "./text";

/** Returns the fields sent to the service, except the list, as names and texts. The comment comes first. */
export function getDetailTexts(one: object): readonly (readonly [name: string, text: string])[] {
  const { list: _list, ...details } = pickSentFields(one);
  return Object.entries(details).map(([name, value]) => [name, String(value)]);
}

/** Returns the details that differ, as texts. Undefined if a side has no value. */
export function findDifferingTexts(
  one: object,
  other: object,
): readonly (readonly [name: string, text: string | undefined, other: string | undefined])[] {
  const [texts, others] = [new Map(getDetailTexts(one)), new Map(getDetailTexts(other))];
  return findDifferingDetails(one, other).map((name) => [name, texts.get(name), others.get(name)]);
}

/** Formats the details for the middle of a sentence: `comment "INC-7"`, `no comment`. */
export function describeDetails(one: object): string {
  const details = getDetailTexts(one);
  const hasComment = details.some(([name]) => name === "comment");
  const texts = details.map(([name, text]) => `${name} ${quote(text)}`);
  return [...(hasComment ? [] : ["no comment"]), ...texts].join(", ");
}

/** Formats an entry or a VIP for a message: `deny: "INC-7"`. */
export function formatEntryState(one: object): string {
  const { list = "a VIP", comment, ...others } = pickSentFields(one);
  const text = canonicalizeComment(comment);
  const stateText = `${list}${encodeBracketFields(others)}`;
  return sanitizeLine(text === "" ? `${stateText} without a comment` : `${stateText}: "${text}"`);
}

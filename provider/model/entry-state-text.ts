import { encodeBracketFields } from "./encoded-list";
import { findDifferingDetails, pickSentFields } from "./entry-fields";
import { canonicalizeComment, quote, sanitizeLine } from "./text";

/** Returns the fields sent to the service, except the list, as names and texts. The comment comes first. */
export function getDetailTexts(item: object): readonly (readonly [name: string, text: string])[] {
  const { list: _list, ...details } = pickSentFields(item);
  return Object.entries(details).map(([name, value]) => [name, String(value)]);
}

/** Returns the details that differ, as texts. Undefined if a side has no value. */
export function findDifferingTexts(
  a: object,
  b: object,
): readonly (readonly [name: string, text: string | undefined, other: string | undefined])[] {
  const [texts, others] = [new Map(getDetailTexts(a)), new Map(getDetailTexts(b))];
  return findDifferingDetails(a, b).map((name) => [name, texts.get(name), others.get(name)]);
}

/** Formats the details for the middle of a sentence: `comment "INC-7"`, `no comment`. */
export function describeDetails(item: object): string {
  const details = getDetailTexts(item);
  const hasComment = details.some(([name]) => name === "comment");
  const texts = details.map(([name, text]) => `${name} ${quote(text)}`);
  return [...(hasComment ? [] : ["no comment"]), ...texts].join(", ");
}

/** Formats an entry or a VIP for a message: `deny: "INC-7"`. */
export function formatEntryState(item: object): string {
  const { list = "a VIP", comment, ...others } = pickSentFields(item);
  const text = canonicalizeComment(comment);
  const stateText = `${list}${encodeBracketFields(others)}`;
  return sanitizeLine(text === "" ? `${stateText} without a comment` : `${stateText}: "${text}"`);
}

import { differingDetails, sentOf } from "./entry-fields";
import { bracketsText } from "./keyed-list";
import { canonicalComment, printable, quote } from "./text";

/** Returns the fields sent to the service, except the list, as names and texts. The comment comes first. */
export function detailsOf(one: object): readonly (readonly [name: string, text: string])[] {
  const { list: _list, ...details } = sentOf(one);
  return Object.entries(details).map(([name, value]) => [name, String(value)]);
}

/** Returns the details that differ, as texts. Undefined if a side has no value. */
export function differingTexts(
  one: object,
  other: object,
): readonly (readonly [name: string, text: string | undefined, other: string | undefined])[] {
  const [texts, others] = [new Map(detailsOf(one)), new Map(detailsOf(other))];
  return differingDetails(one, other).map((name) => [name, texts.get(name), others.get(name)]);
}

/** Formats the details for the middle of a sentence: `comment "INC-7"`, `no comment`. */
export function describeDetails(one: object): string {
  const details = detailsOf(one);
  const hasComment = details.some(([name]) => name === "comment");
  const texts = details.map(([name, text]) => `${name} ${quote(text)}`);
  return [...(hasComment ? [] : ["no comment"]), ...texts].join(", ");
}

/** Formats an entry or a VIP for a message: `deny: "INC-7"`. */
export function standingText(one: object): string {
  const { list = "a VIP", comment, ...others } = sentOf(one);
  const text = canonicalComment(comment);
  const stateText = `${list}${bracketsText(others)}`;
  return printable(text === "" ? `${stateText} without a comment` : `${stateText}: "${text}"`);
}

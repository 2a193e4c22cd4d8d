import { differingDetails, sentOf } from "./entry-fields";
import { bracketsText } from "./keyed-list";
import { canonicalComment, printable, quote } from "./text";

/** What the service is told of an entry or a VIP beside its list, as texts by their names; the comment is the first. */
export function detailsOf(one: object): readonly (readonly [name: string, text: string])[] {
  const { list: _list, ...details } = sentOf(one);
  return Object.entries(details).map(([name, value]) => [name, String(value)]);
}

/** What of it is told otherwise by two, as texts; undefined for nothing. */
export function differingTexts(
  one: object,
  other: object,
): readonly (readonly [name: string, text: string | undefined, other: string | undefined])[] {
  const [texts, others] = [new Map(detailsOf(one)), new Map(detailsOf(other))];
  return differingDetails(one, other).map((name) => [name, texts.get(name), others.get(name)]);
}

/** The same in the middle of a sentence: `comment "INC-7"`, `no comment`. */
export function describeDetails(one: object): string {
  const details = detailsOf(one);
  const hasComment = details.some(([name]) => name === "comment");
  const texts = details.map(([name, text]) => `${name} ${quote(text)}`);
  return [...(hasComment ? [] : ["no comment"]), ...texts].join(", ");
}

/** An entry or VIP as a message tells it: `deny: "INC-7"`. */
export function standingText(one: object): string {
  const { list = "a VIP", comment, ...others } = sentOf(one);
  const text = canonicalComment(comment);
  const stateText = `${list}${bracketsText(others)}`;
  return printable(text === "" ? `${stateText} without a comment` : `${stateText}: "${text}"`);
}

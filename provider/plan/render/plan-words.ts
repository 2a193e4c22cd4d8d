import type { Finding, Place } from "../../files/finding";
import { day, given, join, number, say, sentence, type Words } from "../../render/words";
import { DEFAULT_VERDICT_SCOPE } from "../../settings/assumptions";
import { detailsOf } from "../../settings/standing-text";
import { unicodeOf } from "../../settings/unicode-value";
import type { BacktestExample, Change, Expired, Standing, Unmanaged } from "../plan";

/**
 * Formats an identifier of the service as text: `moved_to_trash` as "moved to trash". Other values stay as they are, as do names that form
 * a link with the following full stop.
 */
export function nameWords(name: string): Words {
  if (name === "none") return ["not acted on"];
  return /^(?!.*www$)[a-z]{1,20}(?:_[a-z]{1,20}){0,4}$/.test(name) ? [name.replaceAll("_", " ")] : [given(name)];
}

/** Formats a threat that the change would have let through. */
export function exampleWords({ time, sender, recipient, subject, verdict }: BacktestExample): Words {
  const parts: Words[] = [];
  if (time !== undefined) parts.push(day(time));
  if (sender !== undefined) parts.push(say`from ${valueWords(sender)}`);
  if (recipient !== undefined) parts.push(say`to ${given(recipient)}`);
  if (subject !== undefined) parts.push(say`subject ${given(subject)}`);
  if (verdict !== undefined) parts.push(nameWords(verdict));
  return join(parts, ", ");
}

/** Formats a domain or mailbox; adds the Unicode form to punycode. */
export function valueWords(value: string): Words {
  const unicode = unicodeOf(value);
  return unicode === undefined ? [given(value)] : say`${given(value)} (${given(unicode)})`;
}

export const SIGNS = { add: "+", change: "~", remove: "-" } as const;

/** Formats the list: `deny`, `allow → deny`, `VIP`. */
export function listOf({ kind, list }: { readonly kind: "entry" | "vip"; readonly list?: string }): string {
  return kind === "vip" ? "VIP" : (list ?? "entry");
}

/** Formats an undeclared entry: `allow clicked.example (domain, made by … on 2026-11-02): by hand`. */
export function unmanagedWords(item: Unmanaged): Words {
  const details = join(
    [kindOf(item), heldWords(item.before)].filter(({ length }) => length > 0),
    ", ",
  );
  return say`${listOf({ ...item.before, kind: item.kind })} ${valueWords(item.value)}${details.length > 0 ? say` (${details})` : []}${aboutWords(item.before)}`;
}

/** Formats the details of an entry: `: by hand`. */
export function aboutWords(before: object): Words {
  return detailsOf(before).flatMap(([name, text]) =>
    name === "comment" ? say`: ${given(text)}` : say`; ${name} ${given(text)}`,
  );
}

/** Counts hidden undeclared entries: `40 more, 3 of them allows`. */
export function describeHiddenUnmanaged(hidden: readonly Unmanaged[]): string {
  const allows = hidden.filter(({ before }) => before.list === "allow").length;
  return `${number(hidden.length)} more, ${allows === 0 ? "none of them an allow" : `${number(allows)} of them ${allows === 1 ? "an allow" : "allows"}`}`;
}

/** Formats `allow old.example: until 2026-10-31, the tenant still holds it, settings/acme.yaml:18`. */
export function expiredWords(item: Expired): Words {
  const { value, expires, place, isThere, stays } = item;
  const locationText = place === undefined ? [] : say`, ${lineOf(place)}`;
  const stateText = !isThere
    ? "the tenant does not hold it"
    : stays === true
      ? "the tenant still holds it, and the next run leaves it"
      : "the tenant still holds it";
  return say`${listOf(item)} ${valueWords(value)}: until ${day(expires)}, ${stateText}${locationText}`;
}

/** Formats `settings/acme.yaml:12`; empty without a location. */
export function lineOf(location: Place | undefined): Words {
  return location === undefined ? [] : [given(`${location.file}:${location.line}`)];
}

/** The heading of the override section. */
export const LOOSENED = "Looser here than what is included";

/** Formats an override with its line. */
export function loosenedWords({ place, message }: Finding): Words {
  return say`${lineOf(place)}${place === undefined ? "" : ": "}${sentence(message)}`;
}

/** Formats a finding: `error allow-free-mail: …`. */
export function findingWords({ level, code, message }: Finding): Words {
  return say`${level} ${given(code)}: ${sentence(message)}`;
}

/** Formats the type of a value, and its scope if it isn't the default. */
export function kindOf({ entryType, verdictScope }: Pick<Change, "entryType" | "verdictScope">): Words {
  const type =
    entryType === undefined
      ? undefined
      : isKnownType(entryType)
        ? [TYPE_LABELS[entryType]]
        : say`type ${given(entryType)}`;
  const scope =
    verdictScope === undefined || verdictScope === DEFAULT_VERDICT_SCOPE
      ? undefined
      : say`scope ${given(verdictScope)}`;
  return join([...(type === undefined ? [] : [type]), ...(scope === undefined ? [] : [scope])], ", ");
}

function isKnownType(entryType: string): entryType is keyof typeof TYPE_LABELS {
  return Object.hasOwn(TYPE_LABELS, entryType);
}

const TYPE_LABELS = { domain: "domain", ip: "IP address", email_address: "mailbox" } as const;

/** Formats who created the tenant's entry, and when. */
export function heldWords(before: Standing | undefined): Words {
  const authorText = before?.by === undefined ? [] : say` by ${given(before.by)}`;
  const timeText = before?.at === undefined ? [] : say` on ${day(before.at)}`;
  return authorText.length + timeText.length > 0 ? say`made${authorText}${timeText}` : [];
}

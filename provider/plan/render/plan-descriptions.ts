import { DEFAULT_VERDICT_SCOPE } from "../../model/assumptions";
import { decodePunycode } from "../../model/decode-punycode";
import { getDetailTexts } from "../../model/entry-state-text";
import {
  formatDay,
  formatNumber,
  joinTexts,
  type SafeText,
  safeText,
  untrusted,
  untrustedSentence,
} from "../../render/safe-text";
import type { FileLocation, Finding } from "../../settings-files/finding";
import type { BacktestExample, ExpiredItem, PlanChange, PlanEntryState, UnmanagedItem } from "../plan";

/**
 * Formats an identifier of the service as text: `moved_to_trash` as "moved to trash". Other values stay as they are, as do names that form
 * a link with the following full stop.
 */
export function describeIdentifier(name: string): SafeText {
  if (name === "none") return ["no action"];
  return /^(?!.*www$)[a-z]{1,20}(?:_[a-z]{1,20}){0,4}$/.test(name) ? [name.replaceAll("_", " ")] : [untrusted(name)];
}

/** Formats a threat that the change would have let through. */
export function describeExample({ time, sender, recipient, subject, verdict }: BacktestExample): SafeText {
  const parts: SafeText[] = [];
  if (time !== undefined) parts.push(formatDay(time));
  if (sender !== undefined) parts.push(safeText`from ${describeValue(sender)}`);
  if (recipient !== undefined) parts.push(safeText`to ${untrusted(recipient)}`);
  if (subject !== undefined) parts.push(safeText`subject ${untrusted(subject)}`);
  if (verdict !== undefined) parts.push(describeIdentifier(verdict));
  return joinTexts(parts, ", ");
}

/** Formats a domain or mailbox; adds the Unicode form to punycode. */
export function describeValue(value: string): SafeText {
  const unicode = decodePunycode(value);
  return unicode === undefined ? [untrusted(value)] : safeText`${untrusted(value)} (${untrusted(unicode)})`;
}

export const OPERATION_SYMBOLS = { add: "+", change: "~", remove: "-" } as const;

/** Formats the list: `deny`, `allow → deny`, `VIP`. */
export function formatListName({ kind, list }: { readonly kind: "entry" | "vip"; readonly list?: string }): string {
  return kind === "vip" ? "VIP" : (list ?? "entry");
}

/** Formats an undeclared entry: `allow clicked.example (domain, created by … on 2026-11-02): by hand`. */
export function describeUnmanaged(item: UnmanagedItem): SafeText {
  const details = joinTexts(
    [describeEntryKind(item), describeCreation(item.before)].filter(({ length }) => length > 0),
    ", ",
  );
  return safeText`${formatListName({ ...item.before, kind: item.kind })} ${describeValue(item.value)}${details.length > 0 ? safeText` (${details})` : []}${describeEntryDetails(item.before)}`;
}

/** Formats the details of an entry: `: by hand`. */
export function describeEntryDetails(before: object): SafeText {
  return getDetailTexts(before).flatMap(([name, text]) =>
    name === "comment" ? safeText`: ${untrusted(text)}` : safeText`; ${name} ${untrusted(text)}`,
  );
}

/** Counts hidden undeclared entries: `40 more, 3 of them allows`. */
export function describeHiddenUnmanaged(hidden: readonly UnmanagedItem[]): string {
  const allows = hidden.filter(({ before }) => before.list === "allow").length;
  return `${formatNumber(hidden.length)} more, ${allows === 0 ? "none of them an allow" : `${formatNumber(allows)} of them ${allows === 1 ? "an allow" : "allows"}`}`;
}

/** Formats `allow old.example: expired on 2026-10-31, still at the tenant, settings/acme.yaml:18`. */
export function describeExpired(item: ExpiredItem): SafeText {
  const { value, expires, place, isPresent, isKept } = item;
  const locationText = place === undefined ? [] : safeText`, ${describeLine(place)}`;
  const stateText = !isPresent
    ? "not at the tenant"
    : isKept === true
      ? "still at the tenant, and not removed by the next run"
      : "still at the tenant";
  return safeText`${formatListName(item)} ${describeValue(value)}: expired on ${formatDay(expires)}, ${stateText}${locationText}`;
}

/** Formats `settings/acme.yaml:12`; empty without a location. */
export function describeLine(location: FileLocation | undefined): SafeText {
  return location === undefined ? [] : [untrusted(`${location.file}:${location.line}`)];
}

export const OVERRIDES_HEADING = "Overrides of included files";

export function describeOverride({ place, message }: Finding): SafeText {
  return safeText`${describeLine(place)}${place === undefined ? "" : ": "}${untrustedSentence(message)}`;
}

export function describeFinding({ level, code, message }: Finding): SafeText {
  return safeText`${level} ${untrusted(code)}: ${untrustedSentence(message)}`;
}

/** Formats the type of a value, and its scope if it isn't the default. */
export function describeEntryKind({
  entryType,
  verdictScope,
}: Pick<PlanChange, "entryType" | "verdictScope">): SafeText {
  const type =
    entryType === undefined
      ? undefined
      : isKnownType(entryType)
        ? [TYPE_LABELS[entryType]]
        : safeText`type ${untrusted(entryType)}`;
  const scope =
    verdictScope === undefined || verdictScope === DEFAULT_VERDICT_SCOPE
      ? undefined
      : safeText`scope ${untrusted(verdictScope)}`;
  return joinTexts([...(type === undefined ? [] : [type]), ...(scope === undefined ? [] : [scope])], ", ");
}

function isKnownType(entryType: string): entryType is keyof typeof TYPE_LABELS {
  return Object.hasOwn(TYPE_LABELS, entryType);
}

const TYPE_LABELS = { domain: "domain", ip: "IP address", email_address: "mailbox" } as const;

export function describeCreation(before: PlanEntryState | undefined): SafeText {
  const authorText = before?.createdBy === undefined ? [] : safeText` by ${untrusted(before.createdBy)}`;
  const timeText = before?.createdAt === undefined ? [] : safeText` on ${formatDay(before.createdAt)}`;
  return authorText.length + timeText.length > 0 ? safeText`created${authorText}${timeText}` : [];
}

import { DEFAULT_VERDICT_SCOPE, type List } from "../settings/assumptions";
import { standingOf } from "../settings/entry-fields";
import { parseEntryValue, parseMailbox } from "../settings/entry-value";
import { keyOfEntry, keyOfVip, textOfEntry, textOfVip } from "../settings/keyed-list";
import { withoutUndefined } from "../settings/without-undefined";
import { saidOf } from "./element-fields";
import type { Place } from "./finding";
import type { DeclaredEntry, DeclaredVip } from "./settings";
import type { SettingsFile } from "./settings-schema";

type RawEntry = NonNullable<SettingsFile["allow"]>[number];
type RawVip = NonNullable<SettingsFile["vips"]>[number];

/** Builds an entry from a validated element. */
export function declaredEntry(
  list: List,
  raw: RawEntry,
  place: Place,
  isShort: true | undefined,
): DeclaredEntry {
  const parsed = parseEntryValue(raw.value);
  // The schema has validated the value.
  if (!parsed.ok) throw new TypeError(parsed.reason);
  const { canonical: value, entryType } = parsed.value;
  const verdictScope = raw.scope ?? DEFAULT_VERDICT_SCOPE;
  const key = keyOfEntry({ value, entryType, verdictScope });
  const written = raw.value;
  const overrides = NO_PLACES;
  // Most elements of long lists are short, so omitting fields saves memory.
  if (isShort === true) {
    const text = textOfEntry({ list });
    return {
      kind: "entry",
      key,
      text,
      list,
      value,
      written,
      entryType,
      verdictScope,
      place,
      isShort,
      overrides,
    };
  }
  const about = { list, ...standingOf(raw) };
  return {
    kind: "entry",
    key,
    text: textOfEntry(about),
    ...about,
    value,
    written,
    entryType,
    verdictScope,
    ...saidBeside(raw),
    place,
    overrides,
  };
}

const NO_PLACES: readonly Place[] = Object.freeze([]);

/** Builds a VIP from a validated element. */
export function declaredVip(raw: RawVip, place: Place, isShort: true | undefined): DeclaredVip {
  const email = mailbox(raw.email);
  const about = standingOf(raw);
  return withoutUndefined({
    kind: "vip" as const,
    key: keyOfVip(email),
    text: textOfVip(about),
    email,
    written: raw.email,
    ...about,
    ...saidBeside(raw),
    place,
    isShort,
    overrides: NO_PLACES,
  });
}

function saidBeside({ reviewed, ...raw }: Omit<RawVip, "email">) {
  return { ...saidOf(withoutUndefined(raw)), ...withoutUndefined({ reviewed }) };
}

/** Converts an entry to an element of `AllowDenyList`. */
export function entryArguments(one: DeclaredEntry) {
  const { list, value, verdictScope } = one;
  const scope = verdictScope === DEFAULT_VERDICT_SCOPE ? {} : { verdictScope };
  return { value, ...scope, ...standingOf(one), list };
}

/** Converts a VIP to an element of `VipList`. */
export function memberArguments(one: DeclaredVip) {
  return { email: one.email, ...standingOf(one) };
}

/** Returns the canonical form of a valid value; other text stays unchanged. */
export function canonical(value: string): string {
  const parsed = parseEntryValue(value);
  return parsed.ok ? parsed.value.canonical : value;
}

/** Returns the canonical form of a valid mailbox; other text stays unchanged. */
export function mailbox(email: string): string {
  const parsed = parseMailbox(email);
  return parsed.ok ? parsed.value : email;
}

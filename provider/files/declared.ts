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
export function declaredEntry(list: List, raw: RawEntry, location: Place, isShort: true | undefined): DeclaredEntry {
  const parsed = parseEntryValue(raw.value);
  // The schema has validated the value.
  if (!parsed.ok) throw new TypeError(parsed.reason);
  const { canonical: value, entryType } = parsed.value;
  const verdictScope = raw.scope ?? DEFAULT_VERDICT_SCOPE;
  const key = keyOfEntry({ value, entryType, verdictScope });
  const rawValue = raw.value;
  const overrides = NO_LOCATIONS;
  // Most elements of long lists are short, so omitting fields saves memory.
  if (isShort === true) {
    const text = textOfEntry({ list });
    return {
      kind: "entry",
      key,
      text,
      list,
      value,
      written: rawValue,
      entryType,
      verdictScope,
      place: location,
      isShort,
      overrides,
    };
  }
  const entryState = { list, ...standingOf(raw) };
  return {
    kind: "entry",
    key,
    text: textOfEntry(entryState),
    ...entryState,
    value,
    written: rawValue,
    entryType,
    verdictScope,
    ...getRawMetadata(raw),
    place: location,
    overrides,
  };
}

const NO_LOCATIONS: readonly Place[] = Object.freeze([]);

/** Builds a VIP from a validated element. */
export function declaredVip(raw: RawVip, location: Place, isShort: true | undefined): DeclaredVip {
  const email = mailbox(raw.email);
  const entryState = standingOf(raw);
  return withoutUndefined({
    kind: "vip" as const,
    key: keyOfVip(email),
    text: textOfVip(entryState),
    email,
    written: raw.email,
    ...entryState,
    ...getRawMetadata(raw),
    place: location,
    isShort,
    overrides: NO_LOCATIONS,
  });
}

function getRawMetadata({ reviewed, ...raw }: Omit<RawVip, "email">) {
  return { ...saidOf(withoutUndefined(raw)), ...withoutUndefined({ reviewed }) };
}

/** Converts an entry to an element of `AllowDenyList`. */
export function entryArguments(declaration: DeclaredEntry) {
  const { list, value, verdictScope } = declaration;
  const scope = verdictScope === DEFAULT_VERDICT_SCOPE ? {} : { verdictScope };
  return { value, ...scope, ...standingOf(declaration), list };
}

/** Converts a VIP to an element of `VipList`. */
export function memberArguments(declaration: DeclaredVip) {
  return { email: declaration.email, ...standingOf(declaration) };
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

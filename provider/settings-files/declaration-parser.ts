import { DEFAULT_VERDICT_SCOPE, type List } from "../model/assumptions";
import { encodeEntry, encodeEntryKey, encodeVip, encodeVipKey } from "../model/encoded-list";
import { pickEntryState } from "../model/entry-fields";
import { parseEntryValue, parseMailbox } from "../model/entry-value";
import { omitUndefined } from "../model/omit-undefined";
import { pickMetadata } from "./element-fields";
import type { FileLocation } from "./finding";
import type { DeclaredEntry, DeclaredVip } from "./settings-model";
import type { SettingsFile } from "./settings-schema";

type RawEntry = NonNullable<SettingsFile["allow"]>[number];
type RawVip = NonNullable<SettingsFile["vips"]>[number];

export function parseDeclaredEntry(
  list: List,
  raw: RawEntry,
  location: FileLocation,
  isShort: true | undefined,
): DeclaredEntry {
  const parsed = parseEntryValue(raw.value);
  // The schema has validated the value.
  if (!parsed.ok) throw new TypeError(parsed.reason);
  const { canonical: value, entryType } = parsed.value;
  const verdictScope = raw.scope ?? DEFAULT_VERDICT_SCOPE;
  const key = encodeEntryKey({ value, entryType, verdictScope });
  const rawValue = raw.value;
  const overrides = NO_LOCATIONS;
  // Most elements of long lists are short, so omitting fields saves memory.
  if (isShort === true) {
    const text = encodeEntry({ list });
    return {
      kind: "entry",
      key,
      text,
      list,
      value,
      rawValue,
      entryType,
      verdictScope,
      location,
      isShort,
      overrides,
    };
  }
  const entryState = { list, ...pickEntryState(raw) };
  return {
    kind: "entry",
    key,
    text: encodeEntry(entryState),
    ...entryState,
    value,
    rawValue,
    entryType,
    verdictScope,
    ...getRawMetadata(raw),
    location,
    overrides,
  };
}

const NO_LOCATIONS: readonly FileLocation[] = Object.freeze([]);

export function parseDeclaredVip(raw: RawVip, location: FileLocation, isShort: true | undefined): DeclaredVip {
  const email = normalizeMailbox(raw.email);
  const entryState = pickEntryState(raw);
  return omitUndefined({
    kind: "vip" as const,
    key: encodeVipKey(email),
    text: encodeVip(entryState),
    email,
    rawValue: raw.email,
    ...entryState,
    ...getRawMetadata(raw),
    location,
    isShort,
    overrides: NO_LOCATIONS,
  });
}

function getRawMetadata({ reviewed, seen, ...raw }: Omit<RawVip, "email">) {
  return { ...pickMetadata(omitUndefined(raw)), ...omitUndefined({ reviewed, seen }) };
}

/** Converts an entry to an element of `AllowDenyList`. */
export function toEntryArguments(declaration: DeclaredEntry) {
  const { list, value, verdictScope } = declaration;
  const scope = verdictScope === DEFAULT_VERDICT_SCOPE ? {} : { verdictScope };
  return { value, ...scope, ...pickEntryState(declaration), list };
}

/** Converts a VIP to an element of `VipList`. */
export function toMemberArguments(declaration: DeclaredVip) {
  return { email: declaration.email, ...pickEntryState(declaration) };
}

/** Returns the canonical form of a valid value; other text stays unchanged. */
export function normalizeValue(value: string): string {
  const parsed = parseEntryValue(value);
  return parsed.ok ? parsed.value.canonical : value;
}

/** Returns the canonical form of a valid mailbox; other text stays unchanged. */
export function normalizeMailbox(email: string): string {
  const parsed = parseMailbox(email);
  return parsed.ok ? parsed.value : email;
}

import { DEFAULT_VERDICT_SCOPE, type List } from "../settings/assumptions";
import { parseEntryValue, parseMailbox } from "../settings/entry-value";
import { keyOfEntry, keyOfVip, textOfEntry, textOfVip } from "../settings/keyed-list";
import { canonicalComment } from "../settings/text";
import { withoutUndefined } from "../settings/without-undefined";
import { saidOf } from "./element-fields";
import type { Place } from "./finding";
import type { DeclaredEntry, DeclaredVip } from "./settings";
import type { SettingsFile } from "./settings-schema";

type RawEntry = NonNullable<SettingsFile["allow"]>[number];
type RawVip = NonNullable<SettingsFile["vips"]>[number];

/** An entry as a file declares it, checked already. */
export function declaredEntry(
  list: List,
  raw: RawEntry,
  place: Place,
  isShort: true | undefined,
): DeclaredEntry {
  const parsed = parseEntryValue(raw.value);
  // It was checked just now.
  if (!parsed.ok) throw new TypeError(parsed.reason);
  const { canonical: value, entryType } = parsed.value;
  const verdictScope = raw.scope ?? DEFAULT_VERDICT_SCOPE;
  const key = keyOfEntry({ value, entryType, verdictScope });
  const written = raw.value;
  const overrides = NO_PLACES;
  // As most of a list of thousands are: nothing else is said of them, and they are held as small as can be.
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
  const about = aboutOf(raw);
  const acceptRisk = raw.acceptRisk === undefined ? undefined : canonicalComment(raw.acceptRisk);
  const text = textOfEntry({ list, comment: about.comment, acceptRisk });
  const said = withoutUndefined({ ...about, acceptRisk });
  return {
    kind: "entry",
    key,
    text,
    list,
    value,
    written,
    entryType,
    verdictScope,
    ...said,
    place,
    overrides,
  };
}

const NO_PLACES: readonly Place[] = Object.freeze([]);

/** A VIP, the same. */
export function declaredVip(raw: RawVip, place: Place, isShort: true | undefined): DeclaredVip {
  const email = mailbox(raw.email);
  const about = aboutOf(raw);
  return withoutUndefined({
    kind: "vip" as const,
    key: keyOfVip(email),
    text: textOfVip(about),
    email,
    written: raw.email,
    ...about,
    place,
    isShort,
    overrides: NO_PLACES,
  });
}

function aboutOf({ comment, reviewed, ...raw }: Omit<RawVip, "email">) {
  const text = canonicalComment(comment);
  return { comment: text === "" ? undefined : text, ...saidOf(withoutUndefined(raw)), reviewed };
}

/** An entry as an element of `AllowDenyList`. */
export function entryArguments({ list, value, verdictScope, comment, acceptRisk }: DeclaredEntry) {
  const isDefault = verdictScope === DEFAULT_VERDICT_SCOPE;
  return withoutUndefined({
    list,
    value,
    verdictScope: isDefault ? undefined : verdictScope,
    comment,
    acceptRisk,
  });
}

/** A VIP as an element of `VipList`. */
export function memberArguments({ email, comment }: DeclaredVip) {
  return withoutUndefined({ email, comment });
}

/** The canonical form of what is a value; what is none stays as it is. */
export function canonical(value: string): string {
  const parsed = parseEntryValue(value);
  return parsed.ok ? parsed.value.canonical : value;
}

/** The same of a mailbox. */
export function mailbox(email: string): string {
  const parsed = parseMailbox(email);
  return parsed.ok ? parsed.value : email;
}

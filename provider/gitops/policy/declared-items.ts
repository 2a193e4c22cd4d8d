import { DEFAULT_VERDICT_SCOPE, ENTRY_LISTS } from "../../model/assumptions";
import {
  decodeEntry,
  decodeVip,
  type EncodedList,
  encodeEntryKey,
  encodeVipKey,
  type ListedEntry,
  type ListedVip,
} from "../../model/encoded-list";
import { pickEntryState } from "../../model/entry-fields";
import { parseEntryValue } from "../../model/entry-value";
import { TENANT_SETTINGS_TYPE } from "../../model/tenant-settings-type";
import { canonicalizeComment } from "../../model/text";
import { getUrnTypes, parseResourceKind } from "../../resources/resource-type";

/** A resource as Pulumi's engine passes it to a policy pack. */
export interface PolicyResource {
  /** `pulumi-nodejs:dynamic/email-security:AllowDenyList`, `email-security:index:AllowDenyList`, or another resource type. */
  readonly type: string;
  readonly urn: string;
  /** Its arguments after check; secrets are in plain text. */
  readonly props: Readonly<Record<string, unknown>>;
}

/** An entry that a resource declares. */
export interface EntryInProgram extends ListedEntry {
  readonly kind: "entry";
  /** The display name: the value, with its verdict scope if that isn't the default. */
  readonly key: string;
}

/** A VIP that a resource declares. */
export interface VipInProgram extends ListedVip {
  readonly kind: "vip";
  /** The display name: the mailbox. */
  readonly key: string;
}

/** Returns the entries and VIPs that a resource declares; empty for a resource of another package. */
export function listDeclaredItems({ type, props }: PolicyResource): (EntryInProgram | VipInProgram)[] {
  switch (parseResourceKind(type)) {
    case "AllowDenyList":
      return Object.entries((props["entries"] ?? {}) as EncodedList).flatMap(([key, text]) => {
        const entry = decodeEntry(key, text);
        return entry === undefined ? [] : [{ kind: "entry", key, ...entry }];
      });
    case "AllowDenyEntry":
      return readSingleEntry(props);
    case "VipList":
      return Object.entries((props["members"] ?? {}) as EncodedList).map(([email, text]) => {
        const key = encodeVipKey(email);
        return { kind: "vip", key, ...decodeVip(key, text) };
      });
    case "VipEmployee":
      return [readSingleVip(props)];
    case undefined:
      return [];
  }
}

/**
 * Returns whether a resource comes from settings files (`TenantSettings`). Their tickets, owners and expiry dates are only in the files,
 * where `email-security lint` enforces the team's policy.
 */
export function isFromSettingsFiles({ urn }: Pick<PolicyResource, "urn">): boolean {
  return getUrnTypes(urn).at(-2) === TENANT_SETTINGS_TYPE;
}

function readSingleEntry(props: PolicyResource["props"]): EntryInProgram[] {
  const list = ENTRY_LISTS.find((entryList) => entryList === props["list"]);
  const parsed = parseEntryValue(getText(props, "value") ?? "");
  if (list === undefined || !parsed.ok) return [];
  const { canonical: value, entryType } = parsed.value;
  const verdictScope = getText(props, "verdictScope") ?? DEFAULT_VERDICT_SCOPE;
  return [
    {
      kind: "entry",
      key: encodeEntryKey({ value, entryType, verdictScope }),
      ...pickEntryState(props),
      list,
      value,
      entryType,
      verdictScope,
    },
  ];
}

function readSingleVip(props: PolicyResource["props"]): VipInProgram {
  const key = encodeVipKey(getText(props, "email") ?? "");
  return { kind: "vip", key, email: key, ...pickEntryState(props) };
}

/** Returns a non-empty text in canonical form. */
function getText(props: PolicyResource["props"], name: string): string | undefined {
  const value = props[name];
  const text = typeof value === "string" ? canonicalizeComment(value) : "";
  return text === "" ? undefined : text;
}

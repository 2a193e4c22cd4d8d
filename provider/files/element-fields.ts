import type { DeclaredEntry, DeclaredVip } from "./settings";
import type { SettingsFile } from "./settings-schema";

/** What code that iterates over the fields of a settings file's elements needs to know of one. */
interface ElementField {
  /** What people call it. */
  readonly label: string;
  /** The titles of its column in a table, in lower case and without spaces. */
  readonly columns: readonly string[];
  /** Whether only entries have it. Default: VIPs have it too. */
  readonly isOfEntries?: true;
  /** Whether it stands beside what is declared: the service is never sent it, and a whole list's text doesn't hold it. */
  readonly isSaid?: true;
}

type Element = NonNullable<SettingsFile["allow"]>[number];

/**
 * What a settings file says of an entry or a VIP beside its value or mailbox, in the order in which it is written. Without a field of the
 * format, this doesn't compile.
 */
export const ELEMENT_FIELDS = {
  comment: {
    label: "comment",
    columns: ["comment", "comments", "reason", "note", "notes", "description", "why"],
  },
  ticket: {
    label: "ticket",
    columns: ["ticket", "tickets", "ticketnumber", "incident", "change", "case"],
    isSaid: true,
  },
  owner: { label: "owner", columns: ["owner", "requestedby", "requester", "responsible"], isSaid: true },
  approvedBy: { label: "approved by", columns: ["approvedby", "approver", "approval"], isSaid: true },
  expires: {
    label: "ends",
    columns: [
      "expires",
      "expiry",
      "expireson",
      "expiresat",
      "expiration",
      "expirationdate",
      "expirydate",
      "validuntil",
      "until",
      "enddate",
    ],
    isSaid: true,
  },
  scope: { label: "scope", columns: ["scope", "verdictscope"], isOfEntries: true },
  type: { label: "type", columns: ["type", "entrytype", "kind"], isOfEntries: true },
  acceptRisk: {
    label: "accepted",
    columns: ["acceptrisk", "acceptedrisk", "riskaccepted", "riskacceptance"],
    isOfEntries: true,
  },
} as const satisfies Readonly<Record<Exclude<keyof Element, "value" | "reviewed">, ElementField>>;

export type ElementFieldName = keyof typeof ELEMENT_FIELDS;

/** A field that isn't part of what an entry is, but stands beside it. */
export type SaidFieldName = {
  [Name in ElementFieldName]: (typeof ELEMENT_FIELDS)[Name] extends { readonly isSaid: true } ? Name : never;
}[ElementFieldName];

/** A field under whose name {@link DeclaredEntry} has a text; scope and type are told by what the entry is. */
export type TextFieldName = Exclude<ElementFieldName, "scope" | "type">;

export const ELEMENT_FIELD_NAMES = Object.keys(ELEMENT_FIELDS) as readonly ElementFieldName[];

/** The fields that stand beside what is declared. */
export const SAID_FIELD_NAMES = ELEMENT_FIELD_NAMES.filter(
  (name): name is SaidFieldName => "isSaid" in ELEMENT_FIELDS[name],
);

/** The fields that a declaration has as texts. */
export const TEXT_FIELD_NAMES = ELEMENT_FIELD_NAMES.filter(
  (name): name is TextFieldName => name !== "scope" && name !== "type",
);

export function isOfEntries(name: ElementFieldName): boolean {
  return "isOfEntries" in ELEMENT_FIELDS[name];
}

/** Returns what stands beside something that is declared. */
export function saidOf(one: Partial<Record<SaidFieldName, string>>): Partial<Record<SaidFieldName, string>> {
  return pickTexts(one, SAID_FIELD_NAMES);
}

/** Returns all that is declared of an entry or a VIP in texts. */
export function textsOf(one: DeclaredEntry | DeclaredVip): Partial<Record<TextFieldName, string>> {
  return pickTexts(one as DeclaredEntry, TEXT_FIELD_NAMES);
}

function pickTexts<Name extends string>(
  one: Partial<Record<Name, string>>,
  names: readonly Name[],
): Partial<Record<Name, string>> {
  const texts: Partial<Record<Name, string>> = {};
  for (const name of names) {
    const text = one[name];
    if (text !== undefined) texts[name] = text;
  }
  return texts;
}

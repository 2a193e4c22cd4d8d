import { z } from "zod";
import type { AllowDenyEntryInputs, allowDenyEntryArguments, vipEmployeeArguments } from "./arguments";
import { DEFAULT_VERDICT_SCOPE, LISTS } from "./assumptions";
import { comparable, comparableComment } from "./comparable";
import { canonicalMailbox, canonicalValue } from "./entry-value";
import { text } from "./json-fields";
import { canonicalComment, harmless, printable } from "./text";

/** What code that iterates over the fields of an entry or a VIP needs to know of one. */
export interface Field {
  /** Its name in requests and answers (reference, sections "Allow/deny list" and "VIP employees"). Absent: it is never sent. */
  readonly wire?: string;
  /** How a change is made: in place, by a replacement, or not at all, since it is an option of the run. */
  readonly change: "in place" | "replace" | "none";
  /** Where a whole list holds it: in the key of an entry, or in the text of the key. Absent: it is no part of a list's content. */
  readonly listedIn?: "key" | "text";
  /** The form in which a plan shows it; undefined for none. Default: the value itself. */
  readonly canonical?: (value: unknown) => unknown;
  /** The form in which two values are compared; undefined for none. Default: the value itself. */
  readonly comparable?: (value: unknown) => unknown;
  /** The value that is sent to clear it. Default: it can't be cleared. */
  readonly cleared?: unknown;
  /** Whether a service that doesn't return it holds what is declared. Default: then the service holds none. */
  readonly isOptionalInAnswers?: true;
  /** Whether arguments that declare a value leave it out: a default, or inferred from another. Default: never. */
  readonly isImplied?: (value: unknown) => boolean;
  /** The form in which a value from the service goes into state. Default: printable. */
  readonly shown?: (text: string) => string;
  /** Its name between brackets in the text of a whole list, `(risk accepted: …)`. Absent: it has its own place in key or text. */
  readonly bracket?: string;
}

const plainText = {
  listedIn: "text",
  canonical: (text) => (typeof text === "string" && canonicalComment(text)) || undefined,
  comparable: comparableComment,
} as const satisfies Partial<Field>;

const comment = {
  ...plainText,
  wire: "comment",
  change: "in place",
  cleared: "",
  shown: harmless,
} as const;

/** The arguments of an allow/deny entry. Without one of them, this doesn't compile. */
export const ENTRY_FIELDS = {
  value: {
    listedIn: "key",
    wire: "value",
    change: "replace",
    comparable: (value) => comparable(value, canonicalValue),
  },
  entryType: { listedIn: "key", wire: "entry_type", change: "replace", isImplied: () => true },
  list: {
    listedIn: "text",
    wire: "list",
    change: "in place",
    canonical: (list) => LISTS.find((known) => known === list),
  },
  verdictScope: {
    listedIn: "key",
    wire: "verdict_scope",
    change: "in place",
    isOptionalInAnswers: true,
    isImplied: (value) => value === DEFAULT_VERDICT_SCOPE,
  },
  comment,
  acceptRisk: { ...plainText, change: "in place", bracket: "risk accepted" },
  adopt: { change: "none" },
} as const satisfies Record<keyof z.infer<typeof allowDenyEntryArguments>, Field>;

/** The arguments of a VIP. Without one of them, this doesn't compile. */
export const VIP_FIELDS = {
  email: {
    listedIn: "key",
    wire: "email",
    change: "replace",
    comparable: (email) => comparable(email, canonicalMailbox),
  },
  comment,
  onDelete: { change: "in place" },
} as const satisfies Record<keyof z.infer<typeof vipEmployeeArguments>, Field>;

type EntryFields = typeof ENTRY_FIELDS;

/** The names of the fields that are in the text of a whole list. Those of a VIP are among them. */
type EntryStateField = {
  [Name in keyof EntryFields]: EntryFields[Name] extends { readonly listedIn: "text" } ? Name : never;
}[keyof EntryFields];

/** An entry or a VIP beside its key: what the text of a whole list holds. */
export type Standing = Readonly<Partial<Pick<AllowDenyEntryInputs, EntryStateField>>>;

/** An element of a settings file: its value or mailbox, and what is said of it under the names of the fields. */
export type Element = Readonly<Record<string, NonNullable<Standing[EntryStateField]>>> & {
  readonly [Name in "value" | "email" | "scope" | "acceptRisk"]?: string;
};

/** The same in JSON. Without a field, this doesn't compile. */
export const standingJson = {
  list: z.enum(LISTS).describe("Only of entries.").exactOptional(),
  comment: z.string().exactOptional(),
  acceptRisk: text("Why its risk is accepted.").exactOptional(),
} satisfies Record<EntryStateField, z.ZodType>;

/** Those that the service is sent, all under the same names: else this doesn't compile, and a row is no standing. */
type SentField = {
  [Name in EntryStateField]: EntryFields[Name] extends { readonly wire: infer Wire } ? Wire : never;
}[EntryStateField];

type Fields = Readonly<Record<string, Field>>;
type Values = Readonly<Record<string, unknown>>;

/** The fields of a {@link Standing}; of thousands of entries each is looked at, so they are looked up once. */
const ENTRY_STATE_FIELDS = Object.entries<Field>(ENTRY_FIELDS).filter(
  ([, { listedIn }]) => listedIn === "text",
);
const SENT_FIELDS = ENTRY_STATE_FIELDS.filter(([, { wire }]) => wire !== undefined);

/** What the service is sent of it in JSON. */
export const sentJson = pick(
  standingJson,
  SENT_FIELDS.map(([name]) => name),
) as Pick<typeof standingJson, SentField>;

/** What stands beside the key of something that is declared, or of a row of the service, in the form in which a plan shows it. */
export function standingOf(source: object): Standing {
  return pickCanonicalValues(ENTRY_STATE_FIELDS, source);
}

/** What of it the service is sent. */
export function sentOf(entryState: object): Pick<Standing, SentField> {
  return pickCanonicalValues(SENT_FIELDS, entryState);
}

type SentState = { readonly [Name in SentField]?: unknown };

/** Whether two are the same to the service, in which each may be declared or a row. */
export function isSameStanding(one: SentState | undefined, other: SentState | undefined): boolean {
  if (one === undefined || other === undefined) return one === other;
  return SENT_FIELDS.every(([name, field]) =>
    isSameValue(field, (one as Values)[name], (other as Values)[name]),
  );
}

export type DetailName = Exclude<SentField, "list">;

/** What the service is told of an entry or a VIP beside its list. */
export const DETAIL_NAMES = SENT_FIELDS.flatMap(([name]) => (name === "list" ? [] : [name as DetailName]));

/** Those of which two say something else. */
export function differingDetails(one: SentState, other: SentState): readonly DetailName[] {
  return DETAIL_NAMES.filter((name) => !isSameValue(ENTRY_FIELDS[name], one[name], other[name]));
}

/** What of it the service is sent, in the form in which two are compared; nothing is an empty text. */
export function comparedValues(entryState: SentState): readonly unknown[] {
  return SENT_FIELDS.map(
    ([name, { comparable = returnUnchanged }]) => comparable((entryState as Values)[name]) ?? "",
  );
}

function pickCanonicalValues(fields: typeof ENTRY_STATE_FIELDS, values: object): Standing {
  const entryState: Record<string, unknown> = {};
  for (const [name, { canonical = returnUnchanged }] of fields) {
    const value = canonical((values as Values)[name]);
    if (value !== undefined) entryState[name] = value;
  }
  return entryState;
}

/** Whether two values of a field are the same. A value that a preview doesn't know yet differs from every other. */
export function isSameValue({ comparable = returnUnchanged }: Field, one: unknown, other: unknown): boolean {
  return one === other || comparable(one) === comparable(other);
}

/** The names of the fields whose values differ, without options of the run. */
export function differingFields(fields: Fields, one: Values, other: Values): readonly string[] {
  return filterFieldNames(
    fields,
    (field, name) => field.change !== "none" && !isSameValue(field, one[name], other[name]),
  );
}

/** The values that say something, as an empty comment doesn't; without options of the run. */
export function valuesOf(
  fields: Fields,
  values: Values,
  isIncluded: (field: Field, value: unknown) => boolean = () => true,
): Record<string, unknown> {
  const names = filterFieldNames(
    fields,
    (field, name) =>
      field.change !== "none" && !isEmptyValue(field, values[name]) && isIncluded(field, values[name]),
  );
  return pick(values, names);
}

/** The same values without those that a program leaves out: defaults, and what is inferred. */
export function declaredValues(fields: Fields, values: Values): Record<string, unknown> {
  return valuesOf(fields, values, ({ isImplied }, value) => isImplied?.(value) !== true);
}

/** The values that are never sent to the service. */
export function unsentValues(fields: Fields, values: Values): Record<string, unknown> {
  return valuesOf(fields, values, ({ wire }) => wire === undefined);
}

/** A state with the arguments that a run takes over without a request: what is never sent, and the spelling of what is. */
export function withArguments<State extends object>(fields: Fields, state: State, inputs: object): State {
  const names = filterFieldNames(fields, ({ wire, change }) => wire === undefined || change === "replace");
  const otherFields = Object.entries(state).filter(([name]) => !names.includes(name));
  const argumentValues = valuesOf(
    Object.fromEntries(names.map((name) => [name, fields[name] as Field])),
    inputs as Values,
  );
  return { ...Object.fromEntries(otherFields), ...argumentValues } as State;
}

/** Whether two argument objects ask the same of the service. */
export function isSentAlike(fields: Fields, one: Values, other: Values): boolean {
  return !differingFields(fields, one, other).some((name) => isSentInChange(fields[name] as Field));
}

function isSentInChange({ wire, change }: Field): boolean {
  return wire !== undefined && change === "in place";
}

/** Whether two rows are the same in all that a change in place could have changed. */
export function isSameRow(fields: Fields, one: object, other: object): boolean {
  return Object.values(fields).every((field) => {
    const { wire = "" } = field;
    return !isSentInChange(field) || isSameValue(field, (one as Values)[wire], (other as Values)[wire]);
  });
}

/** The body of a request that changes what the service holds to what is declared. */
export function changeBody(fields: Fields, stored: Values, inputs: Values): Record<string, unknown> {
  const body: Record<string, unknown> = {};
  for (const [name, field] of Object.entries(fields)) {
    if (field.wire === undefined || !isSentInChange(field)) continue;
    const desired = inputs[name];
    const actual = stored[field.wire] ?? (field.isOptionalInAnswers ? desired : undefined);
    if (!isSameValue(field, actual, desired))
      body[field.wire] = isEmptyValue(field, desired) ? field.cleared : desired;
  }
  return body;
}

/** The body of a request that creates what is declared. Another spelling would be another row where a service compares values literally. */
export function createBody(fields: Fields, inputs: Values): Record<string, unknown> {
  const body: Record<string, unknown> = {};
  for (const [name, { wire, change, comparable = returnUnchanged }] of Object.entries(fields)) {
    const value = comparable(inputs[name]);
    if (wire !== undefined && value !== undefined) body[wire] = change === "replace" ? value : inputs[name];
  }
  return body;
}

/**
 * What a row of the service says, by the names of the arguments: as written where it says the same.
 *
 * @param declared what was declared, or the state has.
 */
export function valuesOfRow(fields: Fields, row: Values, declared: Values): Record<string, unknown> {
  const values: Record<string, unknown> = {};
  for (const [name, field] of Object.entries(fields)) {
    if (field.wire === undefined) continue;
    const actual = row[field.wire] ?? (field.isOptionalInAnswers ? declared[name] : undefined);
    const value = isSameValue(field, actual, declared[name]) ? declared[name] : formatRowValue(field, actual);
    if (!isEmptyValue(field, value)) values[name] = value;
  }
  return values;
}

function formatRowValue({ shown = printable }: Field, value: unknown): unknown {
  return typeof value === "string" ? shown(value) : value;
}

function isEmptyValue({ comparable = returnUnchanged }: Field, value: unknown): boolean {
  return comparable(value) === undefined;
}

function returnUnchanged(value: unknown): unknown {
  return value;
}

function filterFieldNames(
  fields: Fields,
  isSelected: (field: Field, name: string) => boolean,
): readonly string[] {
  return Object.keys(fields).filter((name) => isSelected(fields[name] as Field, name));
}

function pick(values: Values, names: readonly string[]): Record<string, unknown> {
  return Object.fromEntries(names.map((name) => [name, values[name]]));
}

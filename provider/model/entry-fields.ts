import { z } from "zod";
import type { AllowDenyEntryInputs, allowDenyEntryArguments, vipEmployeeArguments } from "./arguments";
import { DEFAULT_VERDICT_SCOPE, ENTRY_LISTS } from "./assumptions";
import { toComparable, toComparableComment } from "./compare-arguments";
import { canonicalizeMailbox, canonicalizeValue } from "./entry-value";
import { jsonTextField } from "./json-schema-builders";
import { canonicalizeComment, sanitizeLine, sanitizeMultiline } from "./text";

export interface FieldDefinition {
  /**
   * The name in requests and responses (API reference, sections "Allow/deny list" and "VIP employees"). Absent if the field is never sent.
   */
  readonly wire?: string;
  /** How a change is applied: in place, by replacement, or not at all for an option of the run. */
  readonly change: "in place" | "replace" | "none";
  /** Where a whole list stores the field: in the key of an entry, or in the text of that key. Absent if lists don't store it. */
  readonly listedIn?: "key" | "text";
  /** Converts a value to the form shown in a plan. Undefined if there is no value. Default: the value itself. */
  readonly canonical?: (value: unknown) => unknown;
  /** Converts a value to the form used for comparison. Undefined if there is no value. Default: the value itself. */
  readonly comparable?: (value: unknown) => unknown;
  /** The value to send to clear the field. Default: the field can't be cleared. */
  readonly cleared?: unknown;
  /** Whether a response without the field means that the service holds the declared value. Default: a missing field has no value. */
  readonly isOptionalInAnswers?: true;
  /** Whether declared arguments can omit a value because it is a default or is inferred. Default: never. */
  readonly isImplied?: (value: unknown) => boolean;
  /** Converts a value from the service to the form stored in state. Default: printable text. */
  readonly shown?: (text: string) => string;
  /**
   * The name between brackets in the text of a whole list, `(risk accepted: …)`. Absent if the field has its own place in the key or text.
   */
  readonly bracket?: string;
}

const plainText = {
  listedIn: "text",
  canonical: (text) => (typeof text === "string" && canonicalizeComment(text)) || undefined,
  comparable: toComparableComment,
} as const satisfies Partial<FieldDefinition>;

const comment = {
  ...plainText,
  wire: "comment",
  change: "in place",
  cleared: "",
  shown: sanitizeMultiline,
} as const;

/** The arguments of an allow/deny entry. A missing argument is a compile error. */
export const ENTRY_FIELD_DEFINITIONS = {
  value: {
    listedIn: "key",
    wire: "value",
    change: "replace",
    comparable: (value) => toComparable(value, canonicalizeValue),
  },
  entryType: { listedIn: "key", wire: "entry_type", change: "replace", isImplied: () => true },
  list: {
    listedIn: "text",
    wire: "list",
    change: "in place",
    canonical: (list) => ENTRY_LISTS.find((known) => known === list),
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
} as const satisfies Record<keyof z.infer<typeof allowDenyEntryArguments>, FieldDefinition>;

export const VIP_FIELD_DEFINITIONS = {
  email: {
    listedIn: "key",
    wire: "email",
    change: "replace",
    comparable: (email) => toComparable(email, canonicalizeMailbox),
  },
  comment,
  onDelete: { change: "in place" },
} as const satisfies Record<keyof z.infer<typeof vipEmployeeArguments>, FieldDefinition>;

type EntryFields = typeof ENTRY_FIELD_DEFINITIONS;

/** The names of the fields that the text of a whole list holds. The VIP fields are a subset. */
type EntryStateField = {
  [Name in keyof EntryFields]: EntryFields[Name] extends { readonly listedIn: "text" } ? Name : never;
}[keyof EntryFields];

/** The state of an entry or a VIP without its key, as the text of a whole list holds it. */
export type EntryState = Readonly<Partial<Pick<AllowDenyEntryInputs, EntryStateField>>>;

export type SettingsElement = Readonly<Record<string, NonNullable<EntryState[EntryStateField]>>> & {
  readonly [Name in "value" | "email" | "scope" | "acceptRisk"]?: string;
};

export const entryStateShape = {
  list: z.enum(ENTRY_LISTS).describe("Only for entries.").exactOptional(),
  comment: z.string().exactOptional(),
  acceptRisk: jsonTextField("The reason to accept its risk.").exactOptional(),
} satisfies Record<EntryStateField, z.ZodType>;

/**
 * The names of the fields sent to the service. Each must equal its wire name, or the code doesn't compile: rows are used as entry states.
 */
type SentField = {
  [Name in EntryStateField]: EntryFields[Name] extends { readonly wire: infer Wire } ? Wire : never;
}[EntryStateField];

type Fields = Readonly<Record<string, FieldDefinition>>;
type Values = Readonly<Record<string, unknown>>;

/** The fields of a {@link EntryState}, computed once because lists have thousands of entries. */
const ENTRY_STATE_FIELDS = Object.entries<FieldDefinition>(ENTRY_FIELD_DEFINITIONS).filter(
  ([, { listedIn }]) => listedIn === "text",
);
const SENT_FIELDS = ENTRY_STATE_FIELDS.filter(([, { wire }]) => wire !== undefined);

export const sentFieldsShape = pick(
  entryStateShape,
  SENT_FIELDS.map(([name]) => name),
) as Pick<typeof entryStateShape, SentField>;

/** Returns the state of a declared item or a service row without its key, in the form shown in a plan. */
export function pickEntryState(source: object): EntryState {
  return pickCanonicalValues(ENTRY_STATE_FIELDS, source);
}

export function pickSentFields(entryState: object): Pick<EntryState, SentField> {
  return pickCanonicalValues(SENT_FIELDS, entryState);
}

type SentState = { readonly [Name in SentField]?: unknown };

/** Whether the service treats two states as equal. Each may be declared or a row of the service. */
export function isSameEntryState(a: SentState | undefined, b: SentState | undefined): boolean {
  if (a === undefined || b === undefined) return a === b;
  return SENT_FIELDS.every(([name, field]) => isSameValue(field, (a as Values)[name], (b as Values)[name]));
}

export type DetailName = Exclude<SentField, "list">;

/** The names of the fields sent to the service, except the list. */
export const DETAIL_NAMES = SENT_FIELDS.flatMap(([name]) => (name === "list" ? [] : [name as DetailName]));

/** Returns all details of a state or row, to replace those of another one. A missing detail is undefined. */
export function getDetailValues<Source extends { readonly [Name in DetailName]?: unknown }>(
  source: Source,
): DetailValues<Source> {
  return Object.fromEntries(DETAIL_NAMES.map((name) => [name, source[name]])) as DetailValues<Source>;
}

/** The details of a source. A detail that it can't have is undefined. */
type DetailValues<Source> = {
  readonly [Name in DetailName]: Name extends keyof Source ? Source[Name] | undefined : undefined;
};

/** Returns the names of the details that differ. */
export function findDifferingDetails(a: SentState, b: SentState): readonly DetailName[] {
  return DETAIL_NAMES.filter((name) => !isSameValue(ENTRY_FIELD_DEFINITIONS[name], a[name], b[name]));
}

/** Returns the values sent to the service, in the form used for comparison. A missing value becomes an empty text. */
export function getComparableValues(entryState: SentState): readonly unknown[] {
  return SENT_FIELDS.map(([name, { comparable = returnUnchanged }]) => comparable((entryState as Values)[name]) ?? "");
}

function pickCanonicalValues(fields: typeof ENTRY_STATE_FIELDS, values: object): EntryState {
  const entryState: Record<string, unknown> = {};
  for (const [name, { canonical = returnUnchanged }] of fields) {
    const value = canonical((values as Values)[name]);
    if (value !== undefined) entryState[name] = value;
  }
  return entryState;
}

/** Whether two values of a field are equal. A value unknown during a preview differs from every other value. */
export function isSameValue({ comparable = returnUnchanged }: FieldDefinition, a: unknown, b: unknown): boolean {
  return a === b || comparable(a) === comparable(b);
}

/** Returns the names of the fields whose values differ, without options of the run. */
export function findDifferingFields(fields: Fields, a: Values, b: Values): readonly string[] {
  return filterFieldNames(fields, (field, name) => field.change !== "none" && !isSameValue(field, a[name], b[name]));
}

/** Returns the values that are set, without options of the run. An empty comment counts as not set. */
export function pickValues(
  fields: Fields,
  values: Values,
  isIncluded: (field: FieldDefinition, value: unknown) => boolean = () => true,
): Record<string, unknown> {
  const names = filterFieldNames(
    fields,
    (field, name) => field.change !== "none" && !isEmptyValue(field, values[name]) && isIncluded(field, values[name]),
  );
  return pick(values, names);
}

/** Returns the values that a program declares, without defaults and inferred values. */
export function pickDeclaredValues(fields: Fields, values: Values): Record<string, unknown> {
  return pickValues(fields, values, ({ isImplied }, value) => isImplied?.(value) !== true);
}

/** Returns the values that are never sent to the service. */
export function pickUnsentValues(fields: Fields, values: Values): Record<string, unknown> {
  return pickValues(fields, values, ({ wire }) => wire === undefined);
}

/**
 * Returns a state with the arguments that take effect without a request: fields that are never sent, and a new spelling of fields that
 * require replacement.
 */
export function applyArguments<State extends object>(fields: Fields, state: State, inputs: object): State {
  const names = filterFieldNames(fields, ({ wire, change }) => wire === undefined || change === "replace");
  const otherFields = Object.entries(state).filter(([name]) => !names.includes(name));
  const argumentValues = pickValues(
    Object.fromEntries(names.map((name) => [name, fields[name] as FieldDefinition])),
    inputs as Values,
  );
  return { ...Object.fromEntries(otherFields), ...argumentValues } as State;
}

/** Whether two sets of arguments agree in every field that an in-place change sends. */
export function areSentFieldsEqual(fields: Fields, a: Values, b: Values): boolean {
  return !findDifferingFields(fields, a, b).some((name) => isSentInChange(fields[name] as FieldDefinition));
}

function isSentInChange({ wire, change }: FieldDefinition): boolean {
  return wire !== undefined && change === "in place";
}

/** Whether two rows agree in every field that an in-place change could modify. */
export function isSameRow(fields: Fields, a: object, b: object): boolean {
  return Object.values(fields).every((field) => {
    const { wire = "" } = field;
    return !isSentInChange(field) || isSameValue(field, (a as Values)[wire], (b as Values)[wire]);
  });
}

export function buildChangeBody(fields: Fields, stored: Values, inputs: Values): Record<string, unknown> {
  const body: Record<string, unknown> = {};
  for (const [name, field] of Object.entries(fields)) {
    if (field.wire === undefined || !isSentInChange(field)) continue;
    const desired = inputs[name];
    const actual = stored[field.wire] ?? (field.isOptionalInAnswers ? desired : undefined);
    if (!isSameValue(field, actual, desired)) body[field.wire] = isEmptyValue(field, desired) ? field.cleared : desired;
  }
  return body;
}

/**
 * Builds the request body that creates a declared item. Fields that require replacement are sent in canonical form, because a service that
 * compares values literally would treat another spelling as another row.
 */
export function buildCreateBody(fields: Fields, inputs: Values): Record<string, unknown> {
  const body: Record<string, unknown> = {};
  for (const [name, { wire, change, comparable = returnUnchanged }] of Object.entries(fields)) {
    const value = comparable(inputs[name]);
    if (wire !== undefined && value !== undefined) body[wire] = change === "replace" ? value : inputs[name];
  }
  return body;
}

/**
 * Returns the values of a service row by argument name. A value that is equivalent to the declared one keeps the declared spelling.
 *
 * @param declared the declared values, or those in the state.
 */
export function pickRowValues(fields: Fields, row: Values, declared: Values): Record<string, unknown> {
  const values: Record<string, unknown> = {};
  for (const [name, field] of Object.entries(fields)) {
    if (field.wire === undefined) continue;
    const actual = row[field.wire] ?? (field.isOptionalInAnswers ? declared[name] : undefined);
    const value = isSameValue(field, actual, declared[name]) ? declared[name] : formatRowValue(field, actual);
    if (!isEmptyValue(field, value)) values[name] = value;
  }
  return values;
}

/** Returns the values by their names in a service row: the inverse of {@link pickRowValues}. */
export function buildRowValues(fields: Fields, values: Values): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(fields).flatMap(([name, { wire }]) => (wire === undefined ? [] : [[wire, values[name]]])),
  );
}

function formatRowValue({ shown = sanitizeLine }: FieldDefinition, value: unknown): unknown {
  return typeof value === "string" ? shown(value) : value;
}

function isEmptyValue({ comparable = returnUnchanged }: FieldDefinition, value: unknown): boolean {
  return comparable(value) === undefined;
}

function returnUnchanged(value: unknown): unknown {
  return value;
}

function filterFieldNames(
  fields: Fields,
  isSelected: (field: FieldDefinition, name: string) => boolean,
): readonly string[] {
  return Object.keys(fields).filter((name) => isSelected(fields[name] as FieldDefinition, name));
}

function pick(values: Values, names: readonly string[]): Record<string, unknown> {
  return Object.fromEntries(names.map((name) => [name, values[name]]));
}

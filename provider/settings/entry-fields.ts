import type { z } from "zod";
import type { allowDenyEntryArguments, vipEmployeeArguments } from "./arguments";
import { DEFAULT_VERDICT_SCOPE } from "./assumptions";
import { comparable, comparableComment } from "./comparable";
import { canonicalMailbox, canonicalValue } from "./entry-value";
import { harmless, printable } from "./text";

/** What code that iterates over the fields of an entry or a VIP needs to know of one. */
export interface Field {
  /** Its name in requests and answers (reference, sections "Allow/deny list" and "VIP employees"). Absent: it is never sent. */
  readonly wire?: string;
  /** How a change is made: in place, by a replacement, or not at all, since it is an option of the run. */
  readonly change: "in place" | "replace" | "none";
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

const comment = {
  wire: "comment",
  change: "in place",
  comparable: comparableComment,
  cleared: "",
  shown: harmless,
} as const;

/** The arguments of an allow/deny entry. Without one of them, this doesn't compile. */
export const ENTRY_FIELDS = {
  value: { wire: "value", change: "replace", comparable: (value) => comparable(value, canonicalValue) },
  entryType: { wire: "entry_type", change: "replace", isImplied: () => true },
  list: { wire: "list", change: "in place" },
  verdictScope: {
    wire: "verdict_scope",
    change: "in place",
    isOptionalInAnswers: true,
    isImplied: (value) => value === DEFAULT_VERDICT_SCOPE,
  },
  comment,
  acceptRisk: { change: "in place", comparable: comparableComment, bracket: "risk accepted" },
  adopt: { change: "none" },
} as const satisfies Record<keyof z.infer<typeof allowDenyEntryArguments>, Field>;

/** The arguments of a VIP. Without one of them, this doesn't compile. */
export const VIP_FIELDS = {
  email: { wire: "email", change: "replace", comparable: (email) => comparable(email, canonicalMailbox) },
  comment,
  onDelete: { change: "in place" },
} as const satisfies Record<keyof z.infer<typeof vipEmployeeArguments>, Field>;

type Fields = Readonly<Record<string, Field>>;
type Values = Readonly<Record<string, unknown>>;

/** Whether two values of a field are the same. A value that a preview doesn't know yet differs from every other. */
export function isSameValue({ comparable = same }: Field, one: unknown, other: unknown): boolean {
  return one === other || comparable(one) === comparable(other);
}

/** The names of the fields whose values differ, without options of the run. */
export function differingFields(fields: Fields, one: Values, other: Values): readonly string[] {
  return namesOf(
    fields,
    (field, name) => field.change !== "none" && !isSameValue(field, one[name], other[name]),
  );
}

/** The values that say something, as an empty comment doesn't; without options of the run. */
export function valuesOf(fields: Fields, from: Values): Record<string, unknown> {
  return pick(
    from,
    namesOf(fields, (field, name) => field.change !== "none" && !isNone(field, from[name])),
  );
}

/** The same values without those that a program leaves out: defaults, and what is inferred. */
export function declaredValues(fields: Fields, from: Values): Record<string, unknown> {
  const values = valuesOf(fields, from);
  return pick(
    values,
    Object.keys(values).filter((name) => fields[name]?.isImplied?.(values[name]) !== true),
  );
}

/** The values that are never sent to the service. */
export function unsentValues(fields: Fields, from: Values): Record<string, unknown> {
  const values = valuesOf(fields, from);
  return pick(
    values,
    Object.keys(values).filter((name) => fields[name]?.wire === undefined),
  );
}

/** A state with the arguments that a run takes over without a request: what is never sent, and the spelling of what is. */
export function withArguments<State extends object>(fields: Fields, state: State, inputs: object): State {
  const names = namesOf(fields, ({ wire, change }) => wire === undefined || change === "replace");
  const others = Object.entries(state).filter(([name]) => !names.includes(name));
  const own = valuesOf(
    Object.fromEntries(names.map((name) => [name, fields[name] as Field])),
    inputs as Values,
  );
  return { ...Object.fromEntries(others), ...own } as State;
}

/** Whether two argument objects ask the same of the service. */
export function isSentAlike(fields: Fields, one: Values, other: Values): boolean {
  return !differingFields(fields, one, other).some((name) => isSent(fields[name] as Field));
}

function isSent({ wire, change }: Field): boolean {
  return wire !== undefined && change === "in place";
}

/** The body of a request that changes what the service holds to what is declared. */
export function changeBody(fields: Fields, held: Values, inputs: Values): Record<string, unknown> {
  const body: Record<string, unknown> = {};
  for (const [name, field] of Object.entries(fields)) {
    if (field.wire === undefined || !isSent(field)) continue;
    const wanted = inputs[name];
    const there = held[field.wire] ?? (field.isOptionalInAnswers ? wanted : undefined);
    if (!isSameValue(field, there, wanted)) body[field.wire] = isNone(field, wanted) ? field.cleared : wanted;
  }
  return body;
}

/** The body of a request that creates what is declared. Another spelling would be another row where a service compares values literally. */
export function createBody(fields: Fields, inputs: Values): Record<string, unknown> {
  const body: Record<string, unknown> = {};
  for (const [name, { wire, change, comparable = same }] of Object.entries(fields)) {
    const value = comparable(inputs[name]);
    if (wire !== undefined && value !== undefined) body[wire] = change === "replace" ? value : inputs[name];
  }
  return body;
}

/**
 * What a row of the service says, by the names of the arguments: as written where it says the same.
 *
 * @param written what was declared, or the state has.
 */
export function valuesOfRow(fields: Fields, row: Values, written: Values): Record<string, unknown> {
  const values: Record<string, unknown> = {};
  for (const [name, field] of Object.entries(fields)) {
    if (field.wire === undefined) continue;
    const there = row[field.wire] ?? (field.isOptionalInAnswers ? written[name] : undefined);
    const value = isSameValue(field, there, written[name]) ? written[name] : shown(field, there);
    if (!isNone(field, value)) values[name] = value;
  }
  return values;
}

function shown({ shown = printable }: Field, value: unknown): unknown {
  return typeof value === "string" ? shown(value) : value;
}

function isNone({ comparable = same }: Field, value: unknown): boolean {
  return comparable(value) === undefined;
}

function same(value: unknown): unknown {
  return value;
}

function namesOf(fields: Fields, isChosen: (field: Field, name: string) => boolean): readonly string[] {
  return Object.keys(fields).filter((name) => isChosen(fields[name] as Field, name));
}

function pick(from: Values, names: readonly string[]): Record<string, unknown> {
  return Object.fromEntries(names.map((name) => [name, from[name]]));
}

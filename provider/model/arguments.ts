import { z } from "zod";
import { DEFAULT_VERDICT_SCOPE, ENTRY_LISTS, ENTRY_TYPES, KNOWN_VERDICT_SCOPES } from "./assumptions";
import { parseEntryValue, parseMailbox } from "./entry-value";
import { findNearestName } from "./nearest-name";
import type { OwnDomains } from "./own-domains";
import { describeRisks } from "./risk";
import { canonicalizeComment, findHarmfulText, isPrintable, quote } from "./text";
import { UNKNOWN } from "./unknown-value";

/** One reason why arguments are invalid, and the argument that it concerns. */
export interface ArgumentFailure {
  readonly property: string;
  readonly reason: string;
}

/** The arguments as a program passes them. Any of them may be invalid, and in a preview any may be {@link UNKNOWN}. */
export type RawArguments = Readonly<Record<string, unknown>>;

/**
 * Returns why a comment is invalid: a program that prints it could interpret part of it as a command. Undefined if it
 * is valid.
 */
export function validateComment(text: string): string | undefined {
  const harmfulText = findHarmfulText(text);
  if (harmfulText === undefined) return undefined;
  return `contains text that a terminal, Pulumi or a build pipeline would interpret as a command, shown escaped here: ${harmfulText}. Remove it`;
}

const printableText = z.string({ error: (issue) => `must be text, not ${quote(issue.input)}` }).check((context) => {
  const message = validateComment(context.value);
  if (message !== undefined) context.issues.push({ code: "custom", message, input: context.value });
});

export const comment = printableText
  .describe("The reason for it, for the people who review the list. An empty comment counts as no comment.")
  .optional();

const entryValue = z
  .string({ error: (issue) => describeExpected(issue.input, "a domain, an IP address or a mailbox") })
  .check((context) => {
    const parsed = parseEntryValue(context.value);
    if (!parsed.ok) context.issues.push({ code: "custom", message: parsed.reason, input: context.value });
  })
  .describe("The domain, IP address or mailbox.");

const mailbox = z
  .string({ error: (issue) => describeExpected(issue.input, "a mailbox address") })
  .check((context) => {
    const parsed = parseMailbox(context.value);
    if (!parsed.ok) context.issues.push({ code: "custom", message: parsed.reason, input: context.value });
  })
  .describe("The mailbox of the employee.");

/** The arguments of one allow/deny entry (reference, section Allow/deny list). */
export const allowDenyEntryArguments = z.strictObject({
  list: z
    .enum(ENTRY_LISTS, { error: (issue) => describeExpected(issue.input, formatAllowedValues(ENTRY_LISTS)) })
    .describe("The list of the entry: allow or deny."),
  value: entryValue,
  entryType: z
    .enum(ENTRY_TYPES, { error: (issue) => describeExpected(issue.input, formatAllowedValues(ENTRY_TYPES)) })
    .describe("The type of the value. Inferred from the value by default.")
    .optional(),
  verdictScope: z
    .string({ error: (issue) => `must be text, not ${quote(issue.input)}` })
    .refine((scope) => !isKnownInAnotherCase(scope), {
      error: (issue) => `is ${quote(issue.input)}; write ${quote(String(issue.input).toLowerCase())}`,
    })
    .refine(isPrintable, {
      error: (issue) => `is ${quote(issue.input)}, which contains characters other than text; remove them`,
    })
    .min(1, `is empty; write "global" or "graymail", or leave it out for "${DEFAULT_VERDICT_SCOPE}"`)
    .describe(`The verdicts that the entry overrides. Default: "${DEFAULT_VERDICT_SCOPE}".`)
    .optional(),
  comment,
  adopt: z
    .boolean({ error: (issue) => `must be true or false, not ${quote(issue.input)}` })
    .describe("Whether an existing entry with other arguments is adopted and changed.")
    .optional(),
  acceptRisk: printableText
    .refine(isMeaningfulText, "is empty; give the reason to accept the risk, or leave it out")
    .describe("The reason to accept a risky entry. It is for reviewers, and never sent to the service.")
    .optional(),
});

/** The filter for listing entries. */
export const allowDenyEntryQuery = allowDenyEntryArguments.pick({ list: true }).partial();

/** Whether a text contains a letter or a digit. */
export function isMeaningfulText(text: string): boolean {
  return /[\p{L}\p{N}]/u.test(text);
}

/**
 * The effects of deleting a VIP: write the service's permanent exclusion, or only remove the resource from the state.
 */
export const ON_DELETE = ["exclude", "keep"] as const;

/** The arguments of one VIP employee (reference, section VIP employees). */
export const vipEmployeeArguments = z.strictObject({
  email: mailbox,
  comment,
  onDelete: z
    .enum(ON_DELETE, {
      error: (issue) => `must be ${formatAllowedValues(ON_DELETE)}, not ${quote(issue.input)}`,
    })
    .describe(
      'The effect of deletion: "exclude" (a permanent exclusion at the service) or "keep" (Pulumi only forgets it).',
    )
    .optional(),
});

/** The complete arguments of an allow/deny entry. */
export type AllowDenyEntryInputs = Complete<typeof allowDenyEntryArguments, "entryType" | "verdictScope">;

/** The checked arguments of a VIP employee. */
export type VipEmployeeInputs = Complete<typeof vipEmployeeArguments, never>;

/** The arguments of a schema, with the named ones required. */
type Complete<Schema extends z.ZodObject, Name extends keyof z.infer<Schema>> = Readonly<
  Omit<Exact<z.infer<Schema>>, Name> & Required<Pick<Exact<z.infer<Schema>>, Name>>
>;

/** Optional properties are absent, never undefined. */
type Exact<T> = { [Key in keyof T]: Exclude<T[Key], undefined> };

export interface CheckedArguments {
  /** The arguments without empty ones. Contains the same {@link UNKNOWN} values as the input. */
  readonly inputs: Record<string, unknown>;
  /** All reasons at once. Empty if the arguments are valid. */
  readonly failures: readonly ArgumentFailure[];
}

/**
 * Checks the arguments of an allow/deny entry. Omitted arguments stay omitted, so that the state stays small.
 *
 * @param ownDomains the tenant's own domains, if known. They are needed to reject risky entries.
 */
export function checkAllowDenyEntry(raw: RawArguments, ownDomains?: OwnDomains): CheckedArguments {
  const { inputs, failures } = checkEntryArguments(raw, allowDenyEntryArguments);
  const { list, value, acceptRisk } = inputs;
  const parsed = typeof value === "string" ? parseEntryValue(value) : undefined;
  if (parsed?.ok && isOneOf(ENTRY_LISTS, list) && acceptRisk === undefined) {
    const { entryType, canonical } = parsed.value;
    const riskProblem = describeRisks({ list, value: canonical, entryType }, ownDomains);
    if (riskProblem !== undefined) failures.push({ property: "value", reason: riskProblem });
  }
  return { inputs, failures };
}

/** Checks the form of an entry's arguments, but not its risks. */
export function checkEntryArguments(
  raw: RawArguments,
  schema: z.ZodObject,
): { readonly inputs: Record<string, unknown>; readonly failures: ArgumentFailure[] } {
  const failures = validateArguments(schema, raw);
  const inputs = omitEmpty(raw);
  const { value, entryType: declaredType } = inputs;
  const parsed = typeof value === "string" ? parseEntryValue(value) : undefined;
  if (parsed?.ok && declaredType !== undefined && isOneOf(ENTRY_TYPES, declaredType)) {
    const { entryType } = parsed.value;
    if (declaredType !== entryType) {
      failures.push({
        property: "entryType",
        reason: `is ${quote(declaredType)}, but ${quote(value)} is ${describeEntryType(entryType)}; leave it out or write ${quote(entryType)}`,
      });
    }
  }
  return { inputs, failures };
}

/** Completes the arguments of an allow/deny entry: the type is inferred, and the scope has a default. */
export function completeAllowDenyEntry(inputs: RawArguments): AllowDenyEntryInputs {
  const { value } = inputs;
  const parsed = typeof value === "string" ? parseEntryValue(value) : undefined;
  const inferred = parsed?.ok ? parsed.value.entryType : UNKNOWN;
  return {
    entryType: inferred,
    verdictScope: DEFAULT_VERDICT_SCOPE,
    ...inputs,
  } as unknown as AllowDenyEntryInputs;
}

/** Checks the arguments of a VIP employee. */
export function checkVipEmployee(raw: RawArguments, schema: z.ZodObject = vipEmployeeArguments): CheckedArguments {
  return { inputs: omitEmpty(raw), failures: validateArguments(schema, raw) };
}

/** Returns every mismatch between arguments and their schema, each with its property. Unknown values pass. */
export function validateArguments(schema: z.ZodObject, raw: RawArguments): ArgumentFailure[] {
  const result = schema.safeParse(omitEmpty(raw));
  if (result.success) return [];
  const failures: ArgumentFailure[] = [];
  for (const issue of result.error.issues) {
    if (issue.code === "unrecognized_keys") {
      for (const key of issue.keys) failures.push({ property: key, reason: describeUnknownArgument(key, schema) });
      continue;
    }
    if (!isUnknownAt(raw, issue.path)) failures.push({ property: formatPath(issue.path), reason: issue.message });
  }
  return failures;
}

function isUnknownAt(raw: unknown, path: readonly PropertyKey[]): boolean {
  let current = raw;
  for (const step of path) current = (current as Record<PropertyKey, unknown> | undefined)?.[step];
  return current === UNKNOWN;
}

/** Formats a path in Pulumi's syntax. */
function formatPath(path: readonly PropertyKey[]): string {
  return path
    .map((step, index) => (typeof step === "number" ? `[${step}]` : `${index === 0 ? "" : "."}${String(step)}`))
    .join("");
}

function describeUnknownArgument(key: string, schema: z.ZodObject): string {
  const known = Object.keys(schema.shape);
  const suggestion = findNearestName(key, known);
  return suggestion === undefined
    ? `isn't an argument; the arguments are ${known.join(", ")}`
    : `isn't an argument; did you mean ${suggestion}?`;
}

/** Removes null, undefined and an empty comment, so that they count as omitted. */
export function omitEmpty(raw: RawArguments): Record<string, unknown> {
  const isPresent = ([key, value]: [string, unknown]): boolean =>
    value !== undefined &&
    value !== null &&
    !(key === "comment" && typeof value === "string" && canonicalizeComment(value) === "");
  // Not an assignment, because a key named `__proto__` must stay a key.
  return Object.fromEntries(Object.entries(raw).filter(isPresent));
}

function isKnownInAnotherCase(scope: string): boolean {
  const known: readonly string[] = KNOWN_VERDICT_SCOPES;
  return !known.includes(scope) && known.includes(scope.toLowerCase());
}

function describeExpected(input: unknown, expected: string): string {
  return input === undefined || input === null
    ? `is missing; specify ${expected}`
    : `must be ${expected}, not ${quote(input)}`;
}

/** Formats the allowed values for a message. */
export function formatAllowedValues(values: readonly string[]): string {
  const quoted = values.map((value) => `"${value}"`);
  return [...quoted.slice(0, -2), quoted.slice(-2).join(" or ")].join(", ");
}

function isOneOf<T extends string>(values: readonly T[], value: unknown): value is T {
  return values.some((candidate) => candidate === value);
}

function describeEntryType(entryType: string): string {
  const names: Record<string, string> = {
    domain: "a domain",
    ip: "an IP address",
    email_address: "a mailbox",
  };
  return names[entryType] ?? entryType;
}

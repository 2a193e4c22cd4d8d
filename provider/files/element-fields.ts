import { z } from "zod";
import { DEFAULT_VERDICT_SCOPE, ENTRY_TYPES, KNOWN_VERDICT_SCOPES } from "../settings/assumptions";
import { text } from "../settings/json-fields";
import { daysOfTerm, parseTerm } from "../settings/term";
import { quote } from "../settings/text";
import { dayInCell, scopeInCell, typeInCell } from "./csv-cells";
import {
  harmlessText,
  missingOr,
  oneOf,
  plainText,
  SAYS_NOTHING,
  shortText,
  shownText,
} from "./schema-words";

/** What code that iterates over the fields of a settings file's elements needs to know of one. */
interface ElementField {
  /** What people call it. */
  readonly label: string;
  /** What a settings file may say of it. */
  readonly schema: z.ZodType;
  /** What a report in JSON says of it. Absent: it is told by what the entry is. */
  readonly json?: z.ZodType;
  /** The titles of its column in a table, in lower case and without spaces. */
  readonly columns: readonly string[];
  /** How a cell of that column is read; undefined for what need not be said. Default: as it is. */
  readonly fromCell?: (cell: string) => unknown;
  /** Whether only entries have it. Default: VIPs have it too. */
  readonly isOfEntries?: true;
  /** Whether it stands beside what is declared: the service is never sent it, and a whole list's text doesn't hold it. */
  readonly isSaid?: true;
}

const EXPIRES = /^(?:\d{4}-\d{2}-\d{2}|never)$/;

/** What a settings file says of an entry or a VIP beside its value or mailbox, in the order in which it is written. */
export const ELEMENT_FIELDS = {
  comment: {
    label: "comment",
    // One that stands at the service already may say as little as "---".
    schema: harmlessText("a text")
      .refine((words) => /[^\p{C}\p{Z}]/u.test(words), SAYS_NOTHING)
      .describe("Why it is here. The service keeps it, and shows it in its console."),
    json: z.string(),
    columns: ["comment", "comments", "reason", "note", "notes", "description", "why"],
  },
  ticket: {
    label: "ticket",
    schema: shortText("a text").describe(
      "Where it was asked for and decided, as INC-1042. Not sent to the service.",
    ),
    json: z.string(),
    columns: ["ticket", "tickets", "ticketnumber", "incident", "change", "case"],
    isSaid: true,
  },
  owner: {
    label: "owner",
    schema: shortText("a text").describe("Who answers for it. Not sent to the service."),
    json: z.string(),
    columns: ["owner", "requestedby", "requester", "responsible"],
    isSaid: true,
  },
  approvedBy: {
    label: "approved by",
    schema: shortText("a text").describe("Who else looked at it and agreed. Not sent to the service."),
    json: z.string(),
    columns: ["approvedby", "approver", "approval"],
    isSaid: true,
  },
  expires: {
    label: "ends",
    schema: plainText('a date such as 2027-03-31, or "never"')
      .regex(EXPIRES, { error: (issue) => `is ${quote(issue.input)}; ${dayInstead(String(issue.input))}` })
      .refine((day) => !EXPIRES.test(day) || day === "never" || isDate(day), {
        error: (issue) => `is ${quote(issue.input)}, and there is no such day`,
      })
      .describe("The last day (UTC) on which it is declared, as 2027-03-31; or never."),
    json: text("The last day (UTC), or never."),
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
    fromCell: dayInCell,
    isSaid: true,
  },
  scope: {
    label: "scope",
    schema: shortText("a text")
      .refine((scope) => !isKnownInAnotherCase(scope), {
        error: (issue) => `is ${quote(issue.input)}; write ${quote(String(issue.input).toLowerCase())}`,
      })
      .describe(
        `Which verdicts the entry overrides: global or graymail. ${DEFAULT_VERDICT_SCOPE} when left out.`,
      ),
    columns: ["scope", "verdictscope"],
    fromCell: scopeInCell,
    isOfEntries: true,
  },
  type: {
    label: "type",
    schema: z
      .enum(ENTRY_TYPES, { error: (issue) => missingOr(issue.input, oneOf(ENTRY_TYPES)) })
      .describe("What the value is. Inferred from it when left out."),
    columns: ["type", "entrytype", "kind"],
    fromCell: typeInCell,
    isOfEntries: true,
  },
  acceptRisk: {
    label: "risk accepted",
    schema: shownText("a text").describe(
      "Why an entry that is refused as risky is meant all the same. Not sent to the service.",
    ),
    json: text("Why its risk is accepted."),
    columns: ["acceptrisk", "acceptedrisk", "riskaccepted", "riskacceptance"],
    isOfEntries: true,
  },
} as const satisfies Readonly<Record<string, ElementField>>;

type Fields = typeof ELEMENT_FIELDS;
export type ElementFieldName = keyof Fields;

/** What a settings file says under the name of a field. */
export type ElementValue = z.infer<Fields[ElementFieldName]["schema"]>;

type NameWith<Property> = {
  [Name in ElementFieldName]: Fields[Name] extends Property ? Name : never;
}[ElementFieldName];

/** A field that isn't part of what an entry is, but stands beside it. */
export type SaidFieldName = NameWith<{ readonly isSaid: true }>;

/** A field under whose name a declaration has what it says; scope and type are told by what the entry is. */
export type TextFieldName = NameWith<{ readonly json: z.ZodType }>;

type Texts<Name extends TextFieldName> = { readonly [One in Name]?: z.infer<Fields[One]["json"]> };

/** What stands beside something that is declared. The last day (UTC) is `2027-03-31`, or `never`. */
export type SaidTexts = Texts<SaidFieldName>;

type EntryFieldName = NameWith<{ readonly isOfEntries: true }>;

export const ELEMENT_FIELD_NAMES = Object.keys(ELEMENT_FIELDS) as readonly ElementFieldName[];

/** The fields that stand beside what is declared. */
export const SAID_FIELD_NAMES = ELEMENT_FIELD_NAMES.filter(
  (name): name is SaidFieldName => "isSaid" in ELEMENT_FIELDS[name],
);

/** The fields that a declaration has under their names. */
export const TEXT_FIELD_NAMES = ELEMENT_FIELD_NAMES.filter(
  (name): name is TextFieldName => "json" in ELEMENT_FIELDS[name],
);

/** What a settings file's element may say of an entry beside its value. */
export const ENTRY_SHAPE = shapeOf(ELEMENT_FIELD_NAMES);

/** The same of a VIP beside its mailbox. */
export const VIP_SHAPE = shapeOf(
  ELEMENT_FIELD_NAMES.filter((name): name is Exclude<ElementFieldName, EntryFieldName> => !isOfEntries(name)),
);

/** What reports in JSON say of what is declared, by the names of the fields. */
export const declaredTexts = jsonOf(TEXT_FIELD_NAMES);

/** The same of what stands beside it. */
export const saidTexts = jsonOf(SAID_FIELD_NAMES);

function shapeOf<Name extends ElementFieldName>(names: readonly Name[]) {
  return Object.fromEntries(names.map((name) => [name, ELEMENT_FIELDS[name].schema.optional()])) as {
    [One in Name]: z.ZodOptional<Fields[One]["schema"]>;
  };
}

function jsonOf<Name extends TextFieldName>(names: readonly Name[]) {
  return Object.fromEntries(names.map((name) => [name, ELEMENT_FIELDS[name].json.exactOptional()])) as {
    [One in Name]: z.ZodExactOptional<Fields[One]["json"]>;
  };
}

export function isOfEntries(name: ElementFieldName): boolean {
  return "isOfEntries" in ELEMENT_FIELDS[name];
}

/** What a cell of a table says of a field; undefined for what need not be said. */
export function valueInCell(name: ElementFieldName, cell: string): ElementValue | undefined {
  const { fromCell }: ElementField = ELEMENT_FIELDS[name];
  return fromCell === undefined ? cell : (fromCell(cell) as ElementValue | undefined);
}

/** Returns what stands beside something that is declared. */
export function saidOf(one: SaidTexts): SaidTexts {
  return pick(one, SAID_FIELD_NAMES);
}

/** What is said in texts, each with its label, in the order of the fields. What ends when is told in words of its own. */
export function factsSaid(one: Texts<TextFieldName>): readonly (readonly [label: string, text: string])[] {
  return TEXT_FIELD_NAMES.flatMap((name) => {
    const said = name === "expires" ? undefined : one[name];
    return said === undefined ? [] : [[ELEMENT_FIELDS[name].label, String(said)]];
  });
}

/** Returns all that is declared of an entry or a VIP, but what it is. */
export function textsOf(one: Texts<TextFieldName>): Texts<TextFieldName> {
  return pick(one, TEXT_FIELD_NAMES);
}

function pick<From extends object, Name extends keyof From>(
  from: From,
  names: readonly Name[],
): Partial<Pick<From, Name>> {
  const picked: Partial<Pick<From, Name>> = {};
  for (const name of names) if (from[name] !== undefined) picked[name] = from[name];
  return picked;
}

/** What to write for what is no date: what a term comes to, where it is one. */
function dayInstead(written: string): string {
  const today = new Date().toISOString().slice(0, 10);
  const term = daysOfTerm(written) === undefined ? undefined : parseTerm(written, today);
  return term?.ok
    ? `write the last day: ${term.value}, counted from today`
    : "write a date as 2027-03-31, or never";
}

/** Whether there is such a day. */
export function isDate(day: string): boolean {
  const date = new Date(`${day}T00:00:00Z`);
  return !Number.isNaN(date.getTime()) && date.toISOString().startsWith(day);
}

function isKnownInAnotherCase(scope: string): boolean {
  const known: readonly string[] = KNOWN_VERDICT_SCOPES;
  return !known.includes(scope) && known.includes(scope.toLowerCase());
}

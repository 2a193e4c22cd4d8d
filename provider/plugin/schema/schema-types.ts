import { z } from "zod";
import { ON_DELETE } from "../../settings/arguments";
import { ENTRY_TYPES, KNOWN_VERDICT_SCOPES, LISTS } from "../../settings/assumptions";
import { LIST_MODES } from "../../settings/list-arguments";
import { type Words, wordsOf } from "./words";

/** Where the types of the package are, and what a token starts with. */
export const MODULE = "email-security:index";

/** A type of Pulumi's package schema, or a reference to a named one. */
export interface TypeSpec {
  readonly type?: string;
  readonly $ref?: string;
  readonly items?: TypeSpec;
  readonly additionalProperties?: TypeSpec;
  readonly oneOf?: readonly TypeSpec[];
}

/** A property: its type and what is said of it. */
export interface PropertySpec extends TypeSpec {
  readonly description?: string;
  readonly secret?: boolean;
}

/** An object, as the arguments or the answer of a function, or as a named type. */
export interface ObjectSpec {
  readonly description?: string;
  readonly type?: "object";
  readonly properties: Readonly<Record<string, PropertySpec>>;
  readonly required?: readonly string[];
}

/** The values that a named type has. */
interface EnumSpec {
  readonly description: string;
  readonly type: "string";
  readonly enum: readonly { readonly name: string; readonly value: string }[];
}

/** The keyed form of a list, in which it stands in state too: a short text by value. */
export const KEYED: TypeSpec = { type: "object", additionalProperties: { type: "string" } };

/** What an argument with a fixed choice is called in the SDKs, and where its words are. */
interface Choice {
  readonly name: string;
  readonly values: readonly string[];
  readonly words: string;
  /** Whether other values are accepted too. */
  readonly isOpen?: boolean;
}

const CHOICES: Readonly<Record<string, Choice>> = {
  list: { name: "EntryList", values: LISTS, words: "List" },
  entryType: { name: "EntryType", values: ENTRY_TYPES, words: "EntryType" },
  verdictScope: {
    name: "VerdictScope",
    values: KNOWN_VERDICT_SCOPES,
    words: "VerdictScope",
    isOpen: true,
  },
  mode: { name: "ListMode", values: LIST_MODES, words: "LIST_MODES" },
  onDelete: { name: "OnDelete", values: ON_DELETE, words: "ON_DELETE" },
};

/** The part of a JSON Schema, as zod makes it, that says what type something has. */
interface JsonSchema {
  readonly type?: string;
  readonly title?: string;
  readonly description?: string;
  readonly enum?: readonly string[];
  readonly items?: JsonSchema;
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly required?: readonly string[];
}

/** The properties of a zod schema, with the named types that they need. */
export class SchemaTypes {
  readonly #words: Words;
  readonly #named = new Map<string, ObjectSpec | EnumSpec>();

  constructor(words: Words) {
    this.#words = words;
  }

  /** The types that were named so far, by token. */
  get named(): Readonly<Record<string, ObjectSpec | EnumSpec>> {
    return Object.fromEntries([...this.#named].sort(([one], [other]) => (one < other ? -1 : 1)));
  }

  /** The properties of an object in Pulumi's types, and which are required. */
  propertiesOf(schema: z.ZodObject): {
    readonly types: Readonly<Record<string, TypeSpec>>;
    readonly required: readonly string[];
  } {
    const json = z.toJSONSchema(schema, { unrepresentable: "any" }) as JsonSchema;
    const properties = Object.entries(json.properties ?? {});
    return {
      types: Object.fromEntries(properties.map(([name, one]) => [name, this.#typeOf(name, one)])),
      required: json.required ?? [],
    };
  }

  #typeOf(name: string, json: JsonSchema): TypeSpec {
    const choice = CHOICES[name];
    if (json.type === "string" && (choice?.isOpen || json.enum !== undefined)) {
      return this.#choice(name, json.enum);
    }
    if (
      json.type === "string" ||
      json.type === "integer" ||
      json.type === "number" ||
      json.type === "boolean"
    ) {
      return { type: json.type };
    }
    if (json.type === "array" && json.items !== undefined) {
      return { type: "array", items: this.#typeOf(name, json.items) };
    }
    throw new Error(`${name} is of a type that Pulumi's schema has no word for: ${JSON.stringify(json)}`);
  }

  #choice(property: string, values: readonly string[] | undefined): TypeSpec {
    const choice = CHOICES[property];
    if (choice === undefined) throw new Error(`The values of ${property} have no name for the SDKs.`);
    const { name, isOpen } = choice;
    if (values !== undefined && values.join() !== choice.values.join()) {
      throw new Error(`${property} takes ${values.join(", ")}, and ${name} has ${choice.values.join(", ")}.`);
    }
    this.#named.set(`${MODULE}:${name}`, {
      description: wordsOf(this.#words, choice.words).text,
      type: "string",
      enum: choice.values.map((value) => ({ name: pascalCase(value), value })),
    });
    const ref = { type: "string", $ref: `#/types/${MODULE}:${name}` };
    return isOpen ? { oneOf: [{ type: "string" }, ref] } : { $ref: ref.$ref };
  }
}

/** `email_address` as SDKs name a value of it: `EmailAddress`. */
function pascalCase(value: string): string {
  return value.replace(/(?:^|_)([a-z])/g, (_match, letter: string) => letter.toUpperCase());
}

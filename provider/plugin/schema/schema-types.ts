import { z } from "zod";
import { ENTITY_TYPES } from "../../resources/functions/definitions";
import { ON_DELETE } from "../../settings/arguments";
import { ENTRY_TYPES, KNOWN_VERDICT_SCOPES, LISTS } from "../../settings/assumptions";
import { LIST_MODES, VIP_LIST_MODES } from "../../settings/list-mode";
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
  /** Whether a change of it makes another thing of a resource. */
  readonly willReplaceOnChanges?: boolean;
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

const CHOICES: Readonly<Record<string, readonly Choice[]>> = {
  list: [{ name: "EntryList", values: LISTS, words: "List" }],
  entryType: [{ name: "EntryType", values: ENTRY_TYPES, words: "EntryType" }],
  verdictScope: [{ name: "VerdictScope", values: KNOWN_VERDICT_SCOPES, words: "VerdictScope", isOpen: true }],
  mode: [
    { name: "ListMode", values: LIST_MODES, words: "LIST_MODES" },
    { name: "VipListMode", values: VIP_LIST_MODES, words: "VIP_LIST_MODES" },
  ],
  onDelete: [{ name: "OnDelete", values: ON_DELETE, words: "ON_DELETE" }],
  entityType: [{ name: "EntityType", values: ENTITY_TYPES, words: "ENTITY_TYPES" }],
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

  /**
   * The properties of an object, which are required, and what the schema itself says of them.
   *
   * @param way of arguments, whether other values than the known ones are accepted is told with the type.
   */
  propertiesOf(schema: z.ZodObject, way: "arguments" | "answer"): ObjectSpec {
    const json = z.toJSONSchema(schema, { unrepresentable: "any" }) as JsonSchema;
    return this.#objectOf(
      json,
      (name, one) => (way === "arguments" && this.#choice(name, one)) || this.#typeOf(name, one),
    );
  }

  #objectOf(json: JsonSchema, typeOf: (name: string, json: JsonSchema) => TypeSpec): ObjectSpec {
    const properties = Object.entries(json.properties ?? {}).map(([name, one]) => {
      const { description } = one;
      return [name, { ...typeOf(name, one), ...(description === undefined ? {} : { description }) }] as const;
    });
    return { properties: Object.fromEntries(properties), required: json.required ?? [] };
  }

  #typeOf(name: string, json: JsonSchema): TypeSpec {
    const { type, items, title } = json;
    if (json.enum === undefined && type !== undefined && PLAIN.includes(type)) return { type };
    if (type === "array" && items !== undefined) return { type, items: this.#typeOf(name, items) };
    if (type === "object" && title !== undefined) return this.#object(title, json);
    throw new Error(`${name} is of a type that the plugin's schema has no word for: ${JSON.stringify(json)}`);
  }

  #object(name: string, json: JsonSchema): TypeSpec {
    return this.#name(name, {
      description: wordsOf(this.#words, name).text,
      type: "object",
      ...this.#objectOf(json, (property, one) => this.#typeOf(property, one)),
    });
  }

  /** The type of an argument whose values are known, all or some. */
  #choice(property: string, { enum: values }: JsonSchema): TypeSpec | undefined {
    const choices = CHOICES[property] ?? [];
    const choice = choices.find((one) =>
      values === undefined ? one.isOpen : one.values.join() === values.join(),
    );
    if (choice === undefined) {
      if (values === undefined) return undefined;
      throw new Error(`The values of ${property} have no name for the SDKs: ${values.join(", ")}.`);
    }
    const { name, isOpen } = choice;
    const reference = this.#name(name, {
      description: wordsOf(this.#words, choice.words).text,
      type: "string",
      enum: choice.values.map((value) => ({ name: pascalCase(value), value })),
    });
    return isOpen ? { oneOf: [{ type: "string" }, { type: "string", ...reference }] } : reference;
  }

  /** Gives a type its name. Two of one name must be the same. */
  #name(name: string, spec: ObjectSpec | EnumSpec): TypeSpec {
    const token = `${MODULE}:${name}`;
    const before = this.#named.get(token);
    if (before !== undefined && JSON.stringify(before) !== JSON.stringify(spec)) {
      throw new Error(`Two types that differ would be called ${name}.`);
    }
    this.#named.set(token, spec);
    return { $ref: `#/types/${token}` };
  }
}

const PLAIN = ["string", "integer", "number", "boolean"];

/** `email_address` as SDKs name a value of it: `EmailAddress`. */
export function pascalCase(value: string): string {
  return value.replace(/(?:^|[_-])([a-z])/g, (_match, letter: string) => letter.toUpperCase());
}

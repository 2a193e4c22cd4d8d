import { z } from "zod";
import { ON_DELETE } from "../../model/arguments";
import { ENTRY_LISTS, ENTRY_TYPES, KNOWN_VERDICT_SCOPES } from "../../model/assumptions";
import { LIST_MODES, VIP_LIST_MODES } from "../../model/list-mode";
import { ENTITY_TYPES } from "../../resources/functions/definitions";
import { type DocIndex, getDoc } from "./doc-index";

export const MODULE = "email-security:index";

export interface TypeSpec {
  readonly type?: string;
  readonly $ref?: string;
  readonly items?: TypeSpec;
  readonly additionalProperties?: TypeSpec;
  readonly oneOf?: readonly TypeSpec[];
}

export interface PropertySpec extends TypeSpec {
  readonly description?: string;
  readonly secret?: boolean;
  /** Whether changing it replaces the resource. */
  readonly willReplaceOnChanges?: boolean;
}

export interface ObjectSpec {
  readonly description?: string;
  readonly type?: "object";
  readonly properties: Readonly<Record<string, PropertySpec>>;
  readonly required?: readonly string[];
}

interface EnumSpec {
  readonly description: string;
  readonly type: "string";
  readonly enum: readonly { readonly name: string; readonly value: string }[];
}

/** The encoded form of a list, also used in state: a short text by value. */
export const ENCODED_LIST_TYPE: TypeSpec = { type: "object", additionalProperties: { type: "string" } };

/** The SDK name of an argument with a fixed choice, its values, and the declaration that documents them. */
interface EnumChoice {
  readonly name: string;
  readonly values: readonly string[];
  readonly docName: string;
  readonly isOpen?: boolean;
}

const ENUM_CHOICES: Readonly<Record<string, readonly EnumChoice[]>> = {
  list: [{ name: "EntryList", values: ENTRY_LISTS, docName: "List" }],
  entryType: [{ name: "EntryType", values: ENTRY_TYPES, docName: "EntryType" }],
  verdictScope: [{ name: "VerdictScope", values: KNOWN_VERDICT_SCOPES, docName: "VerdictScope", isOpen: true }],
  mode: [
    { name: "ListMode", values: LIST_MODES, docName: "LIST_MODES" },
    { name: "VipListMode", values: VIP_LIST_MODES, docName: "VIP_LIST_MODES" },
  ],
  onDelete: [{ name: "OnDelete", values: ON_DELETE, docName: "ON_DELETE" }],
  entityType: [{ name: "EntityType", values: ENTITY_TYPES, docName: "ENTITY_TYPES" }],
};

interface JsonSchema {
  readonly type?: string;
  readonly title?: string;
  readonly description?: string;
  readonly enum?: readonly string[];
  readonly items?: JsonSchema;
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly required?: readonly string[];
}

export class SchemaTypes {
  readonly #docs: DocIndex;
  readonly #types = new Map<string, ObjectSpec | EnumSpec>();

  constructor(docs: DocIndex) {
    this.#docs = docs;
  }

  get namedTypes(): Readonly<Record<string, ObjectSpec | EnumSpec>> {
    return Object.fromEntries([...this.#types].sort(([a], [b]) => (a < b ? -1 : 1)));
  }

  /**
   * Returns the properties of an object, the required ones, and the schema's own descriptions.
   *
   * @param usage for arguments, the type says whether values other than the known ones are accepted.
   */
  buildObjectSpec(schema: z.ZodObject, usage: "arguments" | "answer"): ObjectSpec {
    const json = z.toJSONSchema(schema, { unrepresentable: "any" }) as JsonSchema;
    return this.#buildObject(
      json,
      (name, property) =>
        (usage === "arguments" && this.#buildChoice(name, property)) || this.#buildType(name, property),
    );
  }

  #buildObject(json: JsonSchema, buildType: (name: string, json: JsonSchema) => TypeSpec): ObjectSpec {
    const properties = Object.entries(json.properties ?? {}).map(([name, property]) => {
      const { description } = property;
      return [name, { ...buildType(name, property), ...(description === undefined ? {} : { description }) }] as const;
    });
    return { properties: Object.fromEntries(properties), required: json.required ?? [] };
  }

  #buildType(name: string, json: JsonSchema): TypeSpec {
    const { type, items, title } = json;
    if (json.enum === undefined && type !== undefined && PRIMITIVE_TYPES.includes(type)) return { type };
    if (type === "array" && items !== undefined) return { type, items: this.#buildType(name, items) };
    if (type === "object" && title !== undefined) return this.#buildNamedObject(title, json);
    throw new Error(`${name} has a type that the plugin's schema can't express: ${JSON.stringify(json)}`);
  }

  #buildNamedObject(name: string, json: JsonSchema): TypeSpec {
    return this.#registerType(name, {
      description: getDoc(this.#docs, name).text,
      type: "object",
      ...this.#buildObject(json, (property, propertyJson) => this.#buildType(property, propertyJson)),
    });
  }

  #buildChoice(property: string, { enum: values }: JsonSchema): TypeSpec | undefined {
    const choices = ENUM_CHOICES[property] ?? [];
    const choice = choices.find((candidate) =>
      values === undefined ? candidate.isOpen : candidate.values.join() === values.join(),
    );
    if (choice === undefined) {
      if (values === undefined) return undefined;
      throw new Error(`The values of ${property} have no type name in the SDKs: ${values.join(", ")}.`);
    }
    const { name, isOpen } = choice;
    const reference = this.#registerType(name, {
      description: getDoc(this.#docs, choice.docName).text,
      type: "string",
      enum: choice.values.map((value) => ({ name: toPascalCase(value), value })),
    });
    return isOpen ? { oneOf: [{ type: "string" }, { type: "string", ...reference }] } : reference;
  }

  /** Registers a named type. Two types of one name must be the same. */
  #registerType(name: string, spec: ObjectSpec | EnumSpec): TypeSpec {
    const token = `${MODULE}:${name}`;
    const registered = this.#types.get(token);
    if (registered !== undefined && JSON.stringify(registered) !== JSON.stringify(spec)) {
      throw new Error(`Two different types have the name ${name}.`);
    }
    this.#types.set(token, spec);
    return { $ref: `#/types/${token}` };
  }
}

const PRIMITIVE_TYPES = ["string", "integer", "number", "boolean"];

/** Returns the SDKs' name of a value: `EmailAddress` for `email_address`. */
export function toPascalCase(value: string): string {
  return value.replace(/(?:^|[_-])([a-z])/g, (_match, letter: string) => letter.toUpperCase());
}

import type { Struct as PulumiStruct } from "google-protobuf/google/protobuf/struct_pb.js";
import type { Properties } from "../resources/front";
import { PROVIDER_PROPERTY } from "../resources/pulumi-values";
import { Struct } from "./struct/struct-messages";

/** The key by which Pulumi marks special values on the wire. */
const SIGNATURE = "4dabf18193072939515e22adb298388d";
const SECRET = "1b47061264138c4ac30d75fd1eb44270";
const RESOURCE = "5cf8f73096256a8f31e491e813e4eb8e";

/** Converts the properties of a message to plain data: a secret becomes its value, a resource its id. */
export function propertiesOf(struct: PulumiStruct | undefined): Properties {
  const { [PROVIDER_PROPERTY]: _provider, ...properties } = rawOf(struct);
  return mayHoldSigned(struct) ? (unwrapped(properties) as Properties) : properties;
}

/** Whether properties come from a dynamic resource, which stores its provider in them. */
export function isOfDynamicResource(struct: PulumiStruct | undefined): boolean {
  return ownOf(struct)?.mayHold(PROVIDER_PROPERTY) === true && PROVIDER_PROPERTY in rawOf(struct);
}

/** Whether the properties of a message contain a secret. */
export function hasSecrets(struct: PulumiStruct | undefined): boolean {
  return mayHoldSigned(struct) && holds(rawOf(struct), isSecret);
}

/**
 * Converts plain data to a message. Undefined values are omitted.
 *
 * @param asked the source properties: a property that is secret there is secret here too.
 */
export function structOf(properties: Properties, asked?: PulumiStruct): PulumiStruct {
  const marked = hasSecrets(asked) ? withSecretsOf(rawOf(asked), properties) : properties;
  return Struct.of(marked) as unknown as PulumiStruct;
}

/** Marks a value as secret. */
export function asSecret(value: unknown): unknown {
  return isSecret(value) ? value : { [SIGNATURE]: SECRET, value };
}

/** In the bundle, the build substitutes our class for Google's, which Pulumi's types name. */
function ownOf(struct: PulumiStruct | undefined): Struct | undefined {
  return struct as unknown as Struct | undefined;
}

function rawOf(struct: PulumiStruct | undefined): Properties {
  return ownOf(struct)?.properties() ?? {};
}

/** Whether it may contain a secret or a resource: walking through thousands of entries takes far longer. */
function mayHoldSigned(struct: PulumiStruct | undefined): boolean {
  return ownOf(struct)?.mayHold(SIGNATURE) ?? false;
}

/** Unwraps special values at any depth. Data without any is passed on, not copied. */
function unwrapped(value: unknown): unknown {
  if (!holds(value, (one) => isSecret(one) || isResource(one))) return value;
  if (isSecret(value)) return unwrapped(value.value);
  if (isResource(value)) return value.id || value.urn;
  if (Array.isArray(value)) return value.map(unwrapped);
  return Object.fromEntries(Object.entries(value as object).map(([key, one]) => [key, unwrapped(one)]));
}

/** Returns the values, secret if a source property of the same name is. */
function withSecretsOf(asked: Properties, values: Properties): Properties {
  if (!holds(asked, isSecret)) return values;
  return Object.fromEntries(
    Object.entries(values).map(([name, value]) => [name, asSecretAs(asked[name], value)]),
  );
}

function asSecretAs(asked: unknown, value: unknown): unknown {
  if (!holds(asked, isSecret)) return value;
  if (isSecret(asked) || !isMap(asked) || !isMap(value)) return asSecret(value);
  // If the key is now spelled differently, its value would be in cleartext.
  const isMissed = Object.keys(asked).some(
    (key) => !Object.hasOwn(value, key) && holds(asked[key], isSecret),
  );
  const isRenamed = isMissed && !Object.keys(value).every((key) => Object.hasOwn(asked, key));
  return isRenamed ? asSecret(value) : withSecretsOf(asked, value);
}

/** Whether a value, or anything in it, matches. */
function holds(value: unknown, isOne: (value: unknown) => boolean): boolean {
  if (typeof value !== "object" || value === null) return false;
  return isOne(value) || Object.values(value).some((one) => holds(one, isOne));
}

function isMap(value: unknown): value is Properties {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isSecret(value: unknown): value is { readonly value: unknown } {
  return isMap(value) && value[SIGNATURE] === SECRET;
}

function isResource(value: unknown): value is { readonly id?: unknown; readonly urn: unknown } {
  return isMap(value) && value[SIGNATURE] === RESOURCE;
}

import type { Struct as PulumiStruct } from "google-protobuf/google/protobuf/struct_pb.js";
import type { Properties } from "../resources/provider-adapter";
import { PROVIDER_PROPERTY } from "../resources/pulumi-values";
import { Struct } from "./struct/struct-messages";

/** The key by which Pulumi marks special values on the wire. */
const SIGNATURE_KEY = "4dabf18193072939515e22adb298388d";
const SECRET_SIGNATURE = "1b47061264138c4ac30d75fd1eb44270";
const RESOURCE_SIGNATURE = "5cf8f73096256a8f31e491e813e4eb8e";

/** Converts the properties of a message to plain data: a secret becomes its value, a resource its id. */
export function decodeProperties(struct: PulumiStruct | undefined): Properties {
  const { [PROVIDER_PROPERTY]: _provider, ...properties } = getRawProperties(struct);
  return mayContainSigned(struct) ? (unwrapValues(properties) as Properties) : properties;
}

/** Returns whether properties come from a dynamic resource, which stores its provider in them. */
export function isDynamicResource(struct: PulumiStruct | undefined): boolean {
  return toOwnStruct(struct)?.mayContain(PROVIDER_PROPERTY) === true && PROVIDER_PROPERTY in getRawProperties(struct);
}

export function hasSecrets(struct: PulumiStruct | undefined): boolean {
  return mayContainSigned(struct) && containsMatch(getRawProperties(struct), isSecret);
}

/**
 * Converts plain data to a message. Undefined values are omitted.
 *
 * @param source the properties that the data derives from. A property that is secret there is secret here too.
 */
export function encodeProperties(properties: Properties, source?: PulumiStruct): PulumiStruct {
  const markedProperties = hasSecrets(source) ? copySecrets(getRawProperties(source), properties) : properties;
  return Struct.of(markedProperties) as unknown as PulumiStruct;
}

export function markSecret(value: unknown): unknown {
  return isSecret(value) ? value : { [SIGNATURE_KEY]: SECRET_SIGNATURE, value };
}

/** In the bundle, the build replaces Google's class, which Pulumi's types name, with our own. */
function toOwnStruct(struct: PulumiStruct | undefined): Struct | undefined {
  return struct as unknown as Struct | undefined;
}

function getRawProperties(struct: PulumiStruct | undefined): Properties {
  return toOwnStruct(struct)?.toProperties() ?? {};
}

/** Returns whether it may contain a secret or a resource. Walking through thousands of entries takes far longer. */
function mayContainSigned(struct: PulumiStruct | undefined): boolean {
  return toOwnStruct(struct)?.mayContain(SIGNATURE_KEY) ?? false;
}

/** Unwraps all secrets and resources in a value, however deep. A value without any is returned, not copied. */
function unwrapValues(value: unknown): unknown {
  if (!containsMatch(value, (inner) => isSecret(inner) || isResource(inner))) return value;
  if (isSecret(value)) return unwrapValues(value.value);
  if (isResource(value)) return value.id || value.urn;
  if (Array.isArray(value)) return value.map(unwrapValues);
  return Object.fromEntries(Object.entries(value as object).map(([key, inner]) => [key, unwrapValues(inner)]));
}

/** Marks values as secret if the source's value of the same name is secret. */
function copySecrets(source: Properties, values: Properties): Properties {
  if (!containsMatch(source, isSecret)) return values;
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, copySecret(source[name], value)]));
}

function copySecret(source: unknown, value: unknown): unknown {
  if (!containsMatch(source, isSecret)) return value;
  if (isSecret(source) || !isMap(source) || !isMap(value)) return markSecret(value);
  // A secret under a renamed key would be in cleartext, so the whole map becomes secret.
  const hasMissingKey = Object.keys(source).some(
    (key) => !Object.hasOwn(value, key) && containsMatch(source[key], isSecret),
  );
  const hasRenamedKeys = hasMissingKey && !Object.keys(value).every((key) => Object.hasOwn(source, key));
  return hasRenamedKeys ? markSecret(value) : copySecrets(source, value);
}

function containsMatch(value: unknown, isMatch: (value: unknown) => boolean): boolean {
  if (typeof value !== "object" || value === null) return false;
  return isMatch(value) || Object.values(value).some((inner) => containsMatch(inner, isMatch));
}

function isMap(value: unknown): value is Properties {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isSecret(value: unknown): value is { readonly value: unknown } {
  return isMap(value) && value[SIGNATURE_KEY] === SECRET_SIGNATURE;
}

function isResource(value: unknown): value is { readonly id?: unknown; readonly urn: unknown } {
  return isMap(value) && value[SIGNATURE_KEY] === RESOURCE_SIGNATURE;
}

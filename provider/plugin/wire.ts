import { Struct } from "google-protobuf/google/protobuf/struct_pb.js";
import type { Properties } from "../resources/front";
import { fromPulumi, PROVIDER_PROPERTY, toPulumi } from "../resources/pulumi-values";

/** By these Pulumi tells a secret from an object, on the wire. */
const SIGNATURE = "4dabf18193072939515e22adb298388d";
const SECRET = "1b47061264138c4ac30d75fd1eb44270";

/** Properties of a message, as plain data; a secret among them as Pulumi tells it. */
export function propertiesOf(struct: Struct | undefined): Properties {
  return fromPulumi((struct?.toJavaScript() ?? {}) as Properties);
}

/** The same without what tells a secret from another value: what is made of it goes back by {@link keepingSecrets}. */
export function openPropertiesOf(struct: Struct | undefined): Properties {
  return opened(propertiesOf(struct)) as Properties;
}

/**
 * Properties, of which is secret what is so in those that they were made of, under the same name. So the engine does it for
 * plugins that know no secrets.
 */
export function keepingSecrets(made: Properties, of: Struct | undefined): Properties {
  return withSecretsOf(made, propertiesOf(of));
}

/** Whether properties were made by a dynamic resource, which has its provider in them. */
export function isOfDynamicResource(struct: Struct | undefined): boolean {
  return struct?.getFieldsMap().has(PROVIDER_PROPERTY) ?? false;
}

/** Plain data for a message. What is undefined is left out. */
export function structOf(properties: Properties): Struct {
  const given = Object.entries(toPulumi(properties)).filter(([, value]) => value !== undefined);
  return Struct.fromJavaScript(Object.fromEntries(given) as Parameters<typeof Struct.fromJavaScript>[0]);
}

/** A value that Pulumi keeps as a secret. */
export function asSecret(value: unknown): unknown {
  return isSecret(value) ? value : { [SIGNATURE]: SECRET, value };
}

/** What a secret holds; any other value as it is. */
export function unwrapped(value: unknown): unknown {
  return isSecret(value) ? value.value : value;
}

function opened(value: unknown): unknown {
  if (isSecret(value)) return opened(value.value);
  if (!holdsSecret(value)) return value;
  if (Array.isArray(value)) return value.map(opened);
  return Object.fromEntries(Object.entries(value as Properties).map(([key, one]) => [key, opened(one)]));
}

function withSecretsOf(made: Properties, given: Properties): Properties {
  if (!holdsSecret(given)) return made;
  const kept = Object.entries(made).map(([key, value]) => {
    const before = given[key];
    if (isMap(value) && isMap(before)) return [key, withSecretsOf(value, before)];
    return [key, value !== undefined && holdsSecret(before) ? asSecret(value) : value];
  });
  return Object.fromEntries(kept) as Properties;
}

function holdsSecret(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  return isSecret(value) || Object.values(value).some(holdsSecret);
}

function isMap(value: unknown): value is Properties {
  return typeof value === "object" && value !== null && !Array.isArray(value) && !isSecret(value);
}

function isSecret(value: unknown): value is { readonly value: unknown } {
  return typeof value === "object" && value !== null && (value as Properties)[SIGNATURE] === SECRET;
}

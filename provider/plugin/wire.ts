import { Struct } from "google-protobuf/google/protobuf/struct_pb.js";
import type { Properties } from "../resources/front";
import { fromPulumi, PROVIDER_PROPERTY, toPulumi } from "../resources/pulumi-values";

/** By these Pulumi tells a secret from an object, on the wire. */
const SIGNATURE = "4dabf18193072939515e22adb298388d";
const SECRET = "1b47061264138c4ac30d75fd1eb44270";

/** Properties of a message, as plain data. */
export function propertiesOf(struct: Struct | undefined): Properties {
  return fromPulumi((struct?.toJavaScript() ?? {}) as Properties);
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

function isSecret(value: unknown): value is { readonly value: unknown } {
  return typeof value === "object" && value !== null && (value as Properties)[SIGNATURE] === SECRET;
}

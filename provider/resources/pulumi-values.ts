import { PULUMI_UNKNOWN, UNKNOWN } from "../settings/unknown";
import type { Properties } from "./provider-adapter";

/** The property in which Pulumi stores a dynamic resource's provider. */
export const PROVIDER_PROPERTY = "__provider";

/**
 * The property by which a dynamic resource tells check its name, which the engine doesn't. It is no argument: check takes it out.
 * In state, the engine lists the names of all that a program gives, so that each letter of it is there once a resource.
 */
export const NAME_PROPERTY = "__n";

/**
 * The property by which a dynamic resource tells check the tenant's own domains that its settings files name, as JSON. It is no
 * argument either.
 */
export const OWN_DOMAINS_PROPERTY = "__ownDomains";

/** Properties as the engine sends them, as plain data: without the provider of a dynamic resource. */
export function fromPulumi(properties: Properties): Properties {
  const { [PROVIDER_PROPERTY]: _provider, ...rest } = properties;
  return replaceLeaves(rest, PULUMI_UNKNOWN, UNKNOWN) as Properties;
}

/** Plain data as the engine takes it. */
export function toPulumi(properties: Properties): Record<string, unknown> {
  return replaceLeaves(properties, UNKNOWN, PULUMI_UNKNOWN) as Record<string, unknown>;
}

/** The same value with one leaf in the place of another, however deep. What holds none is passed on, not copied. */
function replaceLeaves(value: unknown, from: unknown, to: unknown): unknown {
  if (value === from) return to;
  if (typeof value !== "object" || value === null || !containsLeaf(value, from)) return value;
  if (Array.isArray(value)) return value.map((inner) => replaceLeaves(inner, from, to));
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, replaceLeaves(inner, from, to)]));
}

function containsLeaf(value: object, searchedValue: unknown): boolean {
  const values = value as Properties;
  // Without a copy of thousands of values.
  for (const key in values) {
    const inner = values[key];
    if (inner === searchedValue || (typeof inner === "object" && inner !== null && containsLeaf(inner, searchedValue)))
      return true;
  }
  return false;
}

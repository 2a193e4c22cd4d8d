import { PULUMI_UNKNOWN, UNKNOWN } from "../model/unknown-value";
import type { Properties } from "./provider-adapter";

export const PROVIDER_PROPERTY = "__provider";

/**
 * The property that passes a dynamic resource's name to `check`, because the engine doesn't. It isn't an argument, so
 * `check` removes it. The name is short because the state lists the property names of every resource.
 */
export const NAME_PROPERTY = "__n";

/**
 * The property that passes the own domains from the tenant's settings files to `check` of a dynamic resource, as JSON.
 * It isn't an argument either.
 */
export const OWN_DOMAINS_PROPERTY = "__ownDomains";

/** Converts the engine's properties to plain data, without the provider of a dynamic resource. */
export function fromPulumi(properties: Properties): Properties {
  const { [PROVIDER_PROPERTY]: _provider, ...rest } = properties;
  return replaceLeaves(rest, PULUMI_UNKNOWN, UNKNOWN) as Properties;
}

export function toPulumi(properties: Properties): Record<string, unknown> {
  return replaceLeaves(properties, UNKNOWN, PULUMI_UNKNOWN) as Record<string, unknown>;
}

/** Replaces a leaf value at any depth. Returns values that don't contain it without a copy. */
function replaceLeaves(value: unknown, from: unknown, to: unknown): unknown {
  if (value === from) return to;
  if (typeof value !== "object" || value === null || !containsLeaf(value, from)) return value;
  if (Array.isArray(value)) return value.map((inner) => replaceLeaves(inner, from, to));
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, replaceLeaves(inner, from, to)]));
}

function containsLeaf(value: object, searchedValue: unknown): boolean {
  const values = value as Properties;
  // Iterates over the keys to avoid copying thousands of values.
  for (const key in values) {
    const inner = values[key];
    if (inner === searchedValue || (typeof inner === "object" && inner !== null && containsLeaf(inner, searchedValue)))
      return true;
  }
  return false;
}

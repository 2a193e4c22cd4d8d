import { CONFIG_NAMESPACE } from "./setting-names";

/** What the resources are called in a program. */
export const RESOURCE_KINDS = ["AllowDenyEntry", "AllowDenyList", "VipEmployee", "VipList"] as const;

export type ResourceKind = (typeof RESOURCE_KINDS)[number];

/** The tenant's list that a kind of resource writes to. */
export function getTenantList(kind: string): "entries" | "vips" {
  return kind.startsWith("Vip") ? "vips" : "entries";
}

/** The two ways in which Pulumi asks for resources: as dynamic resources, or over the native plugin. */
export const PROVIDER_KINDS = ["dynamic", "native"] as const;

export type ProviderKind = (typeof PROVIDER_KINDS)[number];

/** The type in state of a dynamic resource. */
export function getDynamicType<Kind extends ResourceKind>(kind: Kind) {
  return `pulumi-nodejs:dynamic/${CONFIG_NAMESPACE}:${kind}` as const;
}

/** The type in state of a resource of the native plugin. */
export function getNativeType<Kind extends ResourceKind>(kind: Kind) {
  return `${CONFIG_NAMESPACE}:index:${kind}` as const;
}

/** The type in state of a resource of a front. */
export function getResourceType(variant: ProviderKind, kind: ResourceKind): string {
  return variant === "native" ? getNativeType(kind) : getDynamicType(kind);
}

/** The kind of resource that a type in state names, of either front; undefined for the resources of others. */
export function parseResourceKind(type: string): ResourceKind | undefined {
  return RESOURCE_KINDS.find((kind) => type === getDynamicType(kind) || type === getNativeType(kind));
}

/** The resource's own type out of a URN, which holds those of its parents before it. */
export function getUrnType(urn: string): string {
  return getUrnTypes(urn).at(-1) ?? "";
}

/** The types out of a URN: those of the parents, the outermost first, and the resource's own. */
export function getUrnTypes(urn: string): readonly string[] {
  return urn.split("::")[2]?.split("$") ?? [];
}

/** The name out of a URN; it may hold any text, colons too. */
export function getUrnName(urn: string): string {
  return urn.split("::").slice(3).join("::");
}

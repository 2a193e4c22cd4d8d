import { CONFIG_NAMESPACE } from "./setting-names";

export const RESOURCE_KINDS = ["AllowDenyEntry", "AllowDenyList", "VipEmployee", "VipList"] as const;

export type ResourceKind = (typeof RESOURCE_KINDS)[number];

export function getTenantList(kind: string): "entries" | "vips" {
  return kind.startsWith("Vip") ? "vips" : "entries";
}

export const PROVIDER_KINDS = ["dynamic", "native"] as const;

export type ProviderKind = (typeof PROVIDER_KINDS)[number];

export function getDynamicType<Kind extends ResourceKind>(kind: Kind) {
  return `pulumi-nodejs:dynamic/${CONFIG_NAMESPACE}:${kind}` as const;
}

export function getNativeType<Kind extends ResourceKind>(kind: Kind) {
  return `${CONFIG_NAMESPACE}:index:${kind}` as const;
}

export function getResourceType(variant: ProviderKind, kind: ResourceKind): string {
  return variant === "native" ? getNativeType(kind) : getDynamicType(kind);
}

/** Parses the kind of resource from a type in the state, of either provider. Undefined for other resources. */
export function parseResourceKind(type: string): ResourceKind | undefined {
  return RESOURCE_KINDS.find((kind) => type === getDynamicType(kind) || type === getNativeType(kind));
}

export function getUrnType(urn: string): string {
  return getUrnTypes(urn).at(-1) ?? "";
}

export function getUrnTypes(urn: string): readonly string[] {
  return urn.split("::")[2]?.split("$") ?? [];
}

/** Returns the name from a URN. It may contain any text, including colons. */
export function getUrnName(urn: string): string {
  return urn.split("::").slice(3).join("::");
}

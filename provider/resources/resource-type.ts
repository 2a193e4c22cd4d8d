import { NAMESPACE } from "./known-names";

/** What the resources are called in a program. */
export const RESOURCE_KINDS = ["AllowDenyEntry", "AllowDenyList", "VipEmployee", "VipList"] as const;

export type ResourceKind = (typeof RESOURCE_KINDS)[number];

/** The tenant's list that a kind of resource writes to. */
export function listOf(kind: string): "entries" | "vips" {
  return kind.startsWith("Vip") ? "vips" : "entries";
}

/** The two ways in which Pulumi asks for resources: as dynamic resources, or over the native plugin. */
export const FRONTS = ["dynamic", "native"] as const;

export type FrontName = (typeof FRONTS)[number];

/** The type in state of a dynamic resource. */
export function dynamicType<Kind extends ResourceKind>(kind: Kind) {
  return `pulumi-nodejs:dynamic/${NAMESPACE}:${kind}` as const;
}

/** The type in state of a resource of the native plugin. */
export function nativeType<Kind extends ResourceKind>(kind: Kind) {
  return `${NAMESPACE}:index:${kind}` as const;
}

/** The type in state of a resource of a front. */
export function typeOf(variant: FrontName, kind: ResourceKind): string {
  return variant === "native" ? nativeType(kind) : dynamicType(kind);
}

/** The kind of resource that a type in state names, of either front; undefined for the resources of others. */
export function resourceKind(type: string): ResourceKind | undefined {
  return RESOURCE_KINDS.find((kind) => type === dynamicType(kind) || type === nativeType(kind));
}

/** The resource's own type out of a URN, which holds those of its parents before it. */
export function typeInUrn(urn: string): string {
  return typesInUrn(urn).at(-1) ?? "";
}

/** The types out of a URN: those of the parents, the outermost first, and the resource's own. */
export function typesInUrn(urn: string): readonly string[] {
  return urn.split("::")[2]?.split("$") ?? [];
}

/** The name out of a URN; it may hold any text, colons too. */
export function nameInUrn(urn: string): string {
  return urn.split("::").slice(3).join("::");
}

const KINDS = ["AllowDenyList", "VipList", "AllowDenyEntry", "VipEmployee"] as const;

/** Which of the package's resources declare something of a tenant. */
export type ResourceKind = (typeof KINDS)[number];

/** The kind that a resource's type in state names; undefined for the resources of others. */
export function resourceKind(type: string): ResourceKind | undefined {
  return KINDS.find((kind) => type === `pulumi-nodejs:dynamic/email-security:${kind}`);
}

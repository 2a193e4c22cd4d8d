import type { ServiceLimit, Target } from "./target";

/** The limit of a tenant's service address. */
export function limitOf(
  services: readonly (readonly [address: string, limit: ServiceLimit])[],
  { baseUrl }: Target,
): ServiceLimit | undefined {
  return services.find(([address]) => address === baseUrl)?.[1];
}

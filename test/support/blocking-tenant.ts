import type { ServiceRequest } from "../../provider/sandbox/options";
import { type ManagedSandboxTenant, sandboxTenant } from "./sandbox-tenant";

/** A tenant whose service holds back some answers. */
export interface HoldingTenant extends ManagedSandboxTenant {
  /** How many requests were held back. */
  held(): number;
  /** Answers those that are held back, and holds back no others. */
  letGo(): void;
}

/** @param answer what those that were held back are answered with. Default: as ever. */
export async function holdingTenant(
  isHeld: (request: ServiceRequest) => boolean,
  answer?: { readonly status: number; readonly body: unknown },
): Promise<HoldingTenant> {
  const gate = Promise.withResolvers<void>();
  let isOpen = false;
  let held = 0;
  const tenant = await sandboxTenant({
    async intercept(request) {
      if (isOpen || !isHeld(request)) return undefined;
      held += 1;
      await gate.promise;
      return answer;
    },
  });
  return {
    ...tenant,
    held: () => held,
    letGo() {
      isOpen = true;
      gate.resolve();
    },
  };
}

import type { ServiceRequest } from "../../provider/sandbox/options";
import { type ManagedSandboxTenant, startSandboxTenant } from "./sandbox-tenant";

/** A tenant whose service holds some answers back. */
export interface HoldingTenant extends ManagedSandboxTenant {
  /** Returns the number of requests held so far. */
  heldCount(): number;
  /** Answers the held requests and holds no others. */
  releaseRequests(): void;
}

/** @param answer the response to the held requests. Default: the service's own answer. */
export async function startBlockingTenant(
  isHeld: (request: ServiceRequest) => boolean,
  answer?: { readonly status: number; readonly body: unknown },
): Promise<HoldingTenant> {
  const gate = Promise.withResolvers<void>();
  let isOpen = false;
  let blockedCount = 0;
  const tenant = await startSandboxTenant({
    async intercept(request) {
      if (isOpen || !isHeld(request)) return undefined;
      blockedCount += 1;
      await gate.promise;
      return answer;
    },
  });
  return {
    ...tenant,
    heldCount: () => blockedCount,
    releaseRequests() {
      isOpen = true;
      gate.resolve();
    },
  };
}

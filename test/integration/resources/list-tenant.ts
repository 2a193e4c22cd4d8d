import type { SandboxOptions } from "../../../provider/sandbox";
import { ManagedResource } from "../../support/managed-resource";
import { type ManagedSandboxTenant, startSandboxTenant } from "../../support/sandbox-tenant";

/** A tenant with a managed allow/deny list. */
export interface ListTenant extends AsyncDisposable {
  readonly tenant: ManagedSandboxTenant;
  readonly list: ManagedResource;
}

export async function startListTenant(options: SandboxOptions = {}): Promise<ListTenant> {
  const tenant = await startSandboxTenant(options);
  return {
    tenant,
    list: new ManagedResource(tenant, "allowDenyList"),
    [Symbol.asyncDispose]: () => tenant[Symbol.asyncDispose](),
  };
}

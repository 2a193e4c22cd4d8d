import type { EvidenceBase } from "../plan/evidence";
import type { Observed } from "../plan/observed";
import { connect } from "./command-line";

/** How much of the tenant's mail is looked at. */
export interface AskedOptions {
  readonly days: number;
  readonly maxPages?: number;
}

/**
 * Asks the tenant of the environment what it holds, and what its mail says: ⌈N/200⌉ requests a list, and pages of threats and reports.
 *
 * @throws {ConfigurationError} that names what is missing of the connection.
 * @throws {ServiceError} when a list can't be read.
 */
export async function askTenant({ days, maxPages }: AskedOptions): Promise<{
  readonly observed: Observed;
  readonly base: EvidenceBase;
  /** The service's. */
  readonly host: string;
}> {
  const { gatherEvidence } = await import("../plan/evidence.js");
  const { hostOf } = await import("../gitops/plan-tenant.js");
  const { observe } = await import("../plan/observed.js");
  const client = connect();
  try {
    const observed = await observe(client);
    const pages = maxPages === undefined ? {} : { maxPages };
    const base = await gatherEvidence({ client, days, vips: observed.vips.keys(), ...pages });
    return { observed, base, host: hostOf(client) };
  } finally {
    await client.close();
  }
}

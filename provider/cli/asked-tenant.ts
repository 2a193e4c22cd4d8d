import type { SettingsClient } from "../client";
import type { EvidenceBase } from "../plan/evidence";
import type { Observed } from "../plan/observed";
import { harmless } from "../settings/text";
import { connect } from "./command-line";
import type { TenantNamed } from "./tenant-options";

/** Bounds on the mail that is read. */
export interface AskedOptions {
  readonly days: number;
  readonly maxPages?: number;
}

/**
 * Reads the lists and mail of the tenant in the environment: ⌈N/200⌉ requests per list, and pages of threats and reports.
 *
 * @throws {ConfigurationError} with the missing connection settings.
 * @throws {ServiceError} if a list can't be read.
 */
export async function askTenant({ days, maxPages }: AskedOptions): Promise<{
  readonly observed: Observed;
  readonly base: EvidenceBase;
  /** The service's host. */
  readonly host: string;
}> {
  const { gatherEvidence } = await import("../plan/evidence.js");
  const { hostOf } = await import("../gitops/plan-tenant.js");
  const { observe } = await import("../plan/observed.js");
  const client = connect();
  try {
    const observed = await observe(client);
    const pageLimit = maxPages === undefined ? {} : { maxPages };
    const base = await gatherEvidence({ client, days, vips: observed.vips.keys(), ...pageLimit });
    return { observed, base, host: hostOf(client) };
  } finally {
    await client.close();
  }
}

/**
 * Runs a query on a tenant of the targets file, with its own key and within the rate limit of its address.
 *
 * @param journalUrl the journal that tracks the rate limit.
 */
export async function askNamed<T>(
  { target, services }: TenantNamed,
  journalUrl: string | undefined,
  request: (client: SettingsClient) => Promise<T>,
): Promise<T> {
  const { readKey } = await import("../rollout/targets/read-key.js");
  const { withTargetClient } = await import("../rollout/probing/target-client.js");
  const { permitsForReading } = await import("../rollout/rate-limit/permits-for-reading.js");
  const log = (line: string): void => console.error(harmless(line));
  const key = await readKey(target, { environment: process.env });
  const rateLimits = await permitsForReading(journalUrl, services, log);
  try {
    return await withTargetClient(target, key, { environment: process.env, permits: rateLimits.of }, request);
  } finally {
    await rateLimits.close();
  }
}

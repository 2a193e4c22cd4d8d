import type { SettingsClient } from "../client";
import { sanitizeMultiline } from "../model/text";
import type { TenantMailHistory } from "../plan/evidence";
import type { ObservedState } from "../plan/observed-state";
import { connectToTenant } from "./connect-to-tenant";
import type { NamedTenant } from "./tenant-options";

/** Bounds on the mail that is read. */
export interface TenantQueryOptions {
  readonly days: number;
  readonly maxPages?: number;
}

/**
 * Reads the lists and mail of the tenant in the environment: ⌈N/200⌉ requests per list, and pages of threats and reports.
 *
 * @throws {ConfigurationError} with the missing connection settings.
 * @throws {ServiceError} if a list can't be read.
 */
export async function queryTenant({ days, maxPages }: TenantQueryOptions): Promise<{
  readonly observed: ObservedState;
  readonly base: TenantMailHistory;
  readonly host: string;
}> {
  const { readListsAndMail } = await import("../plan/evidence.js");
  const { getHost } = await import("../gitops/plan-tenant.js");
  const client = connectToTenant();
  try {
    const pageLimit = maxPages === undefined ? {} : { maxPages };
    const { observed, history } = await readListsAndMail(client, { days, now: () => new Date(), ...pageLimit });
    return { observed, base: history, host: getHost(client) };
  } finally {
    await client.close();
  }
}

/**
 * Runs a query on a tenant of the targets file, with its own key and within the rate limit of its address.
 *
 * @param journalUrl the journal that tracks the rate limit.
 */
export async function queryNamedTenant<T>(
  { target, services }: NamedTenant,
  journalUrl: string | undefined,
  request: (client: SettingsClient) => Promise<T>,
): Promise<T> {
  const { readKey } = await import("../rollout/targets/read-key.js");
  const { useTargetClient } = await import("../rollout/probing/target-client.js");
  const { openSharedRateLimiter } = await import("../rollout/rate-limit/shared-rate-limiter.js");
  const log = (line: string): void => console.error(sanitizeMultiline(line));
  const key = await readKey(target, { environment: process.env });
  const rateLimits = await openSharedRateLimiter(journalUrl, services, log);
  try {
    return await useTargetClient(target, key, { environment: process.env, getTokens: rateLimits.getTokens }, request);
  } finally {
    await rateLimits.close();
  }
}

import type { AllowDenyEntryRow, ReadAllOptions, SettingsClient, VipEmployeeRow } from "../client";
import { CircuitOpenError } from "../client/errors";
import { keyOfRow } from "../resources/lifecycle/entry-match";
import { LISTS } from "../settings/assumptions";
import { canonicalMailbox } from "../settings/entry-value";
import { keyOfVip } from "../settings/keyed-list";
import { identityOf, isTenantOfReading, retainHeld, type TenantIdentity } from "../settings/tenant-identity";
import { withoutUndefined } from "../settings/without-undefined";
import { rowThatCounts } from "../tenant";

/** The actual state of a tenant, by the keys of the encoded lists. */
export interface Observed {
  /** ISO 8601, UTC. */
  readonly at: string;
  readonly rows: readonly AllowDenyEntryRow[];
  /** The same rows by key. A value on both lists, or twice on one, has several rows. */
  readonly entries: ReadonlyMap<string, readonly AllowDenyEntryRow[]>;
  /** VIPs with a mailbox. */
  readonly vips: ReadonlyMap<string, VipEmployeeRow>;
  /** VIPs without a mailbox, which no file can name. */
  readonly namelessVips: readonly VipEmployeeRow[];
  /** The service's clock at the start of the read, in milliseconds since 1970; absent if unknown. */
  readonly servedAtMs?: number;
}

/**
 * Reads both lists and the VIPs with ⌈N/200⌉ requests each (API reference, sections "Allow/deny list" and "VIP employees").
 *
 * @param onAnswered called on the first answer, which may be long before the end of a long list.
 * @throws {ServiceError} if one of them can't be read.
 */
export async function observe(
  client: SettingsClient,
  now: () => Date = () => new Date(),
  onAnswered: () => void = () => {},
): Promise<Observed> {
  const at = now().toISOString();
  const createOptions = (): ReadAllOptions => {
    let pages = 0;
    return {
      onPage: () => {
        pages += 1;
        if (pages > 1) onAnswered();
      },
    };
  };
  const reads = [
    client.vipEmployees.readAll(createOptions()),
    ...LISTS.map((list) => client.allowDenyEntries.readAll(list, createOptions())),
  ] as const;
  const [vipRows, ...entryRows] = await Promise.all(reads).catch(async (error: unknown) => {
    throw await findRootCause(reads, error);
  });
  return {
    ...observedFrom(at, entryRows.flat(), vipRows),
    ...withoutUndefined({ servedAtMs: client.servedAtMs }),
  };
}

/**
 * Returns the identity of the tenant in a snapshot.
 *
 * @param baseUrl the base URL of the service.
 */
export function identityOfObserved(baseUrl: string, observed: Observed): TenantIdentity {
  const { rows, servedAtMs } = observed;
  return identityOf(baseUrl, { rows, mailboxes: getMailboxes(observed), servedAtMs });
}

/** Returns the mailboxes of the VIPs. */
export function getMailboxes({ vips }: Observed): readonly (string | undefined)[] {
  return [...vips.values()].map(({ email }) => email);
}

/** Returns whether a snapshot is of the tenant of an earlier reading; undefined if one of them doesn't identify a tenant. */
export function isTenantOf(read: TenantIdentity, baseUrl: string, observed: Observed): boolean | undefined {
  return isTenantOfReading(identityOfObserved(baseUrl, observed), read, (earlier) =>
    retainHeld(earlier, observed.rows, getMailboxes(observed)),
  );
}

/** Returns the root cause of failed reads: an open circuit breaker is only a consequence of other failures. */
async function findRootCause(reads: readonly Promise<unknown>[], error: unknown): Promise<unknown> {
  if (!(error instanceof CircuitOpenError)) return error;
  for (const reading of await Promise.allSettled(reads)) {
    if (reading.status === "rejected" && !(reading.reason instanceof CircuitOpenError)) return reading.reason;
  }
  return error;
}

/** Builds a snapshot from rows. */
export function observedFrom(
  at: string,
  entryRows: readonly AllowDenyEntryRow[],
  vipRows: readonly VipEmployeeRow[],
): Observed {
  const vips = new Map<string, VipEmployeeRow>();
  const rowsWithMailbox = vipRows.filter(({ email }) => email !== undefined);
  // A mailbox may occur twice: detected and added.
  for (const [mailbox, rows] of Map.groupBy(rowsWithMailbox, ({ email = "" }) => canonicalMailbox(email))) {
    const row = rowThatCounts(rows, mailbox);
    if (row !== undefined) vips.set(keyOfVip(mailbox), row);
  }
  return {
    at,
    rows: entryRows,
    entries: Map.groupBy(entryRows, keyOfRow),
    vips,
    namelessVips: vipRows.filter(({ email }) => email === undefined),
  };
}

import type { AllowDenyEntryRow, ReadAllOptions, SettingsClient, VipEmployeeRow } from "../client";
import { CircuitOpenError } from "../client/errors";
import { ENTRY_LISTS } from "../model/assumptions";
import { encodeVipKey } from "../model/encoded-list";
import { canonicalizeMailbox } from "../model/entry-value";
import { omitUndefined } from "../model/omit-undefined";
import {
  buildTenantIdentity,
  IdentityBuilder,
  isSameTenantAsEarlier,
  type TenantIdentity,
} from "../model/tenant-identity";
import { encodeRowKey } from "../resources/lifecycle/entry-match";
import { selectEffectiveRow } from "../tenant";

export interface ObservedState {
  /** ISO 8601, UTC. */
  readonly readAt: string;
  readonly rows: readonly AllowDenyEntryRow[];
  /** The same rows by key. A value on both lists, or twice on one, has several rows. */
  readonly entries: ReadonlyMap<string, readonly AllowDenyEntryRow[]>;
  readonly vips: ReadonlyMap<string, VipEmployeeRow>;
  /** VIPs without a mailbox, which no file can name. */
  readonly mailboxlessVips: readonly VipEmployeeRow[];
  /** The service's clock at the start of the read, in milliseconds since 1970; absent if unknown. */
  readonly servedAtMs?: number;
}

/**
 * Reads both lists and the VIPs with ⌈N/200⌉ requests each (API reference, sections "Allow/deny list" and "VIP
 * employees").
 *
 * @param onAnswered called on the first response, which may be long before the end of a long list.
 * @throws {ServiceError} if one of them can't be read.
 */
export async function readObservedState(
  client: SettingsClient,
  now: () => Date = () => new Date(),
  onAnswered: () => void = () => {},
): Promise<ObservedState> {
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
    ...ENTRY_LISTS.map((list) => client.allowDenyEntries.readAll(list, createOptions())),
  ] as const;
  const [vipRows, ...entryRows] = await Promise.all(reads).catch(async (error: unknown) => {
    throw await findRootCause(reads, error);
  });
  return {
    ...buildObservedState(at, entryRows.flat(), vipRows),
    ...omitUndefined({ servedAtMs: client.serviceTimeMs }),
  };
}

export function getObservedIdentity(baseUrl: string, observed: ObservedState): TenantIdentity {
  const { rows, servedAtMs } = observed;
  return buildTenantIdentity(baseUrl, { rows, mailboxes: getVipMailboxes(observed), servedAtMs });
}

export function getVipMailboxes({ vips }: ObservedState): readonly (string | undefined)[] {
  return [...vips.values()].map(({ email }) => email);
}

/** Returns whether a snapshot is of the tenant of an earlier snapshot; undefined if one of them doesn't identify a tenant. */
export function isObservedTenant(read: TenantIdentity, baseUrl: string, observed: ObservedState): boolean | undefined {
  const builder = new IdentityBuilder(read);
  builder.addAll({ rows: observed.rows, mailboxes: getVipMailboxes(observed) });
  return isSameTenantAsEarlier(builder.build(baseUrl, observed.servedAtMs), read, (earlier) => builder.retain(earlier));
}

/** Returns the root cause of failed reads: an open circuit breaker is only a consequence of other failures. */
async function findRootCause(reads: readonly Promise<unknown>[], error: unknown): Promise<unknown> {
  if (!(error instanceof CircuitOpenError)) return error;
  for (const result of await Promise.allSettled(reads)) {
    if (result.status === "rejected" && !(result.reason instanceof CircuitOpenError)) return result.reason;
  }
  return error;
}

export function buildObservedState(
  readAt: string,
  entryRows: readonly AllowDenyEntryRow[],
  vipRows: readonly VipEmployeeRow[],
): ObservedState {
  const vips = new Map<string, VipEmployeeRow>();
  const rowsWithMailbox = vipRows.filter(({ email }) => email !== undefined);
  // A mailbox may occur twice: detected and added.
  for (const [mailbox, rows] of Map.groupBy(rowsWithMailbox, ({ email = "" }) => canonicalizeMailbox(email))) {
    const row = selectEffectiveRow(rows, mailbox);
    if (row !== undefined) vips.set(encodeVipKey(mailbox), row);
  }
  return {
    readAt,
    rows: entryRows,
    entries: Map.groupBy(entryRows, encodeRowKey),
    vips,
    mailboxlessVips: vipRows.filter(({ email }) => email === undefined),
  };
}

import type { AllowDenyEntryRow, ReadAllOptions, SettingsClient, VipEmployeeRow } from "../client";
import { CircuitOpenError } from "../client/errors";
import { keyOfRow } from "../resources/lifecycle/entry-match";
import { LISTS } from "../settings/assumptions";
import { canonicalMailbox } from "../settings/entry-value";
import { keyOfVip } from "../settings/keyed-list";
import { identityOf, isNothing, isStillTenant, type TenantIdentity } from "../settings/tenant-identity";
import { withoutUndefined } from "../settings/without-undefined";
import { rowThatCounts } from "../tenant";

/** What a tenant holds, as it was read, by the keys of a keyed list. */
export interface Observed {
  /** ISO 8601, UTC. */
  readonly at: string;
  readonly rows: readonly AllowDenyEntryRow[];
  /** The same rows. Most keys have one; a value that is on both lists, or twice on one, has several. */
  readonly entries: ReadonlyMap<string, readonly AllowDenyEntryRow[]>;
  /** Those with a mailbox. */
  readonly vips: ReadonlyMap<string, VipEmployeeRow>;
  /** VIPs whose row has no mailbox: real ones, which no file can name. */
  readonly namelessVips: readonly VipEmployeeRow[];
  /** The service's clock when the reading began, in milliseconds since 1970, where it tells it. */
  readonly servedAtMs?: number;
}

/**
 * Reads both lists and the VIPs: ⌈N/200⌉ requests each (reference, sections "Allow/deny list" and "VIP employees").
 *
 * @param answered told as soon as the service has answered anything, which may be long before a long list has ended.
 * @throws {ServiceError} when one of them can't be read.
 */
export async function observe(
  client: SettingsClient,
  now: () => Date = () => new Date(),
  answered: () => void = () => {},
): Promise<Observed> {
  const at = now().toISOString();
  const options = (): ReadAllOptions => {
    let pages = 0;
    return {
      onPage: () => {
        pages += 1;
        if (pages > 1) answered();
      },
    };
  };
  const readings = [
    client.vipEmployees.readAll(options()),
    ...LISTS.map((list) => client.allowDenyEntries.readAll(list, options())),
  ] as const;
  const [vipRows, ...entryRows] = await Promise.all(readings).catch(async (error: unknown) => {
    throw await causeAmong(readings, error);
  });
  return {
    ...observedFrom(at, entryRows.flat(), vipRows),
    ...withoutUndefined({ servedAtMs: client.servedAtMs }),
  };
}

/** What identifies the tenant that was read. @param baseUrl of the service. */
export function identityOfObserved(baseUrl: string, { rows, vips, servedAtMs }: Observed): TenantIdentity {
  return identityOf(baseUrl, { rows, mailboxes: [...vips.values()].map(({ email }) => email), servedAtMs });
}

/**
 * Whether a tenant that was read is the one that was read before; undefined where one of the readings identifies no tenant.
 *
 * Where the samples of the two readings differ, each row is looked up in the earlier sample: what was added since may have displaced it.
 */
export function isTenantOf(read: TenantIdentity, baseUrl: string, observed: Observed): boolean | undefined {
  const now = identityOfObserved(baseUrl, observed);
  // A service may have got another address, under which its ids are the same.
  const before = { ...read, address: now.address };
  if (isNothing(before) || isNothing(now)) return undefined;
  if (isStillTenant(now, before)) return true;
  const known = new Set([...before.unique, ...before.counted, ...(before.people ?? [])]);
  const held = new Set<string>();
  const add = (part: TenantIdentity): void => {
    for (const hash of [...part.unique, ...part.counted, ...(part.people ?? [])]) {
      if (known.has(hash)) held.add(hash);
    }
  };
  const { rows, vips } = observed;
  for (let at = 0; at < rows.length; at += CHUNK) {
    add(identityOf(baseUrl, { rows: rows.slice(at, at + CHUNK), mailboxes: [] }));
  }
  const mailboxes = [...vips.values()].map(({ email }) => email);
  for (let at = 0; at < mailboxes.length; at += CHUNK) {
    add(identityOf(baseUrl, { rows: [], mailboxes: mailboxes.slice(at, at + CHUNK) }));
  }
  const stillHeld = (hashes: readonly string[] = []): readonly string[] =>
    hashes.filter((hash) => held.has(hash));
  const people = stillHeld(before.people);
  return isStillTenant(
    {
      ...now,
      unique: stillHeld(before.unique),
      counted: stillHeld(before.counted),
      ...(people.length === 0 ? {} : { people }),
    },
    before,
  );
}

/** So few rows are all in the sample of a reading. */
const CHUNK = 16;

/** Why readings failed: what was not sent any more, as others had failed, failed of these. */
async function causeAmong(readings: readonly Promise<unknown>[], error: unknown): Promise<unknown> {
  if (!(error instanceof CircuitOpenError)) return error;
  for (const reading of await Promise.allSettled(readings)) {
    if (reading.status === "rejected" && !(reading.reason instanceof CircuitOpenError)) return reading.reason;
  }
  return error;
}

/** The same of rows that were read already. */
export function observedFrom(
  at: string,
  entryRows: readonly AllowDenyEntryRow[],
  vipRows: readonly VipEmployeeRow[],
): Observed {
  const vips = new Map<string, VipEmployeeRow>();
  const named = vipRows.filter(({ email }) => email !== undefined);
  // A mailbox may stand there twice, once detected and once added.
  for (const [mailbox, rows] of Map.groupBy(named, ({ email = "" }) => canonicalMailbox(email))) {
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

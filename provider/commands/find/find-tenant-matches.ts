import type { AllowDenyEntryRow, SettingsClient, VipEmployeeRow } from "../../client";
import { ENTRY_LISTS } from "../../model/assumptions";
import { EmailSecurityError, getErrorMessage } from "../../model/email-security-error";
import { omitUndefined } from "../../model/omit-undefined";
import {
  IdentityBuilder,
  isIdentifiedByEntries,
  isSameTenantAsEarlier,
  type TenantIdentity,
} from "../../model/tenant-identity";
import type { StackLists } from "../../plan/desired-state";
import { type ExpectedMailboxes, explainTenantMismatch } from "../../plan/tenant-mismatch";
import { OtherTenantError } from "../../resources/lifecycle/errors";
import { formatSettingsErrorMessage } from "../../settings-files/finding";
import { inspectSettings, type SettingsReadCache, type SettingsReadResult } from "../../settings-files/read-settings";
import { buildDecisions } from "./deciding-entries";
import { findMatches, isMatchingEntry, isMatchingVip } from "./find-matches";
import type { ReadError, TenantMatches } from "./find-schema";
import type { QueryMatcher } from "./query-matcher";

/** The sources to search for one tenant; absent sources are not read. */
export interface TenantSources {
  readonly name: string;
  readonly host?: string | undefined;
  readonly file?: string | undefined;
  readonly tenant?: ReadOutcome<"rows", MatchingRows>;
  readonly stack?: ReadOutcome<"known", StackLists> & { readonly name: string };
  readonly readOptions?: { readonly today?: string | undefined; readonly cache?: SettingsReadCache };
}

export interface MatchingRows {
  readonly entries: readonly AllowDenyEntryRow[];
  readonly vips: readonly VipEmployeeRow[];
  readonly identity: TenantIdentity;
  /** Returns whether the full lists are of the tenant of an earlier read; undefined if one of them doesn't identify a tenant. */
  readonly isTenantOf: (earlier: TenantIdentity) => boolean | undefined;
}

type ReadOutcome<Name extends string, T> =
  | ({ readonly [_ in Name]: T } & { readonly error?: undefined })
  | ({ readonly [_ in Name]?: undefined } & { readonly error: unknown })
  | undefined;

export interface MatchingRowsOptions {
  /** Called on the first response of the service. */
  readonly onAnswered?: () => void;
  /** The expected mailboxes; if given, VIPs are always read to verify the tenant. */
  readonly expected?: ExpectedMailboxes;
  readonly earlier?: TenantIdentity;
  /** Whether to read the VIPs also if the entries don't identify the tenant. Default: false. */
  readonly isIdentityNeeded?: boolean;
}

/**
 * Reads both lists of a tenant, and its VIPs if the query may match a mailbox, with ⌈N/200⌉ requests each. Keeps only
 * matching rows.
 *
 * @throws {ServiceError} if one of the lists can't be read.
 * @throws {OtherTenantError} if the VIPs belong to another tenant.
 */
export async function readMatchingRows(
  client: SettingsClient,
  matcher: QueryMatcher,
  { onAnswered = () => {}, expected, earlier, isIdentityNeeded = false }: MatchingRowsOptions = {},
): Promise<MatchingRows> {
  const onPage = (): (() => void) => {
    let pages = 0;
    return () => {
      pages += 1;
      if (pages > 1) onAnswered();
    };
  };
  const reader = new IdentityBuilder(earlier);
  const keepEntry = (row: AllowDenyEntryRow): boolean => {
    reader.addEntry(row);
    return isMatchingEntry(matcher, row);
  };
  const entries = ENTRY_LISTS.map((list) =>
    client.allowDenyEntries.readAll(list, { onPage: onPage(), keep: keepEntry }),
  );
  const mailboxes = new Set<string | undefined>();
  const keep = (row: VipEmployeeRow): boolean => {
    mailboxes.add(row.email);
    reader.addVip(row.email);
    return isMatchingVip(matcher, row);
  };
  const readVips = async (): Promise<readonly VipEmployeeRow[]> => {
    const matchingVips = await client.vipEmployees.readAll({ onPage: onPage(), keep });
    reader.markVipsRead();
    return matchingVips;
  };
  const vips = matcher.canMatchMailbox || expected !== undefined ? readVips() : undefined;
  const [rows, earlyVips] = await Promise.all([Promise.all(entries), vips]);
  const areVipsMissing = earlyVips === undefined && isIdentityNeeded;
  const vipRows =
    earlyVips ?? (areVipsMissing && !isIdentifiedByEntries(reader.build(client.baseUrl)) ? await readVips() : []);
  const mismatch = expected && explainTenantMismatch(mailboxes, expected);
  if (mismatch !== undefined) throw new OtherTenantError(mismatch);
  const identity = reader.build(client.baseUrl, client.serviceTimeMs);
  return {
    entries: rows.flat(),
    vips: vipRows,
    identity,
    isTenantOf: (before) => isSameTenantAsEarlier(identity, before, (tenantIdentity) => reader.retain(tenantIdentity)),
  };
}

/** Searches the files, the service and the stack of one tenant. Never throws: the result lists unreadable sources. */
export function findTenantMatches(
  matcher: QueryMatcher,
  { name, host, file, tenant, stack, readOptions = {} }: TenantSources,
): TenantMatches {
  const readErrors: ReadError[] = [];
  const settingsResult = file === undefined ? undefined : readSettingsFiles(file, readOptions, readErrors);
  if (tenant?.error !== undefined) readErrors.push(buildReadError("tenant", tenant.error));
  if (stack?.error !== undefined) readErrors.push(buildReadError("stack", stack.error));
  const rows = tenant?.rows;
  const known = stack?.known;
  const matches = findMatches(
    matcher,
    omitUndefined({
      files: settingsResult,
      rows: rows?.entries,
      vips: rows?.vips,
      stack: stack === undefined || known === undefined ? undefined : { name: stack.name, known },
    }),
  );
  // If the tenant could not be read, its actual state is unknown, so its files don't show which entry decides.
  const hasState = rows !== undefined || (tenant === undefined && settingsResult !== undefined);
  const decisions = hasState ? buildDecisions(matcher.queries, matches, rows === undefined ? "files" : "tenant") : [];
  return { ...omitUndefined({ name, host, file }), matches, decisions, readErrors };
}

/** Describes why a source could not be read. */
export function buildReadError(source: ReadError["source"], error: unknown): ReadError {
  const [message = ""] = getErrorMessage(error).split("\n");
  return { source, code: error instanceof EmailSecurityError ? error.code : "Error", message };
}

/** Reads the declarations as far as possible: a mistake in one doesn't hide the others. */
function readSettingsFiles(
  file: string,
  { today, cache }: NonNullable<TenantSources["readOptions"]>,
  readErrors: ReadError[],
): SettingsReadResult | undefined {
  const settingsResult = inspectSettings(file, {
    ownDomains: [],
    shouldCrossCheck: false,
    ...omitUndefined({ today, cache }),
  });
  if (settingsResult.settings === undefined) {
    const message = formatSettingsErrorMessage(file, settingsResult.findings).replaceAll(/\n\s*/g, " ");
    readErrors.push({ source: "file", code: "ERR_SETTINGS_FILE", message });
  }
  return settingsResult.draft === undefined ? undefined : settingsResult;
}

import type { SettingsClient, VipEmployeeRow } from "../client";
import { getVipRowIdentity } from "../client/vip-employees";
import { canonicalizeMailbox } from "../model/entry-value";
import { omitUndefined } from "../model/omit-undefined";
import { findEffectiveVip } from "./match-rows";
import type { ReadWriteLock } from "./read-write-lock";
import type { RowIndex } from "./row-index";
import { readListRows, Snapshot, type SnapshotOptions } from "./snapshot";

export function createVipSnapshot(
  client: SettingsClient,
  readWriteLock: ReadWriteLock,
  clock: Pick<SnapshotOptions<VipEmployeeRow>, "now" | "sleep">,
): Snapshot<VipEmployeeRow> {
  return new Snapshot<VipEmployeeRow>({
    read: () => readWriteLock.read(() => readListRows((options) => client.vipEmployees.readAll(options))),
    getKey: getVipRowIdentity,
    getName: (row) => canonicalizeMailbox(row.email ?? ""),
    isShown: isVipVisible,
    overlay: overlayVip,
    ...clock,
  });
}

export async function refetchListedVips(
  mailboxes: readonly string[],
  vips: Snapshot<VipEmployeeRow>,
): Promise<ReadonlySet<string>> {
  await vips.refetch();
  const isMissing = (rows: RowIndex<VipEmployeeRow>) => mailboxes.some((mailbox) => !rows.getByName(mailbox).length);
  const rows = await vips.confirmMissing(isMissing);
  return new Set(mailboxes.filter((mailbox) => rows.getByName(mailbox).length > 0));
}

/**
 * Returns the row of a VIP after its comment was edited.
 *
 * @param storedRow the stored row, without directory fields and possibly without unknown ones.
 */
export function applyVipEdit(
  previousRow: VipEmployeeRow | undefined,
  storedRow: Partial<VipEmployeeRow>,
  email: string,
): VipEmployeeRow {
  return {
    ...EMPTY_VIP,
    ...previousRow,
    ...omitUndefined(storedRow),
    email: storedRow.email ?? email,
    comment: storedRow.comment,
  };
}

/** Compares by mailbox, because a row's key has further parts that the response to an edit may lack. */
function isVipVisible({ email = "", comment }: VipEmployeeRow, rows: RowIndex<VipEmployeeRow>): boolean {
  return rows.getByName(canonicalizeMailbox(email)).some((row) => row.comment === comment);
}

/** Applies a written comment to the list's row, because only the list has all fields. */
function overlayVip(writtenRow: VipEmployeeRow, rows: RowIndex<VipEmployeeRow>): void {
  const listedRow = findEffectiveVip(rows, writtenRow.email ?? "");
  const row = listedRow === undefined ? writtenRow : { ...listedRow, comment: writtenRow.comment };
  const key = getVipRowIdentity(row);
  if (key !== undefined) rows.set(key, row);
}

const EMPTY_VIP: VipEmployeeRow = {
  email: undefined,
  full_name: undefined,
  job_title: undefined,
  department: undefined,
  comment: undefined,
  added_by: undefined,
  date_added: undefined,
  updated_at: undefined,
  source: undefined,
};

import type { SettingsClient, VipEmployeeRow } from "../client";
import { nameOfVipRow } from "../client/vip-employees";
import { canonicalMailbox } from "../settings/entry-value";
import { withoutUndefined } from "../settings/without-undefined";
import { vipIn } from "./matching";
import type { Rows } from "./rows";
import { readWhole, Snapshot, type SnapshotOptions } from "./snapshot";
import type { Turns } from "./turns";

export function createVipSnapshot(
  client: SettingsClient,
  readWriteLock: Turns,
  clock: Pick<SnapshotOptions<VipEmployeeRow>, "now" | "sleep">,
): Snapshot<VipEmployeeRow> {
  return new Snapshot<VipEmployeeRow>({
    read: () => readWriteLock.read(() => readWhole((options) => client.vipEmployees.readAll(options))),
    key: nameOfVipRow,
    name: (row) => canonicalMailbox(row.email ?? ""),
    isShown: isVipVisible,
    overlay: overlayVip,
    ...clock,
  });
}

/** Refetches the list and returns which of the mailboxes are VIPs. */
export async function readVipsAmong(
  mailboxes: readonly string[],
  vips: Snapshot<VipEmployeeRow>,
): Promise<ReadonlySet<string>> {
  await vips.fresh();
  const isMissing = (rows: Rows<VipEmployeeRow>) => mailboxes.some((one) => !rows.named(one).length);
  const rows = await vips.secondOpinion(isMissing);
  return new Set(mailboxes.filter((mailbox) => rows.named(mailbox).length > 0));
}

/**
 * Returns the row of a VIP after its comment was edited.
 *
 * @param storedRow the stored row has no directory fields, and may leave out what it does not know.
 */
export function rowAfterEdit(
  previousRow: VipEmployeeRow | undefined,
  storedRow: Partial<VipEmployeeRow>,
  email: string,
): VipEmployeeRow {
  return {
    ...EMPTY_VIP,
    ...previousRow,
    ...withoutUndefined(storedRow),
    email: storedRow.email ?? email,
    comment: storedRow.comment,
  };
}

/** A mailbox's row is known by more than its mailbox, and an edit's answer may leave that out. */
function isVipVisible({ email = "", comment }: VipEmployeeRow, rows: Rows<VipEmployeeRow>): boolean {
  return rows.named(canonicalMailbox(email)).some((row) => row.comment === comment);
}

/** The list's own row with the comment as it was written, since only the list has all fields. */
function overlayVip(writtenRow: VipEmployeeRow, rows: Rows<VipEmployeeRow>): void {
  const listedRow = vipIn(rows, writtenRow.email ?? "");
  const row = listedRow === undefined ? writtenRow : { ...listedRow, comment: writtenRow.comment };
  const key = nameOfVipRow(row);
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

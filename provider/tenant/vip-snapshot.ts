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
  turns: Turns,
  clock: Pick<SnapshotOptions<VipEmployeeRow>, "now" | "sleep">,
): Snapshot<VipEmployeeRow> {
  return new Snapshot<VipEmployeeRow>({
    read: () => turns.read(() => readWhole((options) => client.vipEmployees.readAll(options))),
    key: nameOfVipRow,
    name: (row) => canonicalMailbox(row.email ?? ""),
    isShown: isVipShown,
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
 * @param stored the stored row, which has no directory fields and may be incomplete.
 */
export function rowAfterEdit(
  before: VipEmployeeRow | undefined,
  stored: Partial<VipEmployeeRow>,
  email: string,
): VipEmployeeRow {
  return {
    ...EMPTY_VIP,
    ...before,
    ...withoutUndefined(stored),
    email: stored.email ?? email,
    comment: stored.comment,
  };
}

/** A mailbox's row has more keys than its mailbox, and the answer to an edit may leave those out. */
function isVipShown({ email = "", comment }: VipEmployeeRow, rows: Rows<VipEmployeeRow>): boolean {
  return rows.named(canonicalMailbox(email)).some((row) => row.comment === comment);
}

/** Returns the list's own row with the written comment, since only the list has all fields. */
function overlayVip(written: VipEmployeeRow, rows: Rows<VipEmployeeRow>): void {
  const listed = vipIn(rows, written.email ?? "");
  const row = listed === undefined ? written : { ...listed, comment: written.comment };
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

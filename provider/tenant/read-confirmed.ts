import type { RowIndex } from "./row-index";
import type { Snapshot } from "./snapshot";

/**
 * Reads a result, and refetches the lists until it is no longer doubtful, or the lists can't lag behind earlier runs
 * any more. All callers share the delays and the reads.
 *
 * @param isUncertain whether a write that the lists don't show yet could explain the result.
 */
export async function readConfirmed<T>(
  tenant: { refetchIfLagging(list: "entries" | "vips"): Promise<boolean> },
  list: "entries" | "vips",
  read: () => Promise<T>,
  isUncertain: (result: T) => boolean,
): Promise<T> {
  for (;;) {
    const result = await read();
    if (!isUncertain(result) || !(await tenant.refetchIfLagging(list))) return result;
  }
}

export interface ConfirmOptions<Row> {
  /** Whether the state or the user says that the row exists, so that a list without it may be stale. Default: true. */
  readonly isExpected?: boolean;
  /**
   * Whether a row matches the state. If not, the list may still show the row before the last write. Default: every row
   * matches.
   */
  readonly matchesState?: (row: Row) => boolean;
}

/**
 * Reads several lists, and refetches them until they show the expected row or confirm that it is missing or different.
 */
export async function readConfirmedRows<Row>(
  snapshots: readonly Snapshot<Row>[],
  find: (lists: readonly RowIndex<Row>[]) => Row | undefined,
  { isExpected = true, matchesState = () => true }: ConfirmOptions<Row> = {},
): Promise<readonly RowIndex<Row>[]> {
  for (;;) {
    const lists = await Promise.all(snapshots.map((snapshot) => snapshot.getRows()));
    const row = find(lists);
    if (row !== undefined && matchesState(row)) return lists;
    if (isExpected && (await refetchIfLagging(snapshots))) continue;
    if (row !== undefined) return lists;
    break;
  }
  const isMissing = (rows: RowIndex<Row>): boolean => find([rows]) === undefined;
  return await Promise.all(snapshots.map((snapshot) => snapshot.confirmMissing(isMissing)));
}

export async function refetchIfLagging<Row>(snapshots: readonly Snapshot<Row>[]): Promise<boolean> {
  return (await Promise.all(snapshots.map((snapshot) => snapshot.refetchIfLagging()))).includes(true);
}

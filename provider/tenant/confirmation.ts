import type { Rows } from "./rows";
import type { Snapshot } from "./snapshot";

/** How to confirm that a row is missing, or differs from the state. */
export interface ConfirmOptions<Row> {
  /** Whether a state or a person says that the row exists, so a list without it may lag. Default: true. */
  readonly isExpected?: boolean;
  /**
   * Whether a row matches the state. If not, the list may still show it as it was before the last write. Default: every row
   * matches.
   */
  readonly isAsInState?: (row: Row) => boolean;
}

/**
 * Reads several lists, and refetches them until they show the expected row or confirm that it is missing or different.
 *
 * @param find finds the row.
 */
export async function readSurely<Row>(
  snapshots: readonly Snapshot<Row>[],
  find: (lists: readonly Rows<Row>[]) => Row | undefined,
  { isExpected = true, isAsInState = () => true }: ConfirmOptions<Row> = {},
): Promise<readonly Rows<Row>[]> {
  for (;;) {
    const lists = await Promise.all(snapshots.map((snapshot) => snapshot.rows()));
    const row = find(lists);
    if (row !== undefined && isAsInState(row)) return lists;
    if (isExpected && (await readLater(snapshots))) continue;
    if (row !== undefined) return lists;
    break;
  }
  const isMissing = (rows: Rows<Row>): boolean => find([rows]) === undefined;
  return await Promise.all(snapshots.map((snapshot) => snapshot.secondOpinion(isMissing)));
}

export async function readLater<Row>(snapshots: readonly Snapshot<Row>[]): Promise<boolean> {
  return (await Promise.all(snapshots.map((snapshot) => snapshot.readLater()))).includes(true);
}

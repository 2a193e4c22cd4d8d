import type { Rows } from "./rows";
import type { Snapshot } from "./snapshot";

/** How it is made sure that something is not there, or not as the state has it. */
export interface ConfirmOptions<Row> {
  /** Whether a state or a person says that it is there, so that a list which misses it may lag. Default: true. */
  readonly isExpected?: boolean;
  /** Whether a row is as the state has it. Else the list may still show it as it was before the last write. Default: every row is. */
  readonly isAsInState?: (row: Row) => boolean;
}

/**
 * The rows of several lists. Where their shared readings don't show what is looked for as it should be, they are read again until they do,
 * or it is sure that it isn't there, or is otherwise.
 *
 * @param find what is looked for.
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

import type { Rows } from "./rows";
import type { Snapshot } from "./snapshot";

/** How it is made sure that something is not there. */
export interface ConfirmOptions {
  /** Whether a state or a person says that it is there, so that a list which misses it may lag. Default: true. */
  readonly isExpected?: boolean;
}

/**
 * The rows of several lists. Where their shared readings don't show what is looked for, they are read again until they do, or it is sure
 * that it isn't there.
 */
export async function readSurely<Row>(
  snapshots: readonly Snapshot<Row>[],
  isShown: (lists: readonly Rows<Row>[]) => boolean,
  isExpected = true,
): Promise<readonly Rows<Row>[]> {
  do {
    const lists = await Promise.all(snapshots.map((snapshot) => snapshot.rows()));
    if (isShown(lists)) return lists;
  } while (isExpected && (await readLater(snapshots)));
  return await Promise.all(snapshots.map((snapshot) => snapshot.secondOpinion((rows) => !isShown([rows]))));
}

export async function readLater<Row>(snapshots: readonly Snapshot<Row>[]): Promise<boolean> {
  return (await Promise.all(snapshots.map((snapshot) => snapshot.readLater()))).includes(true);
}

import type { AllowDenyEntryRow, VipEmployeeRow } from "../../client";
import { excerpt, quote } from "../../model/text";
import { isStoredRow, selectEffectiveRow } from "../../tenant";
import { describeExistingEntry } from "./errors";
import type { LifecycleContext } from "./lifecycle";

/*
 * The service may have several rows for one mailbox or value (duplicates). The provider changes one of them and reports
 * which. A removal removes all of them.
 */

export type DuplicateRows<Row> = readonly [chosen: Row, all: readonly Row[]];

const MAX_SHOWN = 5;

function logDuplicates<Row>(
  duplicates: Iterable<DuplicateRows<Row>>,
  describe: (row: Row) => string,
  { log }: Pick<LifecycleContext, "log">,
): void {
  const multiple = [...duplicates].filter(([, allRows]) => allRows.length > 1);
  for (const [chosen, allRows] of multiple.slice(0, MAX_SHOWN)) {
    const others = allRows.filter((row) => row !== chosen);
    const visibleText = others.slice(0, MAX_SHOWN).map(describe).join(" | ");
    const moreText = others.length > MAX_SHOWN ? ` | … and ${others.length - MAX_SHOWN} more` : "";
    log(
      `The service has ${allRows.length} copies of the same element. This resource manages ${describe(chosen)}; the others are: ${visibleText}${moreText}. Removing it from its list removes all of them. Remove the extra ones in the console.`,
    );
  }
  const hiddenCount = multiple.length - MAX_SHOWN;
  if (hiddenCount > 0)
    log(`The service has several copies of ${hiddenCount} more ${hiddenCount === 1 ? "element" : "elements"}.`);
}

export function logEntryDuplicates(
  duplicates: Iterable<DuplicateRows<AllowDenyEntryRow>>,
  context: Pick<LifecycleContext, "log">,
): void {
  logDuplicates(duplicates, describeExistingEntry, context);
}

/** Reports duplicate mailboxes. A VIP that is both detected and added legitimately has two rows. */
export async function logVipDuplicates(
  mailboxes: readonly string[],
  { tenant, log }: Pick<LifecycleContext, "tenant" | "log">,
): Promise<void> {
  const duplicates: DuplicateRows<VipEmployeeRow>[] = [];
  for (const mailbox of mailboxes) {
    const rows = await tenant.readVipRows(mailbox);
    const chosen = selectEffectiveRow(rows, mailbox);
    const isExpected = rows.length < 2 || (hasOneSpelling(rows) && rows.filter(isStoredRow).length < 2);
    if (chosen !== undefined && !isExpected) duplicates.push([chosen, rows]);
  }
  logDuplicates(duplicates, describeDuplicateVip, { log });
}

function hasOneSpelling(rows: readonly VipEmployeeRow[]): boolean {
  return rows.every(({ email }) => email === rows[0]?.email);
}

function describeDuplicateVip({ email = "", comment = "", added_by, date_added }: VipEmployeeRow): string {
  const addedByText = added_by === undefined ? "" : `, added by ${excerpt(added_by)}`;
  const timeText = date_added === undefined ? "" : ` at ${excerpt(date_added)}`;
  return `${quote(email)} (${comment === "" ? "no comment" : `comment ${quote(comment)}`}${addedByText}${timeText})`;
}

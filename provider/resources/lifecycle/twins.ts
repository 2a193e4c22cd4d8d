import type { VipEmployeeRow } from "../../client";
import { excerpt, quote } from "../../settings/text";
import { isStored, rowThatCounts } from "../../tenant";
import type { Context } from "./lifecycle";

/*
 * A service may hold one thing several times: a mailbox or a value written in two ways. One of them is acted on, the others are
 * left, and a person is told which.
 */

/** One that is acted on, and all that are the same. */
export type Twins<Row> = readonly [chosen: Row, all: readonly Row[]];

/** So many are told one by one; what is done about the others is the same. */
const TOLD = 5;

/** Says what the service holds more than once, and which of them is acted on. */
export function sayTwins<Row>(
  twins: Iterable<Twins<Row>>,
  describe: (row: Row) => string,
  { say }: Pick<Context, "say">,
): void {
  const several = [...twins].filter(([, all]) => all.length > 1);
  for (const [chosen, all] of several.slice(0, TOLD)) {
    const others = all.filter((row) => row !== chosen);
    const shown = others.slice(0, TOLD).map(describe).join(" | ");
    const more = others.length > TOLD ? ` | … and ${others.length - TOLD} more` : "";
    say(
      `The service holds one and the same ${all.length} times. Taken is ${describe(chosen)}; left as before: ${shown}${more}. Remove what is too many in the console.`,
    );
  }
  if (several.length > TOLD) say(`The service holds ${several.length - TOLD} more several times each.`);
}

/** The same for mailboxes. One that is detected and added too stands there twice by right. */
export async function sayVipTwins(
  mailboxes: readonly string[],
  { tenant, say }: Pick<Context, "tenant" | "say">,
): Promise<void> {
  const twins: Twins<VipEmployeeRow>[] = [];
  for (const mailbox of mailboxes) {
    const rows = await tenant.vipRowsOf(mailbox);
    const chosen = rowThatCounts(rows, mailbox);
    const isByRight = rows.length < 2 || (isWrittenOneWay(rows) && rows.filter(isStored).length < 2);
    if (chosen !== undefined && !isByRight) twins.push([chosen, rows]);
  }
  sayTwins(twins, describeVip, { say });
}

function isWrittenOneWay(rows: readonly VipEmployeeRow[]): boolean {
  return rows.every(({ email }) => email === rows[0]?.email);
}

function describeVip({ email = "", comment = "", added_by, date_added }: VipEmployeeRow): string {
  const maker = added_by === undefined ? "" : `, added by ${excerpt(added_by)}`;
  const time = date_added === undefined ? "" : ` at ${excerpt(date_added)}`;
  return `${quote(email)} (${comment === "" ? "no comment" : `comment ${quote(comment)}`}${maker}${time})`;
}

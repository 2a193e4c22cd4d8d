import fc from "fast-check";
import type { Company } from "./company";
import { aComment, aList, aMailbox, aScope, aValue } from "./program";
import { canonicalize, type EntryListName, EXTERNAL_MAILBOX, getEntryType, type Scope } from "./sample-values";

/**
 * An edit that a colleague makes in the console. An even `pick` chooses among the entries that the provider created, if
 * there are any; otherwise `pick` chooses among all entries. Entries are sorted by value.
 */
export type ConsoleEdit =
  | {
      readonly console: "add";
      readonly list: EntryListName;
      readonly value: string;
      readonly scope: Scope;
      readonly comment: string;
    }
  | { readonly console: "comment"; readonly pick: number; readonly comment: string }
  | { readonly console: "move"; readonly pick: number }
  | { readonly console: "rescope"; readonly pick: number }
  | { readonly console: "delete"; readonly pick: number }
  | { readonly console: "make again"; readonly pick: number; readonly elsewhere: boolean }
  | { readonly console: "add VIP"; readonly email: string; readonly comment: string }
  | { readonly console: "comment VIP"; readonly email: string; readonly comment: string }
  | { readonly console: "remove VIP"; readonly email: string };

/**
 * Performs the action as far as the service permits it. Returns a readable description of the result.
 *
 * @param to the entry to act on, instead of a picked one.
 */
export async function performConsoleEdit(company: Company, edit: ConsoleEdit, to?: CompanyEntry): Promise<string> {
  const row = to ?? ("pick" in edit ? pickEntry(company, edit.pick) : undefined);
  const path = `/allow_deny_entries/${row?.id}`;
  const describeEdit = async (label: string, status: Promise<number>): Promise<string> =>
    `console: ${label} (${await status})`;
  switch (edit.console) {
    case "add": {
      const { list, value, scope, comment } = edit;
      return await describeEdit(`add ${list} ${value} ${scope} "${comment}"`, add(company, edit));
    }
    case "add VIP": {
      const { email, comment } = edit;
      const body = { emails: [email], comment };
      return await describeEdit(
        `add VIP ${email} "${comment}"`,
        company.sendFromConsole("POST", "/vip_employees", body),
      );
    }
    case "comment VIP": {
      const { email, comment } = edit;
      const body = { email, comment };
      return await describeEdit(
        `comment VIP ${email} "${comment}"`,
        company.sendFromConsole("PATCH", "/vip_employees", body),
      );
    }
    case "remove VIP": {
      const body = { emails: [edit.email] };
      return await describeEdit(
        `remove VIP ${edit.email}`,
        company.sendFromConsole("POST", "/vip_employees/remove", body),
      );
    }
  }
  if (row === undefined) return `console: ${edit.console}: nothing is there`;
  const name = formatEntryName(row);
  switch (edit.console) {
    case "comment":
      return await describeEdit(
        `comment ${name} "${edit.comment}"`,
        company.sendFromConsole("PATCH", path, { comment: edit.comment }),
      );
    case "move": {
      const list = row.list === "deny" ? "allow" : "deny";
      return await describeEdit(`move ${name} to ${list}`, company.sendFromConsole("PATCH", path, { list }));
    }
    case "rescope": {
      const verdict_scope = row.verdict_scope === "global" ? "graymail" : "global";
      return await describeEdit(
        `change ${name} to ${verdict_scope}`,
        company.sendFromConsole("PATCH", path, { verdict_scope }),
      );
    }
    case "delete":
      return await describeEdit(`delete ${name}`, company.sendFromConsole("DELETE", path));
    case "make again": {
      await company.sendFromConsole("DELETE", path);
      const list: EntryListName = edit.elsewhere === (row.list === "deny") ? "allow" : "deny";
      const again = {
        list,
        value: canonicalize(row.value),
        scope: row.verdict_scope as Scope,
        comment: row.comment,
      };
      return await describeEdit(`delete ${name}, add it again on ${list}`, add(company, again));
    }
  }
}

export type CompanyEntry = ReturnType<Company["listEntries"]>[number];

function pickEntry(company: Company, pick: number): CompanyEntry | undefined {
  const rows = company.listEntries().toSorted((a, b) => (formatEntryName(a) < formatEntryName(b) ? -1 : 1));
  const pipelineRows = rows.filter(({ created_by }) => created_by === "ci");
  const some = pick % 2 === 0 && pipelineRows.length > 0 ? pipelineRows : rows;
  return some[(pick >> 1) % Math.max(1, some.length)];
}

function formatEntryName({ list, value, verdict_scope }: CompanyEntry): string {
  return `${value} ${verdict_scope} ${list}`;
}

async function add(
  company: Company,
  entry: { readonly list: EntryListName; readonly value: string; readonly scope: Scope; readonly comment: string },
): Promise<number> {
  const { list, value, scope, comment } = entry;
  const body = { list, value, entry_type: getEntryType(value), verdict_scope: scope, comment };
  return await company.sendFromConsole("POST", "/allow_deny_entries", body);
}

const pick = fc.nat(9);
const ownMailbox = aMailbox.filter((email) => email !== EXTERNAL_MAILBOX);

/** Arbitrary actions on an existing entry. */
export const aChangeInConsole: fc.Arbitrary<ConsoleEdit> = fc.oneof(
  fc.record({ console: fc.constant("comment" as const), pick, comment: aComment }),
  fc.record({ console: fc.constant("move" as const), pick }),
  fc.record({ console: fc.constant("rescope" as const), pick }),
  fc.record({ console: fc.constant("delete" as const), pick }),
  fc.record({ console: fc.constant("make again" as const), pick, elsewhere: fc.boolean() }),
);

export const aConsoleEdit: fc.Arbitrary<ConsoleEdit> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({
      console: fc.constant("add" as const),
      list: aList,
      value: aValue,
      scope: aScope,
      comment: aComment,
    }),
  },
  { weight: 6, arbitrary: aChangeInConsole },
  fc.record({ console: fc.constant("add VIP" as const), email: ownMailbox, comment: aComment }),
  fc.record({ console: fc.constant("comment VIP" as const), email: ownMailbox, comment: aComment }),
  fc.record({ console: fc.constant("remove VIP" as const), email: ownMailbox }),
);

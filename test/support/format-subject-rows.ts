import type { Sandbox } from "../../provider/sandbox";

/** Returns every row that the tenant holds for a value or a mailbox. */
export function formatSubjectRows(sandbox: Sandbox, subject: string): string {
  const rows = [
    ...sandbox.allowDenyEntries("acme").filter(({ value }) => value === subject),
    ...sandbox.vips("acme").filter(({ email }) => email === subject),
  ].map((row) => `${"list" in row ? row.list : "VIP"}: ${row.comment}`);
  if (sandbox.exclusions("acme").includes(subject)) rows.push("excluded");
  return rows.join(", ") || "nothing";
}

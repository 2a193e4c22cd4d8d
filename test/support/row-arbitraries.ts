import fc from "fast-check";
import type { AllowDenyEntryRow, VipEmployeeRow } from "../../provider/client";
import { hostileText } from "./hostile-text";

/*
 * Arbitrary tenant rows: values that the service's reference documents, values that it doesn't, and text that is
 * interpreted where it is printed.
 */

const value = fc.oneof(
  { weight: 6, arbitrary: fc.stringMatching(/^[a-c]{1,2}\.(?:example|co\.uk|com)$/) },
  fc.stringMatching(/^[a-c]@[ab]\.example$/),
  fc.constantFrom("192.0.2.1", "192.0.2.10", "10.0.0.1", "2001:db8::1", "::1", "2001:10:20:30:40:50:1:2"),
  fc.constantFrom(
    "gmail.com",
    "co.uk",
    "acme.example",
    "acme-login.example",
    "x.acme.example",
    "Evil.Example",
    " a.example",
    "bücher.example",
  ),
  fc.constantFrom(
    "192.0.2.0/24",
    "*.a.example",
    "*",
    "allow:a.example",
    "",
    " ",
    "a..b",
    "http://a.example/x",
    "not a value",
    "a.example ",
  ),
  hostileText,
);

const comment = fc.oneof(
  { weight: 3, arbitrary: fc.constant(undefined) },
  fc.constantFrom(
    "",
    " ",
    "\u200b",
    "---",
    "no",
    "010",
    "Contract 7",
    " padded ",
    "one\ntwo",
    "one\r\n\r\n  two",
    "é",
    "e\u0301",
    "x".repeat(3_000),
    "# no",
    "a: b",
    "(unmanaged) deny",
  ),
  hostileText,
);

const text = fc.oneof(fc.constantFrom(undefined, "ci", "Dana Reyes", "2026-01-02T03:04:05Z"), hostileText);

const entryRow: fc.Arbitrary<Omit<AllowDenyEntryRow, "id">> = fc.record({
  list: fc.oneof({ weight: 20, arbitrary: fc.constantFrom("allow", "deny") }, fc.constantFrom("block", "")),
  entry_type: fc.constant("?"),
  value,
  verdict_scope: fc.oneof(
    { weight: 10, arbitrary: fc.constantFrom("global", "graymail", undefined) },
    fc.constantFrom("Global", "bulk", "", " x ", "a (b), c", "\u001b[31m"),
  ),
  comment,
  created_at: text,
  created_by: text,
});

/** An entry without an id. Its type usually matches its value; sometimes it is another type, or an unknown one. */
export const anyEntry: fc.Arbitrary<Omit<AllowDenyEntryRow, "id">> = fc
  .tuple(entryRow, fc.constantFrom("right", "right", "right", "domain", "ip", "url", "\u0007"))
  .map(([row, type]) => {
    const right = row.value.includes("@") ? "email_address" : /^[\d.]+$|:.*:/.test(row.value) ? "ip" : "domain";
    return { ...row, entry_type: type === "right" ? right : type };
  });

export const anyVip: fc.Arbitrary<VipEmployeeRow> = fc.record({
  email: fc.oneof(
    { weight: 5, arbitrary: fc.stringMatching(/^[a-d]{1,2}@acme\.example$/) },
    fc.constantFrom(undefined, "A@acme.example", "no mailbox", "*@acme.example", " b@acme.example"),
    hostileText.filter((candidate) => candidate.trim() !== ""),
  ),
  full_name: text,
  job_title: text,
  department: text,
  comment,
  added_by: fc.oneof(fc.constantFrom(undefined, "", "ci"), hostileText),
  date_added: text,
  updated_at: text,
  source: fc.constantFrom("manual", "auto", undefined, "\u202e"),
});

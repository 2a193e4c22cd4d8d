import { expect, it } from "vitest";
import { buildDecisions } from "../../../../provider/commands/find/deciding-entries";
import { findMatches } from "../../../../provider/commands/find/find-matches";
import { parseQueries } from "../../../../provider/commands/find/parse-queries";
import { QueryMatcher } from "../../../../provider/commands/find/query-matcher";

interface EntryFields {
  readonly list: "allow" | "deny";
  readonly value: string;
  readonly scope?: "graymail";
  readonly type?: string;
}

/** Formats each decision as `scope: list value, other entries, whether it is certain`. */
const formatDecisions = (sender: string, rows: readonly EntryFields[]): string[] => {
  const queries = parseQueries([], [sender]);
  const matches = findMatches(new QueryMatcher(queries), {
    rows: rows.map(({ list, value, scope, type }, index) => ({
      id: `${index}`,
      list,
      value,
      entry_type: type ?? (value.includes("@") ? "email_address" : "domain"),
      verdict_scope: scope ?? "global",
      comment: undefined,
      created_at: undefined,
      created_by: undefined,
    })),
  });
  return buildDecisions(queries, matches, "tenant").map(
    ({ scope, decidingEntry, otherEntryCount, isCertain }) =>
      `${scope}: ${decidingEntry === undefined ? "none" : `${decidingEntry.list} ${decidingEntry.value}`}, ${otherEntryCount}, ${isCertain ? "certain" : "assumed"}`,
  );
};

const buildAllow = (value: string, scope?: "graymail"): EntryFields => ({
  list: "allow",
  value,
  ...(scope && { scope }),
});
const buildDeny = (value: string, scope?: "graymail"): EntryFields => ({
  list: "deny",
  value,
  ...(scope && { scope }),
});

it.each([
  ["none for an unlisted sender", [], ["global: none, 0, certain"]],
  ["its own entry", [buildAllow("ceo@mail.partner.example")], ["global: allow ceo@mail.partner.example, 0, certain"]],
  ["its domain's entry", [buildDeny("mail.partner.example")], ["global: deny mail.partner.example, 0, certain"]],
  ["the entry of a parent domain", [buildDeny("partner.example")], ["global: deny partner.example, 0, assumed"]],
  [
    "the mailbox before its domain",
    [buildDeny("mail.partner.example"), buildAllow("ceo@mail.partner.example")],
    ["global: allow ceo@mail.partner.example, 1, assumed"],
  ],
  [
    "the domain with more labels",
    [buildAllow("partner.example"), buildDeny("mail.partner.example")],
    ["global: deny mail.partner.example, 1, assumed"],
  ],
  [
    "the deny of a value on both lists",
    [buildAllow("mail.partner.example"), buildDeny("mail.partner.example")],
    ["global: deny mail.partner.example, 1, assumed"],
  ],
  [
    "the closer of two on one list",
    [buildDeny("partner.example"), buildDeny("mail.partner.example")],
    ["global: deny mail.partner.example, 1, certain"],
  ],
  [
    "a different one for mail of one verdict",
    [buildDeny("partner.example"), buildAllow("mail.partner.example", "graymail")],
    ["global: deny partner.example, 0, assumed", "graymail: allow mail.partner.example, 1, assumed"],
  ],
  ["none for another mailbox of the domain", [buildDeny("cfo@mail.partner.example")], ["global: none, 0, certain"]],
] as const)("finds the deciding entry: %s", (_label, rows, decisions) => {
  expect(formatDecisions("ceo@mail.partner.example", rows)).toEqual(decisions);
});

it("considers an entry whose type the value does not imply", () => {
  const rows = [buildDeny("ceo@mail.partner.example"), { ...buildAllow("ceo@mail.partner.example"), type: "address" }];
  expect(formatDecisions("ceo@mail.partner.example", rows)).toEqual([
    "global: deny ceo@mail.partner.example, 1, assumed",
  ]);
  expect(
    formatDecisions("ceo@mail.partner.example", [{ ...buildAllow("mail.partner.example"), type: "host" }]),
  ).toEqual(["global: allow mail.partner.example, 0, certain"]);
});

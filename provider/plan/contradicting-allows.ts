import type { AllowDenyEntryRow } from "../client";
import { KNOWN_VERDICT_SCOPES } from "../model/assumptions";
import { isContradiction } from "../model/contradiction";
import { decodeEntry, encodeEntryKey } from "../model/encoded-list";
import { inferEntryType } from "../model/entry-value";
import { quote } from "../model/text";
import { encodeRowKey } from "../resources/lifecycle/entry-match";
import type { DesiredState } from "./desired-state";
import type { PlanFinding } from "./plan-codes";

/** Returns whether a row is an allow whose value is declared as a deny with an overlapping scope. */
export function contradictsDeclaredDeny(row: AllowDenyEntryRow, { lists }: Pick<DesiredState, "lists">): boolean {
  const { list, value, verdict_scope } = row;
  if (list !== "allow") return false;
  // The value of a declared entry implies its type.
  const entryType = inferEntryType(value) ?? row.entry_type;
  const keys = KNOWN_VERDICT_SCOPES.map((verdictScope) => encodeEntryKey({ value, entryType, verdictScope }));
  return lists.some(({ kind, declared }) =>
    keys.some((key) => {
      const text = kind === "entry" && Object.hasOwn(declared, key) ? declared[key] : undefined;
      const entry = text === undefined ? undefined : decodeEntry(key, text);
      return entry?.list === "deny" && isContradiction(entry, { ...row, verdictScope: verdict_scope });
    }),
  );
}

/** Some services hold one value on both lists: the declared entry exists but is contradicted. */
export function buildContradictionFinding(row: AllowDenyEntryRow): PlanFinding {
  return {
    code: "contradicted",
    level: "warning",
    message: `${quote(row.value)} is denied, but the tenant also has an undeclared allow for it. The service's reference doesn't define which of the two takes precedence. Remove the allow at the tenant.`,
    subject: { kind: "entry", key: encodeRowKey(row) },
  };
}

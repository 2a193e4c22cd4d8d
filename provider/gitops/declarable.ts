import type { AllowDenyEntryRow, VipEmployeeRow } from "../client";
import { settingsFile } from "../files/settings-schema";
import type { Observed } from "../plan/observed";
import {
  type Declarable,
  declarableEntries,
  declarableVip,
  type ElementRefusal,
} from "../resources/lifecycle/declarable";
import { keyOfRow } from "../resources/lifecycle/entry-match";
import { LISTS } from "../settings/assumptions";
import { keyOfVip, textOfEntry, textOfVip } from "../settings/keyed-list";
import { ENTRIES, type ListKind, MEMBERS } from "../settings/list-arguments";
import type { OwnDomains } from "../settings/own-domains";
import { parsePattern } from "../settings/pattern";
import { isPrintable } from "../settings/text";

/**
 * Returns the entries of a tenant as declarations for a settings file.
 *
 * @param acceptRisk the reason for declaring a risky entry.
 */
export function entriesForFile(
  { entries }: Observed,
  ownDomains: OwnDomains,
  acceptRisk: string,
): Declarable<AllowDenyEntryRow>[] {
  return declarableEntries([...entries.values()].flat(), {
    own: ownDomains,
    acceptRisk,
    refusal: schemaRefusal,
  });
}

/** Returns the VIPs with a mailbox as declarations for a settings file. */
export function vipsForFile({ vips }: Observed): Declarable<VipEmployeeRow>[] {
  return [...vips.values()].map((row) => declarableVip(row, schemaRefusal));
}

/** Returns the error for a single element of a settings file. */
export const schemaRefusal: ElementRefusal = (section, element) => {
  const result = settingsFile.safeParse({ version: 1, [section]: [element] });
  const issue = result.error?.issues[0];
  if (issue === undefined) return undefined;
  const key = String(issue.path.at(-1) ?? "");
  return key === "value" || key === "email" ? issue.message : `its ${key} ${issue.message}`;
};

/**
 * Returns an `ignore` pattern for each entry that can't be declared, which matches no declared entry. Undefined if there is no such
 * pattern, and for declarable entries.
 */
export function patternsForEntries(declarables: readonly Declarable<AllowDenyEntryRow>[]): (string | undefined)[] {
  return findIgnorePatterns(ENTRIES, declarables, (row) =>
    LISTS.some((list) => list === row.list) ? [keyOfRow(row), textOfEntry(row)] : undefined,
  );
}

/** Returns `ignore` patterns for VIPs, like {@link patternsForEntries}. */
export function patternsForVips(declarables: readonly Declarable<VipEmployeeRow>[]): (string | undefined)[] {
  return findIgnorePatterns(MEMBERS, declarables, (row) => [keyOfVip(row.email ?? ""), textOfVip(row)]);
}

function findIgnorePatterns<Row>(
  kind: ListKind,
  declarables: readonly Declarable<Row>[],
  getKeyAndText: (row: Row) => readonly [key: string, text: string] | undefined,
): (string | undefined)[] {
  const declared = declarables.flatMap((one) => (one.ok ? [kind.target(one.key, one.text)] : []));
  return declarables.map((one) => {
    const [key, text] = (one.ok ? undefined : getKeyAndText(one.row)) ?? [];
    if (key === undefined || text === undefined) return undefined;
    const target = kind.target(key, text);
    const prefix = target.list === undefined ? "" : `${target.list}:`;
    // Replaces special characters of patterns, such as the / of a range, by wildcards.
    const wildcardValue = target.value.replace(/[^\p{L}\p{N}.@_-]+/gu, "*");
    return [target.value, wildcardValue, `${wildcardValue.slice(0, MAX_PATTERN_LENGTH)}*`]
      .map((candidate) => prefix + candidate)
      .find((candidate) => {
        if (!isPrintable(candidate) || !/[\p{L}\p{N}]{2}/u.test(candidate.slice(prefix.length))) return false;
        const pattern = parsePattern(candidate);
        return pattern.ok && pattern.value.matches(target) && !declared.some(pattern.value.matches);
      });
  });
}

/** The start of a longer value is specific enough. */
const MAX_PATTERN_LENGTH = 100;

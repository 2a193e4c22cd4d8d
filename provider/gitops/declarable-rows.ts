import type { AllowDenyEntryRow, VipEmployeeRow } from "../client";
import { ENTRY_LISTS } from "../model/assumptions";
import { encodeEntry, encodeVip, encodeVipKey } from "../model/encoded-list";
import { ENTRY_LIST_KIND, type ListKind, VIP_LIST_KIND } from "../model/list-arguments";
import { parseListPattern } from "../model/list-pattern";
import type { OwnDomains } from "../model/own-domains";
import { isPrintable } from "../model/text";
import type { ObservedState } from "../plan/observed-state";
import {
  buildDeclarableEntries,
  buildDeclarableVip,
  type DeclarableResult,
  type ElementValidator,
} from "../resources/lifecycle/declarable";
import { encodeRowKey } from "../resources/lifecycle/entry-match";
import { settingsFileSchema } from "../settings-files/settings-schema";

/** Returns the entries of a tenant as declarations for a settings file. */
export function listDeclarableEntries(
  { entries }: ObservedState,
  ownDomains: OwnDomains,
  acceptRisk: string,
): DeclarableResult<AllowDenyEntryRow>[] {
  return buildDeclarableEntries([...entries.values()].flat(), {
    ownDomains,
    acceptRisk,
    validateElement,
  });
}

/** Returns the VIPs with a mailbox as declarations for a settings file. */
export function listDeclarableVips({ vips }: ObservedState): DeclarableResult<VipEmployeeRow>[] {
  return [...vips.values()].map((row) => buildDeclarableVip(row, validateElement));
}

/** Returns the error for a single element of a settings file. */
export const validateElement: ElementValidator = (section, element) => {
  const result = settingsFileSchema.safeParse({ version: 1, [section]: [element] });
  const issue = result.error?.issues[0];
  if (issue === undefined) return undefined;
  const key = String(issue.path.at(-1) ?? "");
  return key === "value" || key === "email" ? issue.message : `its ${key} ${issue.message}`;
};

/**
 * Returns an `ignore` pattern for each entry that can't be declared, which matches no declared entry. Undefined if there is no such
 * pattern, and for declarable entries.
 */
export function buildEntryIgnorePatterns(
  declarables: readonly DeclarableResult<AllowDenyEntryRow>[],
): (string | undefined)[] {
  return findIgnorePatterns(ENTRY_LIST_KIND, declarables, (row) =>
    ENTRY_LISTS.some((list) => list === row.list) ? [encodeRowKey(row), encodeEntry(row)] : undefined,
  );
}

/** Returns `ignore` patterns for VIPs, like {@link buildEntryIgnorePatterns}. */
export function buildVipIgnorePatterns(
  declarables: readonly DeclarableResult<VipEmployeeRow>[],
): (string | undefined)[] {
  return findIgnorePatterns(VIP_LIST_KIND, declarables, (row) => [encodeVipKey(row.email ?? ""), encodeVip(row)]);
}

function findIgnorePatterns<Row>(
  kind: ListKind,
  declarables: readonly DeclarableResult<Row>[],
  getKeyAndText: (row: Row) => readonly [key: string, text: string] | undefined,
): (string | undefined)[] {
  const declared = declarables.flatMap((declarable) =>
    declarable.ok ? [kind.getPatternTarget(declarable.key, declarable.text)] : [],
  );
  return declarables.map((declarable) => {
    const [key, text] = (declarable.ok ? undefined : getKeyAndText(declarable.row)) ?? [];
    if (key === undefined || text === undefined) return undefined;
    const target = kind.getPatternTarget(key, text);
    const prefix = target.list === undefined ? "" : `${target.list}:`;
    // Replaces special characters of patterns, such as the / of a range, by wildcards.
    const wildcardValue = target.value.replace(/[^\p{L}\p{N}.@_-]+/gu, "*");
    return [target.value, wildcardValue, `${wildcardValue.slice(0, MAX_PATTERN_LENGTH)}*`]
      .map((candidate) => prefix + candidate)
      .find((candidate) => {
        if (!isPrintable(candidate) || !/[\p{L}\p{N}]{2}/u.test(candidate.slice(prefix.length))) return false;
        const pattern = parseListPattern(candidate);
        return pattern.ok && pattern.value.matches(target) && !declared.some(pattern.value.matches);
      });
  });
}

/** The start of a longer value is specific enough. */
const MAX_PATTERN_LENGTH = 100;

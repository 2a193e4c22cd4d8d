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
 * The entries of a tenant as a settings file can declare them.
 *
 * @param acceptRisk the reason that a risky entry is declared with.
 */
export function entriesForFile(
  { entries }: Observed,
  own: OwnDomains,
  acceptRisk: string,
): Declarable<AllowDenyEntryRow>[] {
  return declarableEntries([...entries.values()].flat(), { own, acceptRisk, refusal: schemaRefusal });
}

/** The VIPs with a mailbox as a settings file can declare them. */
export function vipsForFile({ vips }: Observed): Declarable<VipEmployeeRow>[] {
  return [...vips.values()].map((row) => declarableVip(row, schemaRefusal));
}

/** What speaks against an element of a settings file by itself. */
export const schemaRefusal: ElementRefusal = (section, element) => {
  const result = settingsFile.safeParse({ version: 1, [section]: [element] });
  const issue = result.error?.issues[0];
  if (issue === undefined) return undefined;
  const key = String(issue.path.at(-1) ?? "");
  return key === "value" || key === "email" ? issue.message : `its ${key} ${issue.message}`;
};

/**
 * For each entry that can't be declared the pattern for `ignore` that names it, and nothing that is declared; undefined
 * where none can, and for those that are declared.
 */
export function patternsForEntries(all: readonly Declarable<AllowDenyEntryRow>[]): (string | undefined)[] {
  return patternsFor(ENTRIES, all, (row) =>
    LISTS.some((list) => list === row.list) ? [keyOfRow(row), textOfEntry(row)] : undefined,
  );
}

/** The same for VIPs. */
export function patternsForVips(all: readonly Declarable<VipEmployeeRow>[]): (string | undefined)[] {
  return patternsFor(MEMBERS, all, (row) => [keyOfVip(row.email ?? ""), textOfVip(row)]);
}

function patternsFor<Row>(
  kind: ListKind,
  all: readonly Declarable<Row>[],
  keyed: (row: Row) => readonly [key: string, text: string] | undefined,
): (string | undefined)[] {
  const declared = all.flatMap((one) => (one.ok ? [kind.target(one.key, one.text)] : []));
  return all.map((one) => {
    const [key, text] = (one.ok ? undefined : keyed(one.row)) ?? [];
    if (key === undefined || text === undefined) return undefined;
    const target = kind.target(key, text);
    const prefix = target.list === undefined ? "" : `${target.list}:`;
    // What has a meaning in a pattern, as the / of a range, and what is no text, is any character there.
    const plain = target.value.replace(/[^\p{L}\p{N}.@_-]+/gu, "*");
    return [target.value, plain, `${plain.slice(0, LONGEST_PATTERN)}*`]
      .map((candidate) => prefix + candidate)
      .find((candidate) => {
        if (!isPrintable(candidate) || !/[\p{L}\p{N}]{2}/u.test(candidate.slice(prefix.length))) return false;
        const pattern = parsePattern(candidate);
        return pattern.ok && pattern.value.matches(target) && !declared.some(pattern.value.matches);
      });
  });
}

/** Beyond this, the beginning of a value tells enough. */
const LONGEST_PATTERN = 100;

import type { SettingsClient } from "../../client";
import type {
  CoveringEntry,
  FileDeclaration,
  WhyMailEvidence,
  WhyReport,
  WhyTenantEntry,
} from "../../gitops/why-schema";
import { DEFAULT_VERDICT_SCOPE } from "../../model/assumptions";
import { CoverageIndex } from "../../model/covering-values";
import { formatErrorWithCode } from "../../model/email-security-error";
import { pickEntryState } from "../../model/entry-fields";
import { canonicalizeMailbox, canonicalizeValue } from "../../model/entry-value";
import { omitUndefined } from "../../model/omit-undefined";
import type { ProposedEntry } from "../../plan/entry-precedence";
import { collectEvidence, readMailHistory } from "../../plan/evidence";
import { type ObservedState, readObservedState } from "../../plan/observed-state";
import { explainTenantMismatch } from "../../plan/tenant-mismatch";
import { encodeRowKey } from "../../resources/lifecycle/entry-match";
import { estimateEntryRemoval } from "./entry-removal-estimate";

export interface TenantValueOptions {
  /** The number of days of mail to read; 0 reads none. */
  readonly days: number;
  readonly maxPages?: number;
  readonly now: Date;
  /** The tenant's own domains from its files. */
  readonly ownDomains: readonly string[];
}

/**
 * Returns a value's actual state and the evidence from mail: reads the tenant's lists, and threats and reports of some days. Never throws:
 * reports failed requests instead.
 */
export async function readTenantValue(
  client: SettingsClient,
  value: string,
  files: readonly FileDeclaration[],
  { days, maxPages, now, ownDomains }: TenantValueOptions,
): Promise<Pick<WhyReport, "actual" | "mail" | "missing"> & { readonly coveringEntries: readonly CoveringEntry[] }> {
  let observed: ObservedState;
  try {
    observed = await readObservedState(client, () => now);
  } catch (error) {
    return { coveringEntries: [], missing: [`The tenant could not be read: ${formatErrorWithCode(error)}`] };
  }
  const mailboxes = [...observed.vips.values()].map(({ email }) => email);
  const mismatch = explainTenantMismatch(mailboxes, { ownDomains });
  if (mismatch !== undefined) return { coveringEntries: [], missing: [`The tenant was not read. ${mismatch}`] };
  const declared = new Set(files.filter(({ state }) => state === "declared").map(({ kind, key }) => `${kind} ${key}`));
  const actual = findTenantEntries(observed, value, declared);
  const coverage = new CoverageIndex([value]);
  const parents = observed.rows
    .filter((row) => coverage.findCovered(canonicalizeValue(row.value)).length > 0)
    .map(({ list, value: parentValue, verdict_scope }) => ({
      list,
      value: canonicalizeValue(parentValue),
      verdictScope: verdict_scope ?? DEFAULT_VERDICT_SCOPE,
    }));
  if (days === 0)
    return {
      actual,
      coveringEntries: parents,
      missing: ["The tenant's mail was not read (--no-evidence)."],
    };
  const base = await readMailHistory({
    client,
    days,
    now,
    vips: observed.vips.keys(),
    ...omitUndefined({ maxPages }),
  });
  const proposedEntries = observed.rows.map(
    (row) =>
      ({
        key: `${row.list} ${encodeRowKey(row)}`,
        list: row.list,
        value: canonicalizeValue(row.value),
        entryType: row.entry_type,
        verdictScope: row.verdict_scope,
      }) as ProposedEntry,
  );
  const subjects = new Map(
    [...actual, ...files].map(({ kind, key, list: listName, verdictScope }) => [
      `${kind} ${listName ?? ""} ${key}`,
      omitUndefined({ kind, key, list: listName, verdictScope }),
    ]),
  );
  // For a value on no list, the mail may still explain why it was once listed.
  const mailSubjects: readonly Omit<WhyMailEvidence, "evidence" | "removalEstimate">[] =
    subjects.size > 0 ? [...subjects.values()] : [{ kind: "entry", key: value }];
  const mailEvidence = mailSubjects.flatMap(({ kind, key, list: listName, verdictScope }): WhyMailEvidence[] => {
    const evidence = collectEvidence(base, { kind, value });
    if (evidence === undefined) return [];
    const effect =
      kind === "entry" && listName !== undefined
        ? estimateEntryRemoval(base, proposedEntries, `${listName} ${key}`)
        : undefined;
    return [omitUndefined({ kind, key, list: listName, verdictScope, evidence, removalEstimate: effect })];
  });
  const { summary } = base;
  return { actual, coveringEntries: parents, mail: { summary, items: mailEvidence }, missing: summary.missing };
}

function findTenantEntries(
  { rows, vips }: ObservedState,
  value: string,
  declared: ReadonlySet<string>,
): readonly WhyTenantEntry[] {
  const entries = rows
    .filter((row) => canonicalizeValue(row.value) === value)
    .map((row): WhyTenantEntry => {
      const key = encodeRowKey(row);
      return omitUndefined({
        kind: "entry" as const,
        key,
        ...pickEntryState(row),
        list: row.list,
        verdictScope: row.verdict_scope,
        createdBy: row.created_by || undefined,
        createdAt: row.created_at || undefined,
        isDeclared: declared.has(`entry ${key}`),
      });
    });
  const vipRows = [...vips].filter(([, { email = "" }]) => canonicalizeMailbox(email) === value);
  return [
    ...entries,
    ...vipRows.map(
      ([key, row]): WhyTenantEntry =>
        omitUndefined({
          kind: "vip" as const,
          key,
          ...pickEntryState(row),
          list: undefined,
          createdBy: row.added_by || undefined,
          createdAt: row.date_added || undefined,
          source: row.source || undefined,
          isDeclared: declared.has(`vip ${key}`),
        }),
    ),
  ];
}

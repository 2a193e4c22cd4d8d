import type { SettingsClient } from "../../client";
import type { Above, ToldByFiles, ToldByMail, ToldByTenant, WhyStory } from "../../gitops/why-schema";
import type { ProposedEntry } from "../../plan/deciders";
import { evidenceOf, gatherEvidence } from "../../plan/evidence";
import { type Observed, observe } from "../../plan/observed";
import { otherTenantTold } from "../../plan/same-tenant";
import { withoutEntry } from "../../plan/without-entry";
import { keyOfRow } from "../../resources/lifecycle/entry-match";
import { DEFAULT_VERDICT_SCOPE } from "../../settings/assumptions";
import { CoveredValues } from "../../settings/coverage";
import { withCode } from "../../settings/email-security-error";
import { standingOf } from "../../settings/entry-fields";
import { canonicalMailbox, canonicalValue } from "../../settings/entry-value";
import { withoutUndefined } from "../../settings/without-undefined";

/** Options for querying the tenant. */
export interface AskingTenant {
  /** How many days of mail to read; 0 reads none. */
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
export async function toldByTenant(
  client: SettingsClient,
  value: string,
  files: readonly ToldByFiles[],
  { days, maxPages, now, ownDomains }: AskingTenant,
): Promise<Pick<WhyStory, "held" | "mail" | "missing"> & { readonly above: readonly Above[] }> {
  let observed: Observed;
  try {
    observed = await observe(client, () => now);
  } catch (error) {
    return { above: [], missing: [`The tenant could not be asked: ${withCode(error)}`] };
  }
  const mailboxes = [...observed.vips.values()].map(({ email }) => email);
  const mismatch = otherTenantTold(mailboxes, { ownDomains });
  if (mismatch !== undefined) return { above: [], missing: [`Nothing is told of the tenant. ${mismatch}`] };
  const declared = new Set(files.filter(({ state }) => state === "declared").map(({ kind, key }) => `${kind} ${key}`));
  const actual = findTenantEntries(observed, value, declared);
  const coverage = new CoveredValues([value]);
  const parents = observed.rows
    .filter((row) => coverage.coveredBy(canonicalValue(row.value)).length > 0)
    .map(({ list, value: parentValue, verdict_scope }) => ({
      list,
      value: canonicalValue(parentValue),
      verdictScope: verdict_scope ?? DEFAULT_VERDICT_SCOPE,
    }));
  if (days === 0)
    return {
      held: actual,
      above: parents,
      missing: ["The tenant's mail was not looked at (--no-evidence)."],
    };
  const base = await gatherEvidence({
    client,
    days,
    now,
    vips: observed.vips.keys(),
    ...withoutUndefined({ maxPages }),
  });
  const proposedEntries = observed.rows.map(
    (row) =>
      ({
        key: `${row.list} ${keyOfRow(row)}`,
        list: row.list,
        value: canonicalValue(row.value),
        entryType: row.entry_type,
        verdictScope: row.verdict_scope,
      }) as ProposedEntry,
  );
  const subjects = new Map(
    [...actual, ...files].map(({ kind, key, list: listName, verdictScope }) => [
      `${kind} ${listName ?? ""} ${key}`,
      withoutUndefined({ kind, key, list: listName, verdictScope }),
    ]),
  );
  // For a value on no list, the mail may still explain why it was once listed.
  const mailSubjects: readonly Omit<ToldByMail, "evidence" | "without">[] =
    subjects.size > 0 ? [...subjects.values()] : [{ kind: "entry", key: value }];
  const mailEvidence = mailSubjects.flatMap(({ kind, key, list: listName, verdictScope }): ToldByMail[] => {
    const evidence = evidenceOf(base, { kind, value });
    if (evidence === undefined) return [];
    const effect =
      kind === "entry" && listName !== undefined
        ? withoutEntry(base, proposedEntries, `${listName} ${key}`)
        : undefined;
    return [withoutUndefined({ kind, key, list: listName, verdictScope, evidence, without: effect })];
  });
  const { summary } = base;
  return { held: actual, above: parents, mail: { summary, of: mailEvidence }, missing: summary.missing };
}

function findTenantEntries(
  { rows, vips }: Observed,
  value: string,
  declared: ReadonlySet<string>,
): readonly ToldByTenant[] {
  const entries = rows
    .filter((row) => canonicalValue(row.value) === value)
    .map((row): ToldByTenant => {
      const key = keyOfRow(row);
      return withoutUndefined({
        kind: "entry" as const,
        key,
        ...standingOf(row),
        list: row.list,
        verdictScope: row.verdict_scope,
        by: row.created_by || undefined,
        at: row.created_at || undefined,
        isDeclared: declared.has(`entry ${key}`),
      });
    });
  const vipRows = [...vips].filter(([, { email = "" }]) => canonicalMailbox(email) === value);
  return [
    ...entries,
    ...vipRows.map(
      ([key, row]): ToldByTenant =>
        withoutUndefined({
          kind: "vip" as const,
          key,
          ...standingOf(row),
          list: undefined,
          by: row.added_by || undefined,
          at: row.date_added || undefined,
          source: row.source || undefined,
          isDeclared: declared.has(`vip ${key}`),
        }),
    ),
  ];
}

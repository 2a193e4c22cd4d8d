import type { AllowDenyEntryRow, SettingsClient } from "../../client";
import type { ChangeStep } from "../../gitops/list-change";
import { CoverageIndex } from "../../model/covering-values";
import { formatErrorWithCode } from "../../model/email-security-error";
import { canonicalizeValue } from "../../model/entry-value";
import { excerpt, formatFirstItems, quote, sanitizeLine } from "../../model/text";
import { collectEvidence, readMailHistory } from "../../plan/evidence";
import { readObservedState } from "../../plan/observed-state";
import { explainTenantMismatch } from "../../plan/tenant-mismatch";
import { formatCount } from "../../render/safe-text";
import { describeMail, joinSentences } from "../suggest/mail-descriptions";

/** Notes about values at the tenant, by canonical value. */
export interface TenantNotes {
  readonly byValue: ReadonlyMap<string, readonly string[]>;
  /** Describes the data that could not be read. */
  readonly missing: readonly string[];
}

const EVIDENCE_DAYS = 30;

/**
 * Reads the tenant's current lists, and its threats and reports of the last 30 days, for the changed values. The limits of {@link
 * readMailHistory} apply. Read failures appear in `missing`. If the key belongs to another tenant, the result has no notes.
 */
export async function readTenantNotes(
  client: SettingsClient,
  steps: readonly ChangeStep[],
  ownDomains: readonly string[],
): Promise<TenantNotes> {
  let observed: Awaited<ReturnType<typeof readObservedState>>;
  try {
    observed = await readObservedState(client);
  } catch (error) {
    return { byValue: new Map(), missing: [`The tenant was not checked: ${formatErrorLine(error)}`] };
  }
  const mailboxes = [...observed.vips.values()].map(({ email }) => email);
  const mismatch = explainTenantMismatch(mailboxes, { ownDomains });
  if (mismatch !== undefined) return { byValue: new Map(), missing: [`The tenant was not checked. ${mismatch}`] };
  const evidenceBase = await readMailHistory({ client, days: EVIDENCE_DAYS, vips: observed.vips.keys() });
  const window = `in the last ${EVIDENCE_DAYS} days`;
  // The service may hold other spellings of a value.
  const rows = Map.groupBy(observed.rows, ({ value }) => canonicalizeValue(value));
  const coveringValues = indexCoveringValues(steps, rows.keys());
  const notesByValue = new Map(
    steps.map(({ value: { canonical, entryType }, section, isDone }) => {
      const rowNotes = (rows.get(canonical) ?? []).map(
        ({ list, created_by, created_at }) =>
          `The tenant has it on its ${excerpt(String(list))} list${formatRowAuthor(created_by, created_at)}.`,
      );
      const vipNotes = observed.vips.has(canonical) ? ["The tenant has it as a VIP."] : [];
      const isAtTenant = section === "vips" ? vipNotes.length > 0 : rowNotes.length > 0;
      const coveringNotes =
        section === "vips" ? [] : describeCoveringRows(coveringValues.get(canonical) ?? [], rows, section);
      // An existing declaration may not be rolled out yet.
      const missingNotes = isDone && !isAtTenant ? ["The tenant doesn't have it."] : [];
      const kind = section === "vips" ? "vip" : "entry";
      const evidence = collectEvidence(evidenceBase, { kind, value: canonical, entryType });
      const mailNote =
        kind === "entry"
          ? describeMail({ base: evidenceBase, window }, evidence)
          : describeVipMail(evidence?.threats, evidence?.reports);
      return [canonical, [...rowNotes, ...vipNotes, ...missingNotes, ...coveringNotes, mailNote]] as const;
    }),
  );
  return { byValue: notesByValue, missing: evidenceBase.summary.missing.map((line) => sanitizeLine(line)) };
}

/** Lists the tenant's values that cover each changed value: parent domains, wildcards and address ranges. */
function indexCoveringValues(
  steps: readonly ChangeStep[],
  rowValues: Iterable<string>,
): ReadonlyMap<string, readonly string[]> {
  const coverage = new CoverageIndex(new Set(steps.map(({ value }) => value.canonical)));
  const coveringValues = new Map<string, string[]>();
  for (const rowValue of rowValues) {
    for (const covered of coverage.findCovered(rowValue)) {
      coveringValues.set(covered, [...(coveringValues.get(covered) ?? []), rowValue]);
    }
  }
  return coveringValues;
}

/** Names the covering entries on other lists than the changed one. The service's reference doesn't specify which entry decides. */
function describeCoveringRows(
  values: readonly string[],
  rows: ReadonlyMap<string, readonly AllowDenyEntryRow[]>,
  section: "allow" | "deny",
): readonly string[] {
  const coveringRows = values.flatMap((value) => (rows.get(value) ?? []).map(({ list }) => ({ value, list })));
  const byList = Map.groupBy(coveringRows, ({ list }) => String(list));
  byList.delete(section);
  return [...byList].map(([list, listRows]) => {
    const listValues = [...new Set(listRows.map(({ value }) => value))];
    const predicate = listValues.length === 1 ? "covers" : "cover";
    return `The tenant has ${formatFirstItems(listValues, (value) => quote(value))}, which ${predicate} it, on its ${excerpt(list)} list.`;
  });
}

function describeVipMail(threats: number | undefined, reports = 0): string {
  if (threats === undefined) return "The service's detections could not be read.";
  return joinSentences(
    `${formatCount(threats, "threat")} ${threats === 1 ? "was" : "were"} sent to it in the last ${EVIDENCE_DAYS} days.`,
    reports === 0 ? "" : `It reported mail ${formatCount(reports, "time")}.`,
  );
}

function formatRowAuthor(by: string | null | undefined, at: string | null | undefined): string {
  const day = /^\d{4}-\d{2}-\d{2}/.exec(at ?? "")?.[0];
  return (by ? `, by ${excerpt(by)}` : "") + (day === undefined ? "" : `, since ${day}`);
}

function formatErrorLine(error: unknown): string {
  const [line = ""] = formatErrorWithCode(error).split("\n");
  return excerpt(line, 300);
}

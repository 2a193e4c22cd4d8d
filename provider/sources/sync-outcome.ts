import { createHash } from "node:crypto";
import { getMailDomain } from "../model/entry-value";
import { omitUndefined } from "../model/omit-undefined";
import { formatFirstItems, isPrintable, quote } from "../model/text";
import type { ChangedFile } from "../settings-files/edit-files";
import type { SourceDeclaration, SourceRecord } from "../settings-files/source-schema";
import type { AssessedItems } from "./assess-items";
import type { MergeResult } from "./merge-source";
import type { PreviousFile } from "./read-generated-file";
import type { SourceContent } from "./source-content";
import { formatSourceFile, isListed, type SourceElement, type SourceSection } from "./source-file";
import { collectOwnDomains, type SourceTarget } from "./source-targets";
import type { SourceReport } from "./sync-report";

/** The outcome for one source. Nothing is written. */
export interface SyncedSource {
  readonly report: SourceReport;
  /** The text of the generated file; undefined if the source is blocked. */
  readonly text?: string;
  /** The changed file; undefined if nothing changes. */
  readonly change?: ChangedFile;
}

/** The outcome for one source, with the values that it declares. */
export interface SyncOutcome {
  readonly result: SyncedSource;
  /** The values of the file after the sync. */
  readonly values: readonly string[];
}

/** The merged elements of a source, and the items that it may not declare. */
export type AssessedMerge = MergeResult &
  Pick<SourceReport, "rejected" | "skipped"> &
  Pick<AssessedItems, "dependsOnSettings">;

export interface OutcomeParts {
  readonly before: string | undefined;
  readonly previous: PreviousFile;
  readonly proposed: PreviousFile;
  readonly proposedText: string | undefined;
  readonly content: SourceContent | "not-modified";
  readonly merged: AssessedMerge;
  readonly today: string;
}

/** Builds the report of a source and its changed file. */
export function buildOutcome(target: SourceTarget, parts: OutcomeParts): SyncOutcome {
  const { before, previous, proposed, proposedText, content, merged, today } = parts;
  const { source, name } = target;
  const { elements, added, departed, returned, removed, renewed, rejected, skipped, dependsOnSettings } = merged;
  const format = (record: SourceRecord): string => formatSourceFile({ record, section: source.into, elements });
  const values = elements.map(({ value }) => value);
  // Without a change, even the date of the sync stays, so that a quiet source causes no pull request.
  const isUnchanged = previous !== undefined && format({ ...previous.record, name, kind: source.kind }) === before;
  const report: SourceReport = {
    ...buildEmptySourceReport(target),
    added,
    departed,
    returned,
    removed,
    renewed,
    rejected,
    skipped,
    outcome: isUnchanged ? "unchanged" : "changed",
    elements: elements.length,
    notes: listNotes(target, merged, previous?.section),
  };
  if (isUnchanged) return { result: { report, text: before }, values };
  const isRepeatable = !dependsOnSettings && (content === "not-modified" || content.dependsOnDay !== true);
  const versions = content === "not-modified" ? (previous?.record ?? {}) : content;
  const { etag, lastModified, published } = versions as Partial<SourceContent>;
  const record: SourceRecord = {
    name,
    kind: source.kind,
    synced: today,
    ...omitUndefined({
      // Without it, the next sync reads the source in full, even if its content is the same.
      declaration: isRepeatable ? hashDeclaration(source, elements) : undefined,
      etag: etag !== undefined && isPrintable(etag) && etag.length <= 200 ? etag : undefined,
      lastModified,
      published,
    }),
  };
  const isProposed = proposed !== undefined && format({ ...proposed.record, name, kind: source.kind }) === proposedText;
  const after = isProposed ? proposedText : format(record);
  const change: ChangedFile = {
    file: target.file,
    before: before ?? "",
    after,
    ...(before === undefined ? { action: "create" } : {}),
  };
  return { result: { report, text: after, change }, values };
}

function listNotes(
  target: SourceTarget,
  { added, removed, rejectedRemovals, keptForOthers }: MergeResult,
  previousSection: SourceSection | undefined,
): string[] {
  const { name, source, tenants, file } = target;
  const notes: string[] = [];
  const excludingTenants = tenants.filter(({ lists }) => lists.vips?.onDelete !== "keep");
  const isExcluding = excludingTenants.length > 0;
  // A VIP that is rejected is declared elsewhere.
  if (previousSection === "vips" && removed.length > rejectedRemovals.length) {
    notes.push(
      source.into !== "vips"
        ? "A removed VIP is excluded permanently, unless `lists.vips.onDelete` is `keep` or another source keeps it."
        : isExcluding
          ? "A removed VIP is excluded permanently (onDelete: exclude): the service's automatic detection never makes the mailbox a VIP again."
          : "A removed VIP is only forgotten (onDelete: keep): the mailbox stays a VIP at the tenant until somebody removes it there.",
    );
  }
  if ("onDelete" in source && source.onDelete !== undefined) {
    const effective = isExcluding ? "exclude" : "keep";
    const [tenant = tenants[0]] = excludingTenants;
    if (source.onDelete !== effective) {
      notes.push(
        `\`onDelete: ${source.onDelete}\` of the source has no effect: all VIPs of ${quote(tenant?.file, 300)} have ${effective}, by \`lists.vips\`, its mode, or another source.`,
      );
    }
  }
  if (keptForOthers.length > 0) {
    notes.push(
      `The source no longer lists these values, but another one does, so they stay in this file: ${formatFirstItems(keptForOthers, String)}.`,
    );
  }
  const ownDomains = collectOwnDomains(target);
  // The service rejects them, but has no request that only asks.
  const externalMailboxes =
    source.into === "vips" && ownDomains.names.length > 0
      ? added.filter((email) => ownDomains.findOwnDomain(getMailDomain(email)) === undefined)
      : [];
  if (externalMailboxes.length > 0) {
    notes.push(
      `Not a mailbox of your own domains, so the service may reject it as not in the organization: ${formatFirstItems(externalMailboxes, String)}.`,
    );
  }
  if (tenants.some(({ files }) => !files.includes(file))) {
    notes.push(`The file has no effect yet: add sources/${name}.yaml to \`include\` in ${target.location.file}.`);
  }
  return notes;
}

/** Returns the report of a source without changes. */
export function buildEmptySourceReport({ name, source, file, location }: SourceTarget): SourceReport {
  return {
    name,
    kind: source.kind,
    into: source.into,
    file,
    declaredIn: location.file,
    line: location.line,
    outcome: "unchanged",
    elements: 0,
    added: [],
    departed: [],
    returned: [],
    removed: [],
    renewed: 0,
    rejected: [],
    skipped: [],
    notes: [],
  };
}

/** Returns the hash of what a generated file is made from and has: its source's declaration, and the values that the source lists. */
export function hashDeclaration(source: SourceDeclaration, elements: readonly SourceElement[]): string {
  const { confirmRemovals: _confirmation, ...rest } = source;
  const pairs = Object.entries(rest).sort(([a], [b]) => (a < b ? -1 : 1));
  const values = elements.filter(isListed).map(({ value }) => value);
  return createHash("sha256")
    .update(JSON.stringify([pairs, values.sort()]))
    .digest("hex")
    .slice(0, 12);
}

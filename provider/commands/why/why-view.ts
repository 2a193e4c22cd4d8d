import type {
  FileDeclaration,
  FileElement,
  HistoryEvent,
  WhyMailEvidence,
  WhyReport,
  WhyRolloutChange,
  WhyTenantEntry,
} from "../../gitops/why-schema";
import { DEFAULT_VERDICT_SCOPE } from "../../model/assumptions";
import { buildMailDetails, describeRecipients } from "../../plan/render/change-details";
import { describeEntryDetails, describeLine, describeValue } from "../../plan/render/plan-descriptions";
import {
  formatCount,
  formatDay,
  formatMinute,
  joinTexts,
  type SafeText,
  safeText,
  untrusted,
} from "../../render/safe-text";
import { labelTextFields } from "../../settings-files/element-fields";
import { describeElementSource } from "../../settings-files/element-source";
import { filterBySubject, filterOtherSubjects, listSubjects, type WhySubject } from "./why-subjects";

/** A line of a report with its source, and details below it. */
export interface WhyLine {
  readonly source: string;
  readonly text: SafeText;
  readonly details: readonly SafeText[];
}

/** The view of a report that the text and Markdown renderers share. */
export interface WhyView {
  readonly title: SafeText;
  readonly subtitle: SafeText;
  readonly sections: readonly WhySection[];
}

export interface WhySection {
  readonly title: SafeText;
  readonly lines: readonly WhyLine[];
}

export function buildWhyView(report: WhyReport): WhyView {
  const { value, file, tenant, queriedAt, coveringEntries, missing } = report;
  const toLines = (text: readonly SafeText[], source: string): WhyLine[] =>
    text.map((safeText) => ({ source, text: safeText, details: [] }));
  const sections = [
    ...buildWhySections(report),
    {
      title: ["Also covers it"],
      lines: coveringEntries.map((item) => ({
        source: item.place === undefined ? "tenant" : "file",
        text: safeText`${untrusted(item.list)} ${describeValue(item.value)}${formatScopeText(item.verdictScope)}${
          item.place === undefined ? [] : safeText`, ${describeLine(item.place)}`
        }`,
        details: [],
      })),
    },
    {
      title: ["Not known"],
      lines: toLines(
        missing.map((item) => [{ untrusted: item, isSentence: true }]),
        "",
      ),
    },
  ];
  const hostText = tenant === undefined ? [] : safeText` at ${untrusted(tenant.host)}`;
  return {
    title: safeText`Why ${describeValue(value)}`,
    subtitle: safeText`${untrusted(file)}${hostText}, ${formatMinute(queriedAt)}`,
    sections: sections.filter(({ lines }) => lines.length > 0),
  };
}

/** Builds the sections for the present and the past. A value in several lists or scopes gets separate headings for each. */
function buildWhySections(report: WhyReport): readonly WhySection[] {
  const subjects = listSubjects(report);
  const historyTitle = report.isHistoryOfOtherFiles
    ? "newest first (of other files in this repository; the requested ones never contained it)"
    : "newest first";
  if (subjects.length < 2) {
    return [
      { title: ["Now"], lines: buildCurrentLines(report) },
      { title: [`History, ${historyTitle}`], lines: buildHistoryLines(report) },
    ];
  }
  return [
    ...subjects.flatMap((part) => {
      const subjectReport = filterBySubject(report, part);
      return [
        { title: safeText`As ${formatSubject(part)}, now`, lines: buildCurrentLines(subjectReport) },
        {
          title: safeText`As ${formatSubject(part)}, history, ${historyTitle}`,
          lines: buildHistoryLines(subjectReport),
        },
      ];
    }),
    {
      title: [`Other history, ${historyTitle}`],
      lines: buildHistoryLines(filterOtherSubjects(report, subjects)),
    },
  ];
}

function buildCurrentLines({ files, actual, mail, vipRemoval }: WhyReport): readonly WhyLine[] {
  const lines: WhyLine[] = files.map((item) => ({
    source: "file",
    text: formatFileDeclaration(item),
    details: describeFileDetails(item),
  }));
  if (files.length === 0) lines.push({ source: "file", text: ["No file declares it."], details: [] });
  for (const item of actual ?? []) lines.push({ source: "tenant", text: formatTenantEntry(item), details: [] });
  if (actual?.length === 0) lines.push({ source: "tenant", text: ["The tenant doesn't have it."], details: [] });
  for (const item of mail?.items ?? []) {
    const evidence = { evidence: mail?.summary } as Parameters<typeof buildMailDetails>[0];
    const [first = [], ...moreTexts] = buildMailDetails(evidence, { ...item, severity: "none" }).map(
      ({ text }) => text,
    );
    const extraTexts = [...moreTexts, ...describeRemovalEffect(item)].filter(({ length }) => length > 0);
    lines.push({ source: "mail", text: safeText`${formatSubject(item)}: ${first}`, details: extraTexts });
  }
  if (vipRemoval !== undefined && [...files, ...(actual ?? [])].some(({ kind }) => kind === "vip"))
    lines.push({ source: "service", text: [VIP_REMOVAL_TEXT[vipRemoval]], details: [TREATMENT_NOTE] });
  return lines;
}

/** The reference's description of the removal of a VIP. */
const VIP_REMOVAL_TEXT = {
  excluded:
    "If it is removed from the files, the mailbox is excluded permanently: automatic detection won't make it a VIP again.",
  kept: "If it is removed from the files, it stays a VIP at the tenant (`lists.vips.onDelete: keep`).",
} as const;

const TREATMENT_NOTE: SafeText = [
  "The service's reference says only that VIPs get special treatment, so it is unknown what a removal would change.",
];

function formatSubject({ kind, list, verdictScope = DEFAULT_VERDICT_SCOPE }: Partial<WhySubject>): SafeText {
  return safeText`${kind === "vip" ? ["VIP"] : [untrusted(list ?? "entry")]}${formatScopeText(verdictScope)}`;
}

function formatScopeText(scope: string): SafeText {
  return scope === DEFAULT_VERDICT_SCOPE ? [] : safeText` (scope ${untrusted(scope)})`;
}

function formatFileDeclaration(declaration: FileDeclaration): SafeText {
  const { state, place, removedAt, expires = "" } = declaration;
  const locationText = describeLine(place);
  if (state === "removed")
    return safeText`${formatSubject(declaration)} at ${locationText} is removed at ${describeLine(removedAt)}.`;
  if (state === "expired")
    return safeText`${formatSubject(declaration)} at ${locationText} expired on ${formatDay(expires)}.`;
  return safeText`${formatSubject(declaration)} at ${locationText}.`;
}

function describeFileDetails({
  includeChain,
  overrides,
  source,
  expires,
  daysLeft,
  state,
  ...declared
}: FileDeclaration): SafeText[] {
  const details: SafeText[] = [];
  if (includeChain.length > 1)
    details.push(
      safeText`included: ${joinTexts(
        includeChain.map((file) => [untrusted(file)]),
        " → ",
      )}`,
    );
  if (overrides.length > 0) details.push(safeText`overrides ${joinTexts(overrides.map(describeLine), ", ")}`);
  if (source !== undefined) details.push([describeElementSource(source)]);
  for (const [label, text] of labelTextFields(declared)) details.push(safeText`${label}: ${untrusted(text)}`);
  if (state !== "declared") return details;
  if (daysLeft === undefined) details.push([expires === "never" ? "never expires, as declared" : "has no expiry date"]);
  else details.push(safeText`expires after ${formatDay(expires ?? "")}, in ${formatCount(daysLeft, "day")}`);
  return details;
}

function formatTenantEntry(entry: WhyTenantEntry): SafeText {
  const { createdBy, createdAt, source, isDeclared, kind } = entry;
  const authorText = createdBy === undefined ? [] : safeText` by ${untrusted(createdBy)}`;
  const dateText = createdAt === undefined ? [] : safeText` on ${formatDay(createdAt)}`;
  const creationText =
    authorText.length + dateText.length > 0
      ? safeText`, ${kind === "vip" ? "added" : "created"}${authorText}${dateText}`
      : [];
  const sourceText = source === undefined ? [] : safeText`, source ${untrusted(source)}`;
  return safeText`has ${formatSubject(entry)}${isDeclared ? "" : ", which no file declares"}${creationText}${sourceText}${describeEntryDetails(entry)}`;
}

function describeRemovalEffect({ list, removalEstimate }: WhyMailEvidence): SafeText[] {
  if (removalEstimate === undefined) return [];
  const { decidedCount, reversedCount, undecidedCount } = removalEstimate;
  if (decidedCount === 0)
    return [["Without it (estimate): every threat in this period would have had the same outcome."]];
  const isDeny = list === "deny";
  const parts: SafeText[] = [];
  if (reversedCount > 0)
    parts.push(
      safeText`${formatCount(reversedCount, "threat")} would ${isDeny ? "be delivered because of an allow entry" : "be stopped by a deny entry"}`,
    );
  if (undecidedCount > 0)
    parts.push(
      safeText`for ${formatCount(undecidedCount, "threat")}, the service's own analysis would decide, with an unknown outcome`,
    );
  if (parts.length === 0)
    return [
      safeText`Without it (estimate): the outcome of the ${formatCount(decidedCount, "threat")} that it decides would stay the same.`,
    ];
  return [
    safeText`Without it (estimate), of the ${formatCount(decidedCount, "threat")} that it decides: ${joinTexts(parts, "; ")}${describeRecipients(removalEstimate)}.`,
  ];
}

interface DatedLine extends WhyLine {
  readonly at: string | undefined;
}

function buildHistoryLines({ history, rollouts = [], actual = [] }: WhyReport): readonly WhyLine[] {
  const committed = history.map(buildHistoryLine);
  const others: DatedLine[] = [
    ...rollouts.map(buildRolloutLine),
    ...actual.flatMap((item): DatedLine[] => {
      const at = item.createdAt === undefined ? Number.NaN : Date.parse(item.createdAt);
      if (Number.isNaN(at)) return [];
      const authorText = item.createdBy === undefined ? [] : safeText` by ${untrusted(item.createdBy)}`;
      const text = safeText`created at the service as ${formatSubject(item)}${authorText}`;
      return [{ source: "tenant", at: new Date(at).toISOString(), text, details: [] }];
    }),
  ].sort((a, b) => ((a.at ?? "") < (b.at ?? "") ? 1 : -1));
  // Commits stay in git's order, whatever their dates are.
  const lines: DatedLine[] = [];
  for (const item of committed) {
    while (others[0] !== undefined && item.at !== undefined && (others[0].at ?? "") >= item.at)
      lines.push(others.shift() as DatedLine);
    lines.push(item);
  }
  return [...lines, ...others].map(({ source, at, text, details }) => ({
    source,
    text: at === undefined || at === "" ? text : safeText`${formatMinute(at)}  ${text}`,
    details,
  }));
}

const OPERATION_TEXTS: Readonly<Record<string, string>> = { add: "added", change: "changed", remove: "removed" };

function buildRolloutLine(change: WhyRolloutChange): DatedLine {
  const { rollout, wave, operation, kind, lists, state, digest, planDigest, rollsBack, finishedAt } = change;
  const operationText = OPERATION_TEXTS[operation] ?? untrusted(operation);
  const subjectText =
    kind === "vip"
      ? ["VIP"]
      : joinTexts(
          lists.map((list) => [untrusted(list)]),
          " → ",
        );
  const rollbackText = rollsBack === undefined ? [] : safeText`, which rolled back ${untrusted(rollsBack)}`;
  const actionText =
    state === "done" ? safeText`${operationText}` : safeText`to be ${operationText}: ${untrusted(state)}`;
  return {
    source: "journal",
    at: finishedAt,
    text: safeText`${subjectText} ${actionText} at the tenant by the rollout ${untrusted(rollout)}, wave ${untrusted(wave)}${rollbackText}`,
    details: [safeText`reviewed as ${untrusted(digest)}; this tenant's plan ${untrusted(planDigest)}`],
  };
}

function buildHistoryLine(event: HistoryEvent): DatedLine {
  const { commit, requests, merges } = event;
  const details: SafeText[] = [];
  if (commit !== undefined) {
    details.push(
      safeText`commit ${untrusted(commit.id.slice(0, 12))} by ${untrusted(commit.author)}: ${untrusted(commit.subject)}`,
    );
    const { committer, committedAt, coAuthors = [], cherryPickedFrom } = commit;
    if (committer !== undefined && committedAt !== undefined)
      details.push(
        safeText`written on ${formatMinute(commit.authoredAt)}; committed on ${formatMinute(committedAt)} by ${untrusted(committer)}`,
      );
    if (cherryPickedFrom !== undefined)
      details.push(safeText`cherry-picked, according to its message, from ${untrusted(cherryPickedFrom.slice(0, 12))}`);
    if (coAuthors.length > 0)
      details.push(
        safeText`co-authors, according to its message: ${joinTexts(
          coAuthors.map((coAuthor) => [untrusted(coAuthor)]),
          ", ",
        )}`,
      );
    for (const { name, url, isClaimed } of requests) {
      const kind = name.includes("!") ? "merge" : "pull";
      details.push(
        isClaimed
          ? safeText`only its message claims: ${kind} request ${untrusted(name)}`
          : safeText`${kind} request ${untrusted(name)}${url === undefined ? [] : safeText` ${untrusted(url)}`}`,
      );
    }
    const [merge] = merges;
    if (merge !== undefined)
      details.push(
        safeText`merged by ${untrusted(merge.id.slice(0, 12))} on ${formatDay(merge.committedAt ?? merge.mergedAt)}${
          merge.committer === undefined ? [] : safeText` (committed by ${untrusted(merge.committer)})`
        }`,
      );
  }
  const changeText =
    describeIncludeChange(event) ?? describeElementChange(event.before, event.after, event.isTruncated === true);
  const eventText = event.isUndoneByMerge ? safeText`a merge dropped a line of a branch: ${changeText}` : changeText;
  const text = commit === undefined ? safeText`not committed yet: ${eventText}` : eventText;
  // Use the committer date: a later rebase keeps the author date, but the change entered this history then.
  return { source: "git", at: commit?.committedAt ?? commit?.authoredAt, text, details };
}

function describeIncludeChange({ before, after, include }: HistoryEvent): SafeText | undefined {
  if (include === undefined) return undefined;
  const [element, changeText] = before === undefined ? [after, "added with"] : [before, "removed with"];
  const line = safeText`${untrusted(include.includingFile)}, which ${before === undefined ? "now" : "no longer"} includes ${untrusted(include.includedFile)}`;
  return element === undefined
    ? line
    : safeText`${changeText} ${line}: ${formatElementLocation(element)}${formatFields(element)}`;
}

function formatFields({ fields }: FileElement): SafeText {
  const fieldTexts = Object.entries(fields).map(([name, text]) => safeText`${untrusted(name)} ${untrusted(text)}`);
  return fieldTexts.length === 0 ? [] : safeText` (${joinTexts(fieldTexts, ", ")})`;
}

function describeElementChange(
  before: FileElement | undefined,
  after: FileElement | undefined,
  isTruncated: boolean,
): SafeText {
  if (before === undefined && after !== undefined) {
    const fieldsText = formatFields(after);
    if (isTruncated)
      return safeText`already present where this clone's history begins: ${formatElementLocation(after)}${fieldsText}`;
    return safeText`added to ${formatElementLocation(after)}${fieldsText}`;
  }
  if (after === undefined) return before === undefined ? [] : safeText`removed from ${formatElementLocation(before)}`;
  if (before === undefined) return [];
  const changes: SafeText[] = [];
  if (before.path !== after.path)
    changes.push(safeText`moved from ${untrusted(before.path)} to ${untrusted(after.path)}`);
  if (before.section !== after.section) changes.push(safeText`list ${before.section} → ${after.section}`);
  if (before.scope !== after.scope)
    changes.push(safeText`scope ${untrusted(before.scope)} → ${untrusted(after.scope)}`);
  for (const name of new Set([...Object.keys(before.fields), ...Object.keys(after.fields)])) {
    const [old, current] = [before.fields[name], after.fields[name]];
    if (old === current) continue;
    const formatOptionalText = (text: string | undefined): SafeText =>
      text === undefined ? ["(none)"] : [untrusted(text)];
    changes.push(safeText`${untrusted(name)} ${formatOptionalText(old)} → ${formatOptionalText(current)}`);
  }
  return safeText`changed in ${formatElementLocation(after)}: ${joinTexts(changes, ", ")}`;
}

function formatElementLocation({ section, path, scope }: FileElement): SafeText {
  return safeText`${section}${formatScopeText(scope)} in ${untrusted(path)}`;
}
